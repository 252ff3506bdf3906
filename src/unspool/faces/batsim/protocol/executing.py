"""EXECUTE_JOB, carried out: machines, executors and storages are checked, and the job starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unspool.errors import DecisionError, shown
from unspool.faces.batsim.protocol.adding import Adding
from unspool.faces.batsim.protocol.book import Entry
from unspool.faces.batsim.protocol.numbers import told
from unspool.faces.batsim.protocol.power import Power
from unspool.faces.batsim.protocol.storing import Storing
from unspool.policies.base import Start
from unspool.policies.view import Job
from unspool.simulation.decisions import carry_out
from unspool.simulation.executors import may_differ, start_plainly
from unspool.workloads.intervals import format_intervals, parse_intervals

if TYPE_CHECKING:
    from unspool.faces.batsim.protocol.driver import _Turn

__all__ = ["Executing"]


class Executing:
    """Starts jobs where a scheduler says; `allocated` are the machines of each, as they are told."""

    def __init__(self, turn: _Turn, storing: Storing, adding: Adding, power: Power | None) -> None:
        self.turn, self.engine, self.book = turn, turn.engine, turn.book
        self.storing, self.adding, self.power = storing, adding, power
        self.allocated: dict[int, str] = {}

    def execute(self, entry: Entry, data: Mapping[str, Any]) -> None:
        """Start a job that waits on machines."""
        text = data.get("alloc")
        machines = _machines(text) if isinstance(text, str) else ()
        if not machines:
            raise DecisionError(f"job {entry.full}: alloc is {told(data, 'alloc')}; expected machines such as 0-3 7")
        self.storing.refuse_unfit(entry, machines[-1])
        for machine in machines if self.power is not None else ():
            if (why := self.power.refusal(machine)) is not None:  # type: ignore[union-attr]
                raise DecisionError(f"job {entry.full}: machine {machine} {why}")
        mapping = None if data.get("mapping") is None else _mapping(data["mapping"], len(machines))
        self.storing.resolve(entry, data.get("storage_mapping"))
        addition = None
        if data.get("additional_io_job") is not None:
            executors = machines if mapping is None else [machines[place] for place in mapping]
            addition = self.adding.read(entry, executors, data)
        mapping = self._fitted(entry, machines, mapping)
        self._start(entry, machines, mapping)
        if addition is not None:
            self.adding.give(entry, addition)
        self.allocated[entry.at] = str(machines[0]) if len(machines) == 1 else format_intervals(machines)
        self.turn.running.append(entry.at)

    def _start(self, entry: Entry, machines: Sequence[int], mapping: list[int] | None) -> None:
        engine = self.engine
        if mapping is None:
            engine.make_room()
            if start_plainly(engine, entry.at, machines):
                return
        try:
            carry_out(engine, Start(Job(engine, entry.at), machines, mapping))
        except DecisionError as error:
            raise DecisionError(self._why_not(entry, machines) or str(error)) from error

    def _fitted(self, entry: Entry, machines: Sequence[int], mapping: list[int] | None) -> list[int] | None:
        """The mapping, unless the job does nothing that has executors; sizes must be what the job asks for."""
        engine, job = self.engine, entry.at
        core, place, fluid = engine.state.core, engine.state.place, engine.state.fluid
        assert place is not None
        works = fluid is not None and fluid.program_of[job] >= 0
        if works and may_differ(engine, job, Start(Job(engine, job), machines)):
            return mapping
        asked = place.shapes["units"].item(core.jobs["shape"].item(job))
        given = len(machines) if mapping is None else len(mapping)
        if given != asked:
            what = "machines are given" if mapping is None else "executors are mapped"
            raise DecisionError(f"job {entry.full}: {given} {what}, and it asks for {asked}")
        if works:
            return mapping
        if len(machines) != asked:  # what only waits takes no longer on fewer machines
            shape = self.turn.admission.shape_of(len(machines))
            core.jobs[job]["shape"], core.jobs[job]["size"] = shape, len(machines)
        return None

    def _why_not(self, entry: Entry, machines: Sequence[int]) -> str | None:
        """Which of the machines is not to be had, and whose it is."""
        assert self.engine.place is not None
        outage = self.engine.state.outage
        for machine in machines:
            if outage is not None and outage.down[machine] > 0:
                return f"job {entry.full}: machine {machine} is unavailable"
            on_it = [
                self.book.entries[job].full
                for job in self.turn.running
                if job in self.allocated and machine in parse_intervals(self.allocated[job])
            ]
            if on_it and not self.turn.terms.shares_machines:
                return f"job {entry.full}: machine {machine} is busy with {', '.join(on_it)}"
        return None


def _machines(text: str) -> tuple[int, ...]:
    """The machines of an interval set, of which most have one."""
    return (int(text),) if text.isdecimal() and len(text) < 10 else parse_intervals(text)


def _mapping(given: Any, machines: int) -> list[int]:
    """Where each executor works, of an object such as {"0": "0", "1": 0}."""
    try:
        places = {int(executor): int(place) for executor, place in given.items()}
    except (AttributeError, TypeError, ValueError):
        places = {}
    if not places or sorted(places) != list(range(len(places))):
        raise DecisionError(
            f"mapping is {shown(str(given))}; expected the place of each executor from 0 on, as in {{'0': 0}}"
        )
    if not all(0 <= place < machines for place in places.values()):
        raise DecisionError(f"mapping names a place outside of the {machines} machines of alloc")
    return [places[executor] for executor in range(len(places))]
