"""A worker ends when its studio does, however that ends: nobody would see what it does."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from contextlib import suppress

__all__ = ["FOLLOWED", "follow"]

FOLLOWED = "from unspool.studio.lifeline import follow; follow(); "
"""What stands before the program of a worker."""

_GRACE_S = 5.0
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def follow() -> None:
    """End this process and its group once the other end of its standard input is closed.

    The studio holds that end and writes nothing to it: a studio that is gone has closed it, also one that was killed.
    On Linux the kernel is asked for the same, which does not wait for compiled code to give way to another thread.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # a libc without it
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    end = os.dup(0)
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    threading.Thread(target=_wait, args=(end,), daemon=True).start()


def _wait(end: int) -> None:
    while os.read(end, 4096):
        pass
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGTERM)
        time.sleep(_GRACE_S)
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)
