"""Interrupts that arrive while Python has no turn."""

import os
import signal
import subprocess
import sys

import pytest

from unspool.simulation.loop import decide_once, provide_once, run_binding, run_on

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
