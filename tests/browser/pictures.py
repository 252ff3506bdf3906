"""The pictures of pages in the docs: each page made by its command, opened in Chromium, and its first screen kept.

Needs Playwright and Chromium (`make test-browser`). Run: python -m tests.browser.pictures [FOLDER] [NAME ...]
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.browser.conftest import _DRAWN

from unspool.cli.app import run_command

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
BILL = ROOT / "examples" / "sacct-to-bill"
THREE = ("--policy", "fcfs", "--policy", "easy", "--policy", "conservative")
WIDTH, EDGE = 1100, 18
MOST_BYTES = 300_000
HOSTS = 32

EXPERIMENT = """\
workers: [{active: true, limit: 30}, {active: true}, {active: true}, {active: true}]
dispatcher: duration-filter
duration_predictor: {class: statistics, args: {statistic: median}}
metrics:
- delay
- class: user-experience
  args: {ref_jobs: "@@ref_jobs", thresholds: [1.5, 3.0], yardstick: fixed}
"""


def _called(*words: object) -> None:
    assert run_command([str(word) for word in words]) == 0


def _run(folder: Path) -> Path:
    _called("run", *THREE, "-o", folder / "out")
    return folder / "out" / "report.html"


def _compare(folder: Path) -> Path:
    _called("run", *THREE, "-o", folder / "out", "--no-report")
    _called("compare", folder / "out", "--warm-up", "2d", "-o", folder / "compare.html")
    return folder / "compare.html"


def _cost(folder: Path) -> Path:
    _called("cost", BILL / "sacct.txt", "-c", BILL / "config.yml", "-o", folder / "out")
    return folder / "out" / "report.html"


def _batsim(folder: Path) -> Path:
    """Jobs that compute and send on 32 hosts of four racks, over one backbone."""
    draw = random.Random(7)
    racks = "".join(
        f'<cluster id="rack{rack}" prefix="r{rack}-" suffix="" radical="0-7" speed="4Gf" bw="250MBps" lat="5us"'
        f' sharing_policy="SPLITDUPLEX"><prop id="role" value="compute"/></cluster>\n'
        for rack in range(4)
    )
    ways = "".join(
        f'<zoneRoute src="rack{one}" dst="rack{two}" gw_src="r{one}-rack{one}_router" gw_dst="r{two}-rack{two}_router">'
        f'<link_ctn id="backbone"/></zoneRoute>\n'
        for one in range(4) for two in range(one + 1, 4)
    )  # fmt: skip
    (folder / "racks.xml").write_text(
        '<?xml version="1.0"?>\n<platform version="4.1">\n'
        f'<zone id="all" routing="Full">\n{racks}<link id="backbone" bandwidth="2GBps" latency="20us"/>\n{ways}'
        "</zone>\n</platform>\n"
    )
    kinds = {
        "stencil": (4e11, 8e8), "transform": (2e11, 2.5e9), "solver": (9e11, 1.2e9), "ensemble": (1.4e12, 0),
    }  # fmt: skip
    profiles = {
        f"{name}-{size}": {"type": "parallel_homogeneous", "cpu": flops * scale, "com": sent * scale}
        for name, (flops, sent) in kinds.items()
        for size, scale in (("small", 1), ("large", 3))
    }
    jobs, time = [], 0.0
    for at in range(220):
        time += draw.expovariate(1 / 75.0)
        name = draw.choice(list(profiles))
        res = draw.choice((1, 2, 4, 4, 8, 8, 12, 16))
        jobs.append({"id": str(at), "subtime": round(time, 1), "res": res, "walltime": 7200, "profile": name,
                     "user": draw.choice(("ada", "grace", "edsger"))})  # fmt: skip
    (folder / "jobs.json").write_text(json.dumps({"nb_res": HOSTS, "jobs": jobs, "profiles": profiles}))
    inputs = ("-p", folder / "racks.xml", "-w", folder / "jobs.json", "-e", folder / "files")
    _called("batsim", *inputs, "--policy", "easy", "-o", folder / "out")
    return folder / "out" / "report.html"


def _dispatch(folder: Path) -> Path:
    _called("generate", "recodex", folder / "data.csv", "--refs", folder / "refs.csv", "--jobs", 5000, "--load", 1,
            "--seed", 3)  # fmt: skip
    (folder / "filter.yaml").write_text(EXPERIMENT)
    _called("dispatch", folder / "data.csv", "-c", folder / "filter.yaml", "--refs", folder / "refs.csv",
            "-o", folder / "out")  # fmt: skip
    return folder / "out" / "report.html"


# Each picture: how its page is made, and the figure up to whose end it is shown; None: from the top to the first one.
PICTURES: Mapping[str, tuple[Callable[[Path], Path], str | None]] = {
    "report": (_run, None),
    "compare": (_compare, None),
    "cost": (_cost, None),
    "dispatch": (_dispatch, None),
    "batsim": (_batsim, None),
    "network": (_batsim, "#link_use"),
}


def main() -> None:
    """Make all pictures, or those that are named."""
    from playwright.sync_api import sync_playwright

    words = sys.argv[1:]
    into = Path(words.pop(0)) if words and words[0] not in PICTURES else IMAGES
    into.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as started, started.chromium.launch(executable_path=shutil.which("chromium")) as browser:
        for name in words or PICTURES:
            make, alone = PICTURES[name]
            with tempfile.TemporaryDirectory() as folder:
                page = browser.new_page(viewport={"width": WIDTH, "height": 800})
                page.goto(make(Path(folder)).as_uri())
                page.wait_for_function(_DRAWN, timeout=60_000)
                target = into / f"{name}.png"
                shown = page.locator(f"figure:has({alone or '.figure'})").first.bounding_box()
                top = page.locator(f"section:has({alone})").bounding_box()["y"] - EDGE if alone else 0
                clip = {"x": 0, "y": top, "width": WIDTH, "height": shown["y"] + shown["height"] + EDGE - top}
                page.screenshot(path=target, full_page=True, clip=clip)
                page.close()
            sys.stdout.write(f"{target}: {target.stat().st_size:,} bytes\n")
            assert target.stat().st_size < MOST_BYTES


if __name__ == "__main__":
    main()
