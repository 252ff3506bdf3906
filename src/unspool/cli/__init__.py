"""The command line: one file a verb. Data goes to stdout, all else to stderr."""

from __future__ import annotations

import signal
import sys

__all__ = ["CUT_SHORT", "INTERRUPTED", "main"]

CUT_SHORT = "interrupted: what was not yet whole is not kept"
"""What is said of a run that an interrupt ended."""
INTERRUPTED = 130
"""The exit code of such a run."""


def main() -> None:
    """Run the command line and exit: 0 done, 1 the run failed, 2 wrong usage or input that cannot be used.

    Nothing is imported before it is known what an interrupt does.
    """
    interrupts = None
    try:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        from unspool.cli.interrupts import Interrupts

        interrupts = Interrupts()
        interrupts.listen()
        from unspool.cli.app import mend_streams, run_command

        mend_streams()
        code = run_command(None, interrupts)
        interrupts.stop()
    except KeyboardInterrupt:  # while something was imported or told
        code = INTERRUPTED
        if interrupts is not None:
            interrupts.stop()
        if sys.stderr is not None:
            sys.stderr.write(f"unspool: {CUT_SHORT}\n")
    sys.exit(code)
