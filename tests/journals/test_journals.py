"""What happens in a run changes only where that is meant: journals of random runs are those that were recorded."""

import pytest
from tests.journals.draws import KINDS, RUNS
from tests.journals.record import fingerprint, stored


@pytest.mark.parametrize("kind", KINDS)
def test_journals_are_those_that_were_recorded(kind):
    recorded = stored()[kind]
    assert len(recorded) == RUNS
    found = [fingerprint(kind, number) for number in range(RUNS)]
    changed = [number for number in range(RUNS) if found[number] != recorded[number]]
    assert not changed, f"runs {changed} of {kind} changed; if that is meant, see tests/journals/record.py"
