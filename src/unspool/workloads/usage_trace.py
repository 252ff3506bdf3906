"""Traces of how much of a host each rank of a job used: a list of files, one a rank, with a line for each phase."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from pathlib import Path

from unspool.errors import InputError, shown
from unspool.limits import refuse_beyond
from unspool.workloads.files import read_text

__all__ = ["Phase", "read_usage_trace"]

Phase = tuple[float, float]
"""The part of a host's cores that are in use, and the flops that each of them does."""

_RANK = re.compile("[0-9]{1,9}")
_LINE = "RANK m_usage USAGE FLOPS, with a usage from 0 to 1, as in 0 m_usage 0.5 1e9"


@lru_cache(maxsize=64)  # many jobs replay one trace
def read_usage_trace(path: str) -> tuple[tuple[Phase, ...], ...]:
    """The phases of each rank. The file lists the files of ranks 0, 1, …; a single one may have the lines of all."""
    listed = Path(path)
    names = [line.strip() for line in _lines(listed) if line.strip()]
    if not names:
        raise InputError(f"{listed}: lists no files; expected the name of one for each rank, a line each")
    ranks: dict[int, list[Phase]] = {}
    for number, name in enumerate(names):
        ranks.setdefault(number, [])
        file = listed.parent / name
        for at, line in enumerate(_lines(file), start=1):
            if line.strip():
                rank, phase = _phase(line, f"{file}, line {at}")
                if rank != number and len(names) > 1:
                    raise InputError(
                        f"{file}, line {at}: is of rank {rank}; the file is that of rank {number} in {listed}: "
                        "expected lines of that rank only"
                    )
                refuse_beyond(rank, "set_ids", f"{file}, line {at}")
                ranks.setdefault(rank, []).append(phase)
    return tuple(tuple(ranks.get(rank, ())) for rank in range(max(ranks) + 1))


def _lines(path: Path) -> list[str]:
    try:
        return read_text(path, None).decode().splitlines()
    except UnicodeDecodeError:
        raise InputError(f"{shown(str(path), 300)}: is no text; expected a usage trace") from None


def _phase(line: str, where: str) -> tuple[int, Phase]:
    words = line.split()
    if len(words) != 4 or words[1] != "m_usage" or _RANK.fullmatch(words[0]) is None:
        raise InputError(f"{where}: '{shown(line.strip())}'; expected {_LINE}")
    try:
        usage, flops = float(words[2]), float(words[3])
    except ValueError:
        usage = flops = math.nan
    if not (0.0 <= usage <= 1.0 and 0.0 <= flops < math.inf):
        raise InputError(f"{where}: '{shown(line.strip())}'; expected {_LINE}")
    return int(words[0]), (usage, flops)
