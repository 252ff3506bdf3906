import gzip
import io
import json
import os
import socket
import stat
import zipfile
from pathlib import Path

import httpx
import pytest
from tests.browser.made import HOSTILE
from tests.studio_server import LOG, Server, until

MOST = 200 << 10


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("security"), "--max-upload", str(MOST))
    yield server
    assert "Traceback" not in server.stop()


@pytest.fixture(scope="module")
def client(server):
    with httpx.Client(base_url=server.address, timeout=60) as client:
        yield client


def send(client, name, content, kind="log"):
    return client.post("uploads", data={"kind": kind}, files={"file": (name, content)}, follow_redirects=True)


def id_of(answer):
    return str(answer.url).rpartition("/")[2]


def zipped(**files):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name, text in files.items():
            file.writestr(name, text)
    return packed.getvalue()


def test_without_the_token_nothing_is_told(server):
    origin = server.address.rsplit("/", 2)[0]
    for path in ("/", "/wrong/", f"/{server.address.split('/')[3][:-1]}/", "/static/page.css", "//", "/%2e%2e/"):
        for method in ("GET", "POST"):
            answer = httpx.request(method, origin + path)
            assert answer.status_code == 403, path
            assert "refused" in answer.text
            assert "campus" not in answer.text


def test_every_start_has_another_token(server, tmp_path):
    other = Server(tmp_path)
    assert other.address.split("/")[3] != server.address.split("/")[3]
    assert len(other.address.split("/")[3]) >= 32
    other.stop()


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://example.org"}, {"Origin": "null"}, {"Origin": "http://127.0.0.1:1"}, {"Host": "example.org"},
        {"Host": "127.0.0.1"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
    ],
)  # fmt: skip
def test_other_pages_and_other_names_of_this_machine_are_refused(client, headers):
    for answer in (client.get("", headers=headers), client.post("runs", data={"face": "run"}, headers=headers)):
        assert answer.status_code == 403
        assert "refused" in answer.text


def test_its_own_origin_is_let_through(client, server):
    own = {"Origin": server.address.rsplit("/", 2)[0], "Sec-Fetch-Site": "same-origin"}
    assert client.get("", headers=own).status_code == 200
    assert client.put("", headers=own).status_code == 405


def raw(server, *lines):
    """The answer to bytes that no client would send."""
    host = server.address.split("/")[2]
    with socket.create_connection(("127.0.0.1", int(host.split(":")[1])), 30) as sent:
        sent.sendall("\r\n".join([*lines, f"Host: {host}", "Connection: close", "", ""]).encode("latin-1"))
        answer = b""
        while block := sent.recv(4096):
            answer += block
    return answer.decode("latin-1")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("OPTIONS * HTTP/1.1", "405"), ("GET * HTTP/1.1", "403"), ("TRACE / HTTP/1.1", "405"),
        ("GET http://example.org HTTP/1.1", "403"), ("GET /%ff%00/ HTTP/1.1", "403"), ("GET //// HTTP/1.1", "403"),
        ("PROPFIND /x HTTP/1.1", "40"), ("GET /\xff HTTP/1.1", "40"),
    ],
)  # fmt: skip
def test_strange_requests_are_refused_without_a_traceback(server, line, code):
    assert raw(server, line).startswith(f"HTTP/1.1 {code}")


@pytest.mark.parametrize("length", ["9" * 5000, "-1", "1e3", "\xb2"])
def test_strange_lengths_are_refused(server, length):
    path = server.address[server.address.index("/", 8) :]
    assert raw(server, f"POST {path}runs HTTP/1.1", f"Content-Length: {length}").startswith("HTTP/1.1 4")


def test_it_listens_on_this_machine_alone(server):
    port = int(server.address.split(":")[2].split("/")[0])
    local = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:] if line.split()[3] == "0A"]
    assert f"0100007F:{port:04X}" in local
    assert f"00000000:{port:04X}" not in local


@pytest.mark.parametrize(
    "path",
    [
        "runs/..%2f..%2f..%2fetc%2fpasswd", "runs/..%2fuploads/page", "runs/%2e%2e/zip", "uploads/..%2f..%2fruns",
        "uploads/sample-campus%2f..%2fx", "static/..%2f..%2fapp.py", "static/%2e%2e/guard.py", "runs/000000000000/page",
        "new/..%2frun?log=sample-campus", "new/__class__?log=sample-campus",
    ],
)  # fmt: skip
def test_paths_in_an_address_lead_nowhere(client, path):
    answer = client.get(path)
    assert answer.status_code == 404
    assert "root:" not in answer.text


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("platform", "/etc/passwd", "upload a file to use one"),
        ("platform", "../x.yaml", "upload a file to use one"),
        ("platform_file", "../../etc/passwd", "no longer there"),
        ("platform_file", "sample-campus", "no longer there"),
        ("catalogue", "/etc/passwd", "no longer there"),
        ("outages", "/etc/passwd", "unknown key of failures"),
        ("outages_file", "/etc/passwd", "no longer there"),
        ("policy_more", "os:system", "expected a name"),
        ("policy_more", "easy:order=os:system", "expected a name"),
        ("policy_more", "/tmp/own.py:Own", "expected a name"),
        ("policy_more", "nobody", "unknown policy"),
        ("seed", "x", "is not a whole number"),
        ("seed", "-1", ">= 0"),
        ("selection", "/etc", "is none of"),
    ],
)
def test_no_path_and_no_module_is_taken_from_a_form(client, field, value, told):
    form = {"face": "run", "log": "sample-campus", "policy": "easy", field: value}
    answer = client.post("runs", data=form)
    assert answer.status_code == 400
    assert told in answer.text.replace("&gt;", ">")


def test_a_log_that_is_a_path_is_refused(client):
    answer = client.post("runs", data={"face": "run", "log": "../../etc/passwd", "policy": "easy"})
    assert answer.status_code == 400
    assert "no longer there" in answer.text


def test_the_map_of_a_format_cannot_name_a_file(client):
    id = id_of(send(client, "log.csv", LOG))
    for options in ("map=/etc/passwd", "x=1,map=/etc/passwd"):
        answer = client.post(f"uploads/{id}/read", data={"format": "json", "options": options})
        assert answer.status_code == 400
        assert "cannot be given here" in answer.text


def is_refused(sent):
    """Whether an upload was refused as too large: by an answer, or before all of it was sent."""
    try:
        return sent().status_code == 413
    except httpx.TransportError:
        return True


def test_an_upload_that_is_too_large_is_refused_and_not_kept(client, server):
    before = set(os.listdir(server.folder / "uploads"))
    answer = send(client, "large.csv", b"x" * (MOST + 1))
    assert answer.status_code == 400
    assert "larger than 200 KiB, which is the most that is taken" in answer.text
    assert is_refused(lambda: send(client, "larger.csv", b"x" * (MOST + (2 << 20))))

    def parts():
        yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
        for _ in range(40):
            yield b"x" * 100_000
        yield b"\r\n--b--\r\n"

    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    assert is_refused(lambda: client.post("uploads", content=parts(), headers=headers))
    assert set(os.listdir(server.folder / "uploads")) == before
    assert client.get("").status_code == 200


def test_a_file_that_unpacks_to_very_much_is_refused(client):
    answer = send(client, "bomb.swf.gz", gzip.compress(bytes(30 * MOST)))
    assert answer.status_code == 400
    assert "unpacked it is larger than" in answer.text
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("lsb.acct", bytes(30 * MOST))
    answer = send(client, "bomb.zip", packed.getvalue())
    assert answer.status_code == 400
    assert "unpacked it is larger than" in answer.text


def test_a_link_in_a_zip_is_refused(client):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        link = zipfile.ZipInfo("lsb.acct")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        file.writestr(link, "/etc/passwd")
    answer = send(client, "links.zip", packed.getvalue())
    assert answer.status_code == 400
    assert "lsb.acct in it is a link or a device" in answer.text


@pytest.mark.parametrize("name", ["../lsb.acct", "/tmp/lsb.acct", "a/../../lsb.acct", "..\\lsb.acct"])
def test_a_path_in_a_zip_that_leads_out_of_it_is_refused(client, server, name):
    answer = send(client, "out.zip", zipped(**{name: "x"}))
    assert answer.status_code == 400
    assert "leads out of the zip" in answer.text
    assert not (server.folder / "lsb.acct").exists()


def test_a_zip_of_something_else_or_damaged_is_told(client):
    assert "expected a zip of lsb.acct files" in send(client, "a.zip", zipped(**{"a.txt": "x"})).text
    assert "the zip is damaged" in send(client, "a.zip", zipped(**{"lsb.acct": "x"})[:30]).text
    assert "only taken for a log" in send(client, "a.zip", zipped(**{"a.xml": "x"}), "platform").text


def workload(trace):
    job = {"id": "1", "subtime": 0, "res": 1, "walltime": 9, "profile": "p"}
    return json.dumps({"nb_res": 1, "jobs": [job], "profiles": {"p": {"type": "smpi", "trace": trace}}})


def looked_at(client, answer):
    """The page of an upload, once a worker has read it."""
    id = id_of(answer)
    until(lambda: client.get(f"uploads/{id}/state").json()["state"] == "done")
    return client.get(f"uploads/{id}").text


def test_no_workload_gets_at_a_file_elsewhere(client):
    """Every shape of it that hid the name of a trace once."""
    hidden = workload("/etc/passwd")
    sent = {
        "w.txt": (workload("../../../upload.json"), "outside the folders that may be read here"),
        "long.json": (hidden.replace("{", f'{{"x": {"9" * 4400},', 1), "outside the folders that may be read here"),
        "blanks.json.gz": (gzip.compress(b" " * (2 << 20) + hidden.encode()), "does not begin with ["),
    }
    answers = [(send(client, name, content), told) for name, (content, told) in sent.items()]
    for answer, told in answers:
        page = looked_at(client, answer)
        assert "root:" not in page
        assert told in page


def test_a_workload_with_its_traces_in_a_zip_is_read(client):
    files = {"w/w.json": workload("t/main.txt"), "w/t/main.txt": "0.txt\n", "w/t/0.txt": "0 init\n0 finalize\n"}
    id = id_of(send(client, "w.zip", zipped(**files)))
    until(lambda: client.get(f"uploads/{id}/state").json()["state"] == "done")
    page = client.get(f"uploads/{id}").text
    assert "1 job read, 0 records rejected" in page
    assert "/new/batsim?log=" in page


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_shown_as_text(client, name):
    """Of files, runs and jobs: none of them is markup on any page."""
    answer = send(client, f"{name[:50]}.csv", "nothing of a log")
    assert answer.status_code == 200
    form = {"face": "run", "log": "sample-campus", "policy": "nobody", "title": name[:90], "platform": name[:90]}
    pages = [client.get("").text, answer.text, client.post("runs", data=form).text]
    for page in pages:
        assert "<script>window" not in page
        assert "<img" not in page
        assert "<svg" not in page
        assert "<b>{{" not in page


def test_pages_may_fetch_and_run_only_what_the_studio_has(client):
    answer = client.get("")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in answer.headers


def test_whatever_the_umask_is_uploads_and_runs_are_for_one_user_alone(client, server):
    looked_at(client, send(client, "log.csv", LOG))
    for place, folders, files in os.walk(server.folder):
        for name in (*folders, *files):
            found = os.lstat(os.path.join(place, name))
            if not stat.S_ISLNK(found.st_mode):
                assert stat.S_IMODE(found.st_mode) & 0o077 == 0, os.path.join(place, name)
    assert {"uploads", "looks", "runs", "code"} <= set(os.listdir(server.folder))


def test_the_first_line_says_what_confines_workers(tmp_path):
    first = Server(tmp_path).stop().splitlines()[0]
    assert "workers are confined: files by " in first
    assert " of memory and 12 hours of processor time" in first
