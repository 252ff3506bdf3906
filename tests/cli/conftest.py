from typing import NamedTuple

import pytest
from tests.build import workload

from unspool.cli import output, sweeping
from unspool.cli.app import run_command
from unspool.policies.base import Start
from unspool.results.run import run


class Said(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture(scope="session", autouse=True)
def _compiled():
    """Compiles what most tests use, so that no test meets the note that it takes a while."""
    for policy in ("fcfs", "easy", lambda view: [Start(job) for job in view.queue]):
        run(workload([(0, 1, 1, 1)]), 1, policy)


@pytest.fixture(autouse=True)
def _quiet(monkeypatch):
    """What takes over two seconds is announced; on a busy machine anything may."""
    monkeypatch.setattr(output, "_SHOW_AFTER_S", 1e6)
    monkeypatch.setattr(sweeping, "_SHOW_AFTER_S", 1e6)


@pytest.fixture
def unspool(tmp_path, monkeypatch, capsys):
    """Calls the command line in an empty folder and gives its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        code = run_command([str(argument) for argument in arguments])
        return Said(code, *capsys.readouterr())

    return call


@pytest.fixture
def write(tmp_path):
    """Writes a file into that folder."""

    def write(name, text):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return name

    return write
