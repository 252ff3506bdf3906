"""What is printed may be cut off by its reader, as `head` does: that is no failure."""

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize("is_both", [False, True])
@pytest.mark.parametrize("arguments", [["plugins"], ["--help"], ["catalogue", "list"]])
def test_verb_that_nobody_reads_exits_with_0(arguments, is_both):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        said = subprocess.run(
            [sys.executable, "-c", "from unspool.cli import main; main()", *arguments], stdout=writer,
            stderr=writer if is_both else subprocess.PIPE, text=True, timeout=120, check=False,
        )  # fmt: skip
    finally:
        os.close(writer)
    assert (said.returncode, said.stderr or "") == (0, "")
