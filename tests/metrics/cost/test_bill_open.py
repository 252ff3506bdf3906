"""Faults that are known and not yet mended; each fails for the reason that it gives."""

import pytest
from tests.metrics.cost.tables import instance, tables

from unspool.metrics.cost import bill, window_of


@pytest.mark.xfail(strict=True, reason="engine/shares.py, _fill_up: a stop on the first hour of the table is in it")
def test_seconds_up_to_the_minimum_of_a_stop_on_the_hour_stay_out_of_a_table_that_begins_then():
    lives = [instance(3590, 3590, 3600), instance(4000, 4000, 4600, job="b")]
    run = tables(lives, [("a", 3590, 3590, 3600, 1, [0]), ("b", 4000, 4000, 4600, 1, [1])])
    whole = bill(*run, window_of(run[0], run[3]), minimum_billed_s=60.0)
    later = bill(*run, window_of(run[0], run[3], starttime=3600.0), minimum_billed_s=60.0)
    assert whole.cost_usd.sum(axis=(0, 1)).tolist() == pytest.approx([60 / 3600, 600 / 3600])
    assert later.cost_usd.sum(axis=(0, 1)).tolist() == pytest.approx([600 / 3600])
