"""What placements have in common: machines that are picked for a job, there or started, and how long it will run."""

from __future__ import annotations

from unspool.engine.cloud.instances import start_instance
from unspool.engine.kernel.compiled import compiled, inlined
from unspool.engine.kernel.state import Core, Elastic, Place
from unspool.engine.place.machines import set_machine

__all__ = ["append_machine", "expected_run_s", "start_machines"]


@inlined
def append_machine(core: Core, place: Place, machine: int) -> None:
    """Pick one more machine."""
    at = core.course[0]["picked"]
    place.picked[at]["first"] = machine
    place.picked[at]["last"] = machine
    place.picked[at]["units"] = 1
    core.course[0]["picked"] = at + 1


@compiled
def start_machines(core: Core, place: Place, elastic: Elastic, kind: int, plan: int, job: int, count: int) -> None:
    """Start so many instances of a type for a job, and pick them; none where no type (-1) may be started."""
    if kind < 0:
        return
    for _ in range(count):
        machine = start_instance(core, place, elastic, kind, plan, job)
        set_machine(core, place, elastic.capacity, machine, 1.0)
        append_machine(core, place, machine)


@inlined
def expected_run_s(core: Core, elastic: Elastic, job: int) -> float:
    """How long a job is expected to run: as in the log, unless a predictor is named."""
    run_s = min(core.jobs[job]["run_time"], core.jobs[job]["walltime"])
    if elastic.rule[0]["guesses"] != 0:
        run_s = core.fate[job]["estimate"]
    return run_s  # type: ignore[no-any-return]
