"""Interrupts at any moment, from the first line of ours to the last: one sentence at most, and no traceback."""

import signal
import subprocess
import sys

import pytest

# A signal comes as the nth module is imported after ours has begun, or once everything is done; 0 comes never.
PROGRAM = """\
import os, signal, sys
number, at = int(sys.argv.pop(1)), sys.argv.pop(1)
from unspool.cli import main
seen = 0

def interrupt():
    os.kill(os.getpid(), number)

def hook(event, arguments):
    global seen
    if event == "import":
        seen += 1
        if seen == int(at):
            interrupt()

if at == "exit":
    import atexit
    atexit.register(interrupt)
else:
    sys.addaudithook(hook)
    import atexit
    atexit.register(lambda: print("imports:", seen, file=sys.stderr) if at == "0" else None)
main()
"""
SENTENCE = "unspool: interrupted: what was not yet whole is not kept\n"


def ended(number, at, *arguments):
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, str(int(number)), str(at), *(arguments or ("plugins", "formats"))],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("number", "at"), [(signal.SIGINT, 2), (signal.SIGTERM, 20), (signal.SIGINT, 60), (signal.SIGTERM, 250)]
)
def test_interrupt_while_modules_are_imported_is_told_in_a_sentence(number, at):
    found = ended(number, at)
    assert (found.returncode, found.stdout, found.stderr) == (130, "", SENTENCE)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_at_the_end_of_the_process_ends_it_without_a_word(number):
    found = ended(number, "exit")
    assert (found.returncode, found.stderr) == (-number, "")
    assert "swf" in found.stdout
