"""The cases of Simdex: where they are; how they are run and compared is the package's own `conform`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from unspool.conform.dispatch import DispatchCases

CASES = Path(os.environ.get("UNSPOOL_CASES", Path(__file__).parents[3] / "shared" / "cases")) / "dispatch"
RECORDED = DispatchCases(CASES)
files, logs, split = RECORDED.files, RECORDED.logs, RECORDED.split


def need_cases() -> None:
    if not CASES.is_dir():
        pytest.skip("the cases are not here: no dispatch folder under UNSPOOL_CASES")
