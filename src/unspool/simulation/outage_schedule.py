"""Outages of a run: those that are listed, and those that are drawn, as far ahead as the run has come."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unspool.engine.drawn_outages import changes_of, outages_until
from unspool.engine.kernel.state import Outage
from unspool.engine.outages import ON_LOSS
from unspool.errors import InputError
from unspool.model.outages import FATES, Failures, OnLoss, Outages
from unspool.model.outages import Outage as ListedOutage
from unspool.units import counted, format_duration

if TYPE_CHECKING:
    from unspool.simulation.engine import Engine

__all__ = ["Weather"]

_FIRST_LOOK = 10  # mean times between failures
_MOST_DRAWN = 5_000_000  # outages: some minutes, and a few GiB


class Weather:
    """Knows when machines are down, and draws more of it when the run gets there."""

    def __init__(self, engine: Engine, outages: Outages | None, on_loss: OnLoss) -> None:
        self._given = outages
        self.outages: list[ListedOutage] = []
        self._attempts_before = -1
        if outages is None:
            return
        engine.platform.refuse_cloud("an outage")
        if engine.place is None:
            raise InputError("a pool has no machines that could be lost; describe them, as in -p 480x1")
        rule = np.zeros(1, ON_LOSS)
        rule["fate"] = FATES.index(on_loss.fate)
        rule["checkpoint"] = on_loss.checkpoint_s
        rule["most"] = on_loss.most_attempts
        place, jobs = engine.place, len(engine.core.jobs)
        down = np.zeros(len(place.machines), np.int64)
        outage = Outage(rule, changes_of([]), down, np.zeros(jobs, np.int64), place.free.copy(order="K"))
        core = engine.core
        if on_loss.fate == "resume":  # what a checkpoint keeps is taken off the run time
            core = core._replace(jobs=core.jobs.copy())
        engine.state = engine.state._replace(core=core, outage=outage)
        submit = engine.core.jobs["submit"]
        self._origin = float(submit.min(initial=np.inf)) if jobs else 0.0
        span = float(submit.max(initial=0.0)) - self._origin
        ahead = 2.0 * span + _FIRST_LOOK * (outages.failures.mean_time_between_s if outages.failures else 0.0)
        self._look_until(engine, self._origin + ahead)

    def look_ahead(self, engine: Engine) -> None:
        """Draw twice as far; no further if nothing has started since the last time, or it would never end."""
        assert engine.state.outage is not None
        known = float(engine.state.outage.rule[0]["known_until"])
        attempts = len(engine.attempts)
        if attempts == self._attempts_before and not int(engine.core.course[0]["running"]):
            rule = engine.state.outage.rule.copy()
            rule["known_until"] = np.inf
            engine.state = engine.state._replace(outage=engine.state.outage._replace(rule=rule))
        else:
            self._attempts_before = attempts
            self._look_until(engine, self._origin + 2.0 * (known - self._origin))

    def _look_until(self, engine: Engine, until: float) -> None:
        """Draw up to a time; what was drawn before comes out the same, and comes first."""
        given = self._given
        assert given is not None
        assert engine.state.outage is not None
        if given.failures is None:
            until = np.inf
        else:
            _refuse_too_many(given.failures, len(engine.state.outage.down), until - self._origin)
        self.outages = outages_until(given, len(engine.state.outage.down), engine.seed, self._origin, until)
        rule = engine.state.outage.rule.copy()  # forks share it
        rule["known_until"] = until
        outage = engine.state.outage._replace(rule=rule, changes=changes_of(self.outages))
        engine.state = engine.state._replace(outage=outage)


def _refuse_too_many(failures: Failures, machines: int, span: float) -> None:
    """Complain if nobody would see the end of drawing the outages of so much time."""
    expected = machines * span / (failures.mean_time_between_s + failures.mean_repair_s)
    if expected > _MOST_DRAWN:
        raise InputError(
            f"the failures of {counted(machines, 'machine')} over {format_duration(span)} are about {expected:,.0f} "
            f"outages, more than {_MOST_DRAWN:,}; use a longer mtbf, or a window of the log"
        )
