"""Fingerprints of what happened in random runs: `python -m tests.journals.record` writes them anew.

Do so only where a change of results is meant; the CHANGELOG then says which results change, and why.
"""

import hashlib
import json
from pathlib import Path

from tests.journals.draws import KINDS, RUNS, Draw, told

__all__ = ["STORED", "fingerprint", "stored"]

STORED = Path(__file__).with_name("fingerprints.json")
_TABLES = ("attempts", "allocations", "rejected", "machines")


def fingerprint(kind, number):
    """The first digits of a digest of every attempt, its machines, their lives, and who was turned away and why."""
    result = KINDS[kind](Draw(kind, number))
    digest = hashlib.sha256()
    for name in _TABLES:
        table = getattr(result, name)
        if table is None:
            continue
        columns = sorted(table.columns)
        digest.update(f"{name} {columns}\n".encode())
        for row in table.select(columns).iter_rows():
            digest.update((" ".join(map(told, row)) + "\n").encode())
    return digest.hexdigest()[:12]


def stored():
    """What was recorded: for each kind of run a fingerprint of each."""
    return json.loads(STORED.read_text())


if __name__ == "__main__":
    STORED.write_text(
        json.dumps({kind: [fingerprint(kind, at) for at in range(RUNS)] for kind in KINDS}, indent=1) + "\n"
    )
