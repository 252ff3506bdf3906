"""Interrupts: Ctrl-C, and SIGTERM, with which batch systems end jobs. A run ends wherever they arrive.

Python raises KeyboardInterrupt in whatever code it runs next. Where that was called from C, as LLVM calls back when it
has compiled a function, nobody can catch it: Python drops it and goes on. It is raised once more then, a little later.
Until that happens, the code that was cut short may fail in any way.

While compiled code runs, Python has no turn, and one round of a policy over a long queue may take minutes. So a thread
watches: if nothing is raised within seconds of a signal, it ends the process.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
from threading import Event, Thread, Timer
from types import FrameType, TracebackType
from typing import NoReturn

from unspool.cli import CUT_SHORT, INTERRUPTED

__all__ = ["Interrupts"]

_AGAIN_S = 0.02
_MOST_S = 5.0  # that compiled code may go on after a signal
_HEARD = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Raises KeyboardInterrupt for each; `came` says whether there was one."""

    def __init__(self) -> None:
        self.came = False
        self._is_raised = Event()
        self._otherwise = sys.unraisablehook
        self._uncaught = sys.excepthook

    def listen(self) -> None:
        """Begin. Where Ctrl-C is ignored, as for jobs in the background, it still is."""
        signal.signal(signal.SIGTERM, self._interrupt)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._interrupt)
        sys.unraisablehook = self._raise_again
        sys.excepthook = self._tell_uncaught
        told, tells = os.pipe()  # no sockets: a confined process may have none
        if os.name != "nt":
            os.set_blocking(tells, False)
        signal.set_wakeup_fd(tells, warn_on_full_buffer=False)
        Thread(target=self._watch, args=(told,), daemon=True).start()

    def stop(self) -> None:
        """The run is over, and nobody would catch anything: from here on an interrupt ends the process at once."""
        signal.set_wakeup_fd(-1)
        for number in _HEARD:
            if signal.getsignal(number) == self._interrupt:
                signal.signal(number, signal.SIG_DFL)
        sys.unraisablehook = self._otherwise

    def _tell_uncaught(self, kind: type[BaseException], error: BaseException, at: TracebackType | None) -> None:
        """A second interrupt, while the first one is told."""
        if issubclass(kind, KeyboardInterrupt):
            sys.stderr.write(f"unspool: {CUT_SHORT}\n")
        else:
            self._uncaught(kind, error, at)

    def _interrupt(self, number: int, frame: FrameType | None) -> NoReturn:
        self.came = True
        self._is_raised.set()
        raise KeyboardInterrupt

    def _watch(self, told: int) -> None:
        """End the process if a signal came and Python does not get a turn to raise anything."""
        while number := os.read(told, 1):
            if number[0] in _HEARD and not self._is_raised.wait(_MOST_S):
                sys.stderr.write(f"unspool: {CUT_SHORT}\n")
                sys.stderr.flush()
                os._exit(INTERRUPTED)

    def _raise_again(self, dropped: sys.UnraisableHookArgs) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            self._otherwise(dropped)
            return
        timer = Timer(_AGAIN_S, _thread.interrupt_main, (signal.SIGTERM,))
        timer.daemon = True
        timer.start()
