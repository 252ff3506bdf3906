"""Files are read in blocks, and whoever listens is told how far that is."""

import gzip

from unspool.workloads.files import read_blocks, told_of_reading


def test_a_listener_is_told_how_many_bytes_of_how_many_are_read(tmp_path):
    path = tmp_path / "log.txt"
    path.write_bytes(b"one\ntwo\nsix\n")
    told = []
    with told_of_reading(lambda done, total: told.append((done, total))):
        blocks = list(read_blocks(path, block_bytes=8))
    list(read_blocks(path))
    assert blocks == [b"one\ntwo\n", b"six\n"]
    assert told[-1] == (12, 12)
    assert all(0 < done <= total == 12 for done, total in told)
    assert len(told) == 2


def test_of_a_packed_file_the_packed_bytes_count(tmp_path):
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(b"one\n" * 1000))
    told = []
    with told_of_reading(lambda done, total: told.append((done, total))):
        list(read_blocks(path))
    assert told == [(path.stat().st_size, path.stat().st_size)]
