"""Interrupts at any moment, from the first line of ours to the last: one sentence at most, and no traceback."""

import os
import signal
import subprocess
import sys

import pytest

from unspool.simulation.loop import decide_once, provide_once, run_binding, run_on

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


# As a compiled call does, this gives other threads their turn, but never the main one, to which signals go.
HEEDLESS = """
import hashlib
from unspool.cli import app, interrupts
interrupts._MOST_S = 0.1
app.run_command = lambda *_: print("begun", flush=True) or hashlib.pbkdf2_hmac("sha256", b"", b"", 10**9)
app.main()
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_call_that_never_comes_back_to_python_is_interrupted(number):
    with subprocess.Popen([sys.executable, "-c", HEEDLESS], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout.readline() == b"begun\n"
        running.send_signal(number)
        _, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert err == b"unspool: interrupted: what was not yet whole is not kept\n"


@pytest.mark.skipif(not hasattr(run_on, "targetoptions"), reason="nothing is compiled")
@pytest.mark.parametrize("entry", [run_on, run_binding, decide_once, provide_once])
def test_threads_that_watch_have_a_turn_while_policies_decide(entry):
    assert entry.targetoptions["nogil"]
