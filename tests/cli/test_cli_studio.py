import builtins
import os
import socket

import pytest

pytest.importorskip("starlette", reason="the extra studio is not installed")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--workers", "0"], "--workers 0: expected 1 to 256"),
        (["--max-memory", "much"], "--max-memory much: "),
        (["--max-memory", "1MiB"], "--max-memory 1MiB: expected 1 GiB or more"),
        (["--max-time", "2"], "--max-time 2: expected 1 minute or more"),
        (["--max-upload", "much"], "--max-upload much: "),
        (["--max-upload", "0"], "--max-upload 0: expected a size above 0"),
        (["--port", "70000"], "--port 70000: cannot be used"),
    ],
)
def test_options_that_cannot_be_used_are_told(unspool, options, told):
    said = unspool("studio", *options)
    assert said.code == 2
    assert said.err.startswith(f"unspool: {told}")


def test_a_port_that_is_taken_is_told(unspool):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        said = unspool("studio", "--port", taken.getsockname()[1])
    assert said.code == 2
    assert "cannot be used" in said.err
    assert "leave it out for any that is free" in said.err


def test_a_folder_that_could_not_stand_in_a_list_is_told(unspool):
    said = unspool("studio", f"a{os.pathsep}b")
    assert said.code == 2
    assert "which parts folders in a list; name another" in said.err


def test_a_folder_that_is_a_file_is_told(unspool, write):
    write("taken", "x")
    said = unspool("studio", "taken")
    assert said.code == 2
    assert "cannot be used as a folder" in said.err


def test_without_the_extra_it_says_what_to_install(unspool, monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **more):
        if name == "uvicorn":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    said = unspool("studio")
    assert said.code == 2
    assert "pip install 'unspool[studio]'" in said.err
