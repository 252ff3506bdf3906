import gzip
import io
import os
import stat
import threading
import zipfile
import zlib
from pathlib import Path

import pytest
from tests.studio_server import until

from unspool.confinement.worker import Held
from unspool.errors import InputError, RunError
from unspool.studio.figures import ranked
from unspool.studio.kept import private_folder, written
from unspool.studio.looks import Looks
from unspool.studio.rules import Rules, environment, rules_here
from unspool.studio.runs import Runs
from unspool.studio.unpack import _unpacked, most_unpacked
from unspool.studio.uploads import Uploads
from unspool.studio.workers import Workers, told_by

GIB = 1 << 30
WITHOUT_KERNEL = {"landlock": False, "namespace": False}


def outcome(folder, program, rules, **given):
    workers, ended, codes = Workers(1, rules), threading.Event(), []
    try:
        workers.start("one", [], folder, lambda code: (codes.append(code), ended.set()), program, **given)
        assert ended.wait(120)
    finally:
        workers.close()
    return codes[0]


TRIED = """
import os, tempfile
def tried(act):
    try:
        act()
        return "yes"
    except OSError:
        return "no"
print(tried(lambda: open("{own}").read()), tried(lambda: open("{other}").read()), tried(lambda: open("here", "w")),
      tried(lambda: open("{own}", "w")), tried(lambda: open("{user}", "w")), tried(lambda: open("{code}/new", "w")),
      tried(lambda: tempfile.TemporaryFile()), os.environ.get("CLOUD_KEY"), os.environ["UNSPOOL_ROOTS"])
"""


@pytest.mark.parametrize("means", [{}, WITHOUT_KERNEL], ids=["kernel", "hook"])
def test_a_worker_reads_its_upload_and_writes_its_folder_and_the_studios_machine_code(tmp_path, monkeypatch, means):
    monkeypatch.setenv("CLOUD_KEY", "secret")
    for name in ("own", "other", "run", "code", "users"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("x")
    monkeypatch.setattr("unspool.studio.rules.cache_folder", lambda: tmp_path / "users")
    names = {"own": "own/file", "other": "other/file", "user": "users/file", "code": "code"}
    program = TRIED.format(**{name: tmp_path / path for name, path in names.items()})
    rules = Rules(4 * GIB, 600, tmp_path / "code", **means)
    run = tmp_path / "run"
    assert outcome(run, program, rules, reads=[str(tmp_path / "own")]) == 0
    roots = f"{tmp_path / 'own'}{os.pathsep}{run}"
    assert (run / "stdout.txt").read_text() == f"yes no yes no no yes yes None {roots}\n"
    assert sorted(os.listdir(run)) == ["file", "here", "stderr.txt", "stdout.txt"]


def test_a_worker_that_takes_too_long_is_ended_with_a_reason(tmp_path):
    assert outcome(tmp_path, "[0 for _ in iter(int, 1)]", Rules(4 * GIB, 600), cpu_s=1) == -24
    assert "more processor time than unspool studio --max-time allows" in told_by(tmp_path, -24)


def test_a_worker_that_needs_too_much_memory_fails_alone(tmp_path):
    assert outcome(tmp_path, "bytearray(2 << 30)", Rules(GIB, 600)) == 1
    assert "MemoryError" in told_by(tmp_path, 1)


def test_what_is_told_first_names_what_holds():
    held = Held("Landlock", "an audit hook", ("memory", "time"))
    assert Rules(8 * GIB, 7200, held=held).told() == (
        "workers are confined: files by Landlock, the network by an audit hook; each may use 8 GiB of memory and "
        "2 hours of processor time"
    )
    assert (
        Rules(0, 0, held=Held("an audit hook", "an audit hook", ()))
        .told()
        .endswith("each may use as much memory and time as there is")
    )


def test_workers_load_what_the_user_compiled_and_leave_it_as_it_is(tmp_path, monkeypatch):
    own, code = tmp_path / "own", tmp_path / "studio"
    monkeypatch.setattr("unspool.studio.rules.cache_folder", lambda: own)
    told = environment(Rules(GIB, 60, code), tmp_path / "run", ())
    assert (told["NUMBA_CACHE_DIR"], told["UNSPOOL_MORE_CODE"]) == (str(code), str(own))
    assert str(own) not in str(told).partition('"writes"')[2].partition("]")[0]


def test_a_bomb_is_stopped_by_its_ratio_long_before_its_size(tmp_path):
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    block = b'{"id": 1},' * 100_000
    bomb = b"".join(packer.compress(block) for _ in range(200)) + packer.flush()
    assert len(bomb) < 1 << 20
    (tmp_path / "data").mkdir()
    path = tmp_path / "data" / "bomb.json.gz"
    path.write_bytes(bomb)
    most = most_unpacked(len(bomb), 4 * GIB)
    assert most < 100 << 20
    with pytest.raises(InputError, match="bomb: unpacked it is larger than"):
        _unpacked(path, "log", "bomb", most)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for part in range(20):
            file.writestr(f"lsb.acct.{part}", block * 2)
    path.write_bytes(packed.getvalue())
    with pytest.raises(InputError, match="bomb: unpacked it is larger than"):
        _unpacked(path, "log", "bomb", most_unpacked(len(packed.getvalue()), 4 * GIB))


def test_a_gzip_in_a_zip_counts_as_what_it_holds(tmp_path):
    (tmp_path / "data").mkdir()
    packed = tmp_path / "data" / "a.zip"
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("lsb.acct", gzip.compress(bytes(20 << 20)))
    with pytest.raises(InputError, match="a: unpacked it is larger than 16 MiB"):
        _unpacked(packed, "log", "a", most_unpacked(packed.stat().st_size, 4 * GIB))


@pytest.fixture
def uploads(tmp_path):
    workers = Workers(1, Rules(4 * GIB, 600))
    yield Uploads(tmp_path / "uploads", 1 << 20, workers)
    workers.close()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("d/" * 51 + "lsb.acct", "more than 50 folders"),
        ("lsb.acct\n", "cannot be shown"),
        ("lsb.acct" * 50, "cannot be unpacked"),
        ("lsb.acct\x1b[2J", "cannot be"),
    ],
)
def test_strange_names_in_a_zip_are_refused_and_nothing_is_kept(uploads, name, told):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr(name, "x")
    with pytest.raises(InputError, match=told):
        uploads.add("log", "a.zip", io.BytesIO(packed.getvalue()))
    assert os.listdir(uploads.folder) == []


def test_a_name_that_is_no_text_is_refused(uploads):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("lsb.acct.é", "x")
    broken = packed.getvalue().replace("é".encode(), b"\xc3\x28")
    with pytest.raises(InputError, match=r"a\.zip: "):
        uploads.add("log", "a.zip", io.BytesIO(broken))
    assert os.listdir(uploads.folder) == []


def test_what_an_upload_may_read_is_its_own_folder_wherever_the_studio_is(tmp_path):
    workers = Workers(1, None)
    uploads = Uploads(tmp_path / "data" / "x" / "data" / "uploads", 1 << 20, workers)
    upload = uploads.add("log", "data", io.BytesIO(b"1,2\n"))
    assert upload.folder == str(uploads.folder / upload.id / "data")
    assert uploads.get("sample-campus").folder.endswith("campus.swf.gz")
    workers.close()


def test_links_and_files_too_large_for_a_page_are_not_read(tmp_path):
    (tmp_path / "secret").write_text("secret")
    place = tmp_path / "result"
    place.mkdir()
    (place / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "way").symlink_to(place)
    (place / "large").write_bytes(bytes(11))
    for path in (place / "link", tmp_path / "way" / "large", place, place / "nothing", Path("/dev/zero")):
        with pytest.raises(OSError, match=r".*"):
            written(path)
    with pytest.raises(OSError, match="larger than 10 bytes"):
        written(place / "large", 10)
    assert written(place / "large", 11) == bytes(11)
    (place / "ranking.csv").symlink_to(tmp_path / "secret")
    assert ranked(place / "ranking.csv") is None


def test_a_worker_cannot_change_what_we_know_of_its_run_nor_lead_a_page_elsewhere(tmp_path):
    workers = Workers(1, None)
    runs = Runs(tmp_path / "runs", workers)
    run = runs.start("run", "t", "log", "", ["--version"], {"run.toml": ""}, "run.toml", "OUT/report.html", {}, ["/r"])
    workers.close()
    place = runs.place(run)
    assert not {"run.json", "end.json"} & set(os.listdir(place))
    (place / "run.json").write_text('{"page": "../../secret"}')
    (place / "result").mkdir()
    (tmp_path / "secret").write_text('{"policy": "secret"}')
    for name in ("report.html", "summary.json"):
        (place / "result" / name).symlink_to(tmp_path / "secret")
    again = Runs(tmp_path / "runs", workers)
    assert again.all() == [run]
    assert again.page(run) is None
    assert again.summaries(run) == []
    again.remove(run)
    assert os.listdir(tmp_path / "runs") == []


@pytest.mark.parametrize("text", ["x: 1.2.3 of 4 jobs", "x: , of , jobs", "x: 5 of 0 jobs", "x: 9 of 3 jobs"])
def test_a_note_that_looks_like_progress_does_no_harm(tmp_path, text):
    workers = Workers(1, None)
    runs = Runs(tmp_path, workers)
    run = runs.start("run", "t", "log", "", ["--version"], {}, "run.toml", "page", {})
    workers.close()
    (runs.place(run) / "stderr.txt").write_text(f"{text}\n")
    told, share = runs._step(run)
    assert told == text
    assert share in (None, 1.0)


def test_folders_are_private_even_where_they_were_not(tmp_path):
    (tmp_path / "open").mkdir(mode=0o777)
    (tmp_path / "open").chmod(0o777)
    assert stat.S_IMODE(private_folder(tmp_path / "open").stat().st_mode) == 0o700
    assert stat.S_IMODE(private_folder(tmp_path / "a" / "b").stat().st_mode) == 0o700


def test_a_gzip_that_is_whole_is_kept_as_it_is(uploads):
    content = gzip.compress(b"job_id,submit_time,run_time,cores\n1,0,1,1\n")
    upload = uploads.add("log", "log.csv.gz", io.BytesIO(content))
    assert Path(upload.path).read_bytes() == content
    assert sorted(os.listdir(uploads.folder / upload.id)) == ["data", "upload.json"]


def test_the_strongest_means_with_which_a_worker_starts_are_taken():
    held = rules_here(Rules(4 * GIB, 60, **WITHOUT_KERNEL)).held
    assert held == Held("an audit hook", "an audit hook", ("memory", "time"))
    with pytest.raises(RunError, match="no worker starts with 64 MiB of memory: give more with --max-memory"):
        rules_here(Rules(64 << 20, 60))


def test_an_uploaded_configuration_is_read_by_a_worker(tmp_path):
    workers = Workers(1, Rules(4 * GIB, 600))
    uploads, looks = Uploads(tmp_path / "uploads", 1 << 20, workers), Looks(tmp_path / "looks", workers)
    good = uploads.add("configuration", "c.yml", io.BytesIO(b"ComputeClusterModel: {BootTime: 4:00}\n"))
    bad = uploads.add("configuration", "c.yml", io.BytesIO(b"!!python/object/apply:os.system [id]\n"))
    for upload in (good, bad):
        looks.begin(upload)
    found, fault = (until(lambda upload=upload: looks.found(upload)) for upload in (good, bad))
    assert found.values["ComputeClusterModel.BootTime"] == "4:00"
    assert "c.yml: not valid YML" in fault
    workers.close()


@pytest.mark.parametrize("content", ["[" * 100_000, '{"policy": 1', "5", '["x"]', "\xff", ""])
def test_a_summary_that_is_none_is_not_shown(tmp_path, content):
    workers = Workers(1, None)
    runs = Runs(tmp_path, workers)
    run = runs.start("run", "t", "log", "", ["--version"], {}, "run.toml", "page", {})
    workers.close()
    (runs.place(run) / "result").mkdir()
    (runs.place(run) / "result" / "summary.json").write_text(content, encoding="latin-1")
    assert runs.summaries(run) == []


@pytest.mark.parametrize("line", ["1", "1,f,8,1,0,x,y,z,a,b,c", "", ",,,,,,,,,,", '"' + "x" * 200_000 + '"'])
def test_a_ranking_that_is_none_is_not_shown(tmp_path, line):
    names = "rank,figure,platform,runs,failed,mean,low,high,difference,jobs_not_run,runs_fewer_jobs"
    (tmp_path / "ranking.csv").write_text(f"{names}\n{line}\n")
    found = ranked(tmp_path / "ranking.csv")
    assert found is None or found.figure == ""
