"""`unspool`: the verbs, and how a run ends. Verbs are imported when they are called, so that `--help` is quick."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import version

from cyclopts import App, CycloptsError

from unspool.errors import InputError, UnspoolError

__all__ = ["app", "main"]

DONE, FAILED, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130

app = App(
    name="unspool",
    help="Replay any job log, on any platform, under any policy, and see what would have happened.",
    help_format="plaintext",
    version=lambda: version("unspool"),
)
app.command("unspool.cli.run:run", name="run", help="Replay a log under one policy or several, and compare them.")
app.command("unspool.cli.convert:convert", name="convert", help="Turn a log of one format into another.")
app.command("unspool.cli.inspect:inspect", name="inspect", help="Say what is in a log, a platform or a result.")
app.command("unspool.cli.validate:validate", name="validate", help="Check files, without running anything.")
app.command("unspool.cli.plugins:plugins", name="plugins", help="List policies, formats and machine selections.")
app.register_install_completion_command(name="--install-completion", help="Install completion for your shell.")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 the run failed, 2 wrong usage or input that cannot be used."""
    sys.exit(run_command(arguments))


def run_command(arguments: Sequence[str] | None = None) -> int:
    """The same without leaving: returns the exit code."""
    try:
        code = app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        return _complain(_usage(error), WRONG_INPUT)
    except InputError as error:
        return _complain(str(error), WRONG_INPUT)
    except UnspoolError as error:
        return _complain(str(error), FAILED)
    except KeyboardInterrupt:
        return _complain("interrupted; nothing was written", INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
        return FAILED
    return int(code or DONE)


def _usage(error: CycloptsError) -> str:
    text = " ".join(str(error).split())
    return text + ("" if "--help" in text else " Try: unspool --help")


def _complain(sentence: str, code: int) -> int:
    sys.stderr.write(f"unspool: {sentence}\n")
    return code
