"""Make the pictures of the studio in the docs: python -m tests.browser.studio_pictures [FOLDER]."""

import shutil
import sys
import tempfile
from pathlib import Path

import httpx
from tests.browser.pictures import IMAGES, MOST_BYTES
from tests.studio_server import Server, until

EXAMPLE = Path(__file__).parents[2] / "examples" / "sacct-to-bill"
VIEW = {"width": 1040, "height": 700}


def _filled(server: Server) -> tuple[str, str]:
    """A studio in use: two runs that are done, one that goes on, one that failed; gives the log and the first run."""
    with httpx.Client(base_url=server.address, timeout=60, follow_redirects=True) as client:

        def upload(path: Path) -> str:
            answer = client.post("uploads", data={"kind": "log"}, files={"file": (path.name, path.read_bytes())})
            return str(answer.url).rpartition("/")[2]

        def begin(face: str, log: str, **form: object) -> str:
            answer = client.post("runs", data={"face": face, "log": log, **form})
            return str(answer.url).rpartition("/")[2]

        def state(id: str) -> str:
            return client.get(f"runs/{id}/state").json()["state"]

        log = upload(EXAMPLE / "sacct.txt")
        first = begin("run", "sample-campus", policy=["fcfs", "easy", "conservative"], title="who waits, 256 cores")
        bill = begin("cost", log, title="the week of sacct in the cloud")
        failed = begin("run", log, policy="easy", title="without a platform")
        until(lambda: {state(first), state(bill), state(failed)} <= {"done", "failed"}, 280)
        server.hold()
        begin("run", "sample-campus", policy=["fcfs", "easy"], platform="320", title="who waits, 320 cores")
        server.held(1)
        return log, first


def main() -> None:
    """Make them all."""
    from playwright.sync_api import sync_playwright

    into = Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder))
        try:
            log, first = _filled(server)
            pages = {"studio": "", "studio-form": f"new/run?log={log}", "studio-run": f"runs/{first}"}
            with sync_playwright() as begun:
                browser = begun.chromium.launch(executable_path=shutil.which("chromium"))
                page = browser.new_page(viewport=VIEW)
                for name, address in pages.items():
                    page.goto(server.address + address)
                    target = into / f"{name}.png"
                    # What a run came from names folders of whoever makes the picture.
                    below = page.get_by_role("heading", name="How it came about")
                    end = (
                        below.bounding_box()["y"] - 30 if below.count() else page.evaluate("document.body.offsetHeight")
                    )
                    page.screenshot(path=target, full_page=True, clip={"x": 0, "y": 0, "width": 1040, "height": end})
                    sys.stdout.write(f"{target}: {target.stat().st_size:,} bytes\n")
                    assert target.stat().st_size < MOST_BYTES
                browser.close()
        finally:
            server.release()
            server.stop()


if __name__ == "__main__":
    main()
