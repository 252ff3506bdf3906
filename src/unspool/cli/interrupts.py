"""Interrupts: Ctrl-C, and SIGTERM, with which batch systems end jobs. A run ends wherever they arrive.

Python raises KeyboardInterrupt in whatever code it runs next. Where that was called from C, as LLVM calls back when it
has compiled a function, nobody can catch it: Python drops it and goes on. It is raised once more then, a little later.
Until that happens, the code that was cut short may fail in any way.
"""

from __future__ import annotations

import _thread
import signal
import sys
from threading import Timer
from types import FrameType
from typing import NoReturn

__all__ = ["Interrupts"]

_AGAIN_S = 0.02


class Interrupts:
    """Raises KeyboardInterrupt for each; `came` says whether there was one."""

    def __init__(self) -> None:
        self.came = False
        self._otherwise = sys.unraisablehook

    def listen(self) -> None:
        """Begin. Where Ctrl-C is ignored, as for jobs in the background, it still is."""
        signal.signal(signal.SIGTERM, self._interrupt)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._interrupt)
        sys.unraisablehook = self._raise_again

    def stop(self) -> None:
        """The run is over: do not disturb its end, where nobody would catch anything."""
        sys.unraisablehook = self._otherwise
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def _interrupt(self, number: int, frame: FrameType | None) -> NoReturn:
        self.came = True
        raise KeyboardInterrupt

    def _raise_again(self, dropped: sys.UnraisableHookArgs) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            self._otherwise(dropped)
            return
        timer = Timer(_AGAIN_S, _thread.interrupt_main, (signal.SIGTERM,))
        timer.daemon = True
        timer.start()
