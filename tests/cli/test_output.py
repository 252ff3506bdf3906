"""Progress says how much is done, how fast and how long it will take, once something takes long."""

from unspool.cli import output


def test_reading_says_rate_and_time_left(tmp_path, capsys, monkeypatch):
    from unspool.workloads.files import read_blocks

    path = tmp_path / "log.txt"
    path.write_bytes(b"a line of sixteen\n" * 200_000)
    monkeypatch.setattr(output, "_SHOW_AFTER_S", -1.0)
    monkeypatch.setattr(output, "_LINE_EVERY_S", -1.0)
    with output.reading("log.txt"):
        list(read_blocks(path, block_bytes=1_000_000))
    lines = capsys.readouterr().err.splitlines()
    assert any(line.startswith("reading log.txt: 1 of 4 MB, ") and line.endswith(" left") for line in lines)
    assert "MB/s" in lines[-1]


def test_the_environment_says_how_often_progress_is_told(monkeypatch, capsys):
    monkeypatch.setenv("UNSPOOL_PROGRESS_S", "0")
    progress = output.Progress("easy")
    progress(1, 10)
    progress(5, 10)
    assert [line.partition(" jobs, ")[0] for line in capsys.readouterr().err.splitlines()] == [
        "easy: 1 of 10", "easy: 5 of 10",
    ]  # fmt: skip
