"""Schedulers of recorded Batsim runs as policies of ours: what batsched and pybatsim did, decided in the same process.

Which ones there are, and for which options, `equivalent` says; `tests/conform` holds them against recorded messages.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from unspool.errors import InputError, shown
from unspool.policies.base import Decision, Kill, Reject, Scheduler, SetPstate, Start, Tell, WakeAt
from unspool.policies.view import Job, View
from unspool.workloads.intervals import parse_intervals

__all__ = [
    "Equivalent", "Killer", "Moldable", "OneByOne", "Rejecter", "Replacer", "Sleepy", "Talker", "Together",
    "equivalent", "machines_of",
]  # fmt: skip

REPLACE_AFTER_S = 5.0  # how long batsched's killer2 waits between a kill and the next start


@dataclass(frozen=True)
class Equivalent:
    """A policy, or the name of one of ours; where it is another variant, only figures can be set beside each other."""

    policy: Scheduler | str
    is_same: bool = True
    storages: Mapping[str, int] = field(default_factory=dict)


class Rejecter:
    """batsched's rejecter: every job is turned away."""

    def decide(self, view: View) -> Iterator[Decision]:
        """Reject what has arrived."""
        for job in view.queue:
            yield Reject(job)


class Killer:
    """batsched's killer: one job at a time, from machine 0 on, killed some seconds after its start.

    The scheduler is busy until its last kill, also where the job has ended before: `kills` times the delay.
    """

    def __init__(self, delay_s: float = 0.0, kills: int = 1) -> None:
        self.delay_s = delay_s
        self.kills = kills
        self._began: float | None = None

    def decide(self, view: View) -> Iterator[Decision]:
        """Kill when it is time; when that is over start the next."""
        running, waiting = list(view.running), list(view.queue)
        if self._began is not None:
            if view.now >= self._began + self.delay_s:
                yield from (Kill(job) for job in running)
            if view.now < self._began + self.kills * self.delay_s:
                return
            self._began = None
        for job in waiting:
            yield _from_first(job)
            if self.delay_s > 0:
                self._began = view.now
                yield from (WakeAt(view.now + times * self.delay_s) for times in range(1, self.kills + 1))
                return
            yield Kill(job)


class Replacer:
    """batsched's killer2: while a job waits the running one is killed, and five seconds later the next one starts."""

    def __init__(self) -> None:
        self._ready_at = 0.0
        self._next: Job | None = None

    def decide(self, view: View) -> Iterator[Decision]:
        """Start who is next; then, if another waits, make way for it."""
        if view.now < self._ready_at:
            return
        running, waiting = list(view.running), list(view.queue)
        if self._next is not None:
            yield _from_first(self._next)
            running, waiting = [self._next], waiting[1:]
            self._next = None
        if not waiting:
            return
        if not running:
            yield _from_first(waiting[0])
            return
        yield from (Kill(job) for job in running)
        self._next, self._ready_at = waiting[0], view.now + REPLACE_AFTER_S
        yield WakeAt(self._ready_at)


class OneByOne:
    """One job after the other in the order of submission, from machine 0 on; with a limit, killed when it is over."""

    def __init__(self, kill_after_s: float | None = None) -> None:
        self.kill_after_s = kill_after_s

    def decide(self, view: View) -> Iterator[Decision]:
        """Start the next if none runs."""
        running = list(view.running)
        if self.kill_after_s is not None:
            over = [job for job in running if view.now - job.start_time >= self.kill_after_s]
            yield from (Kill(job) for job in over)
            running = [job for job in running if job not in over]
        if not running and len(view.queue):
            yield _from_first(view.queue[0])
            if self.kill_after_s:
                yield WakeAt(view.now + self.kill_after_s)


class Moldable:
    """batsched's filler with a fraction: jobs on fewer machines than they ask for, from the first free one on.

    Executors go round over them where they are mapped; else their number is that of the machines.
    """

    def __init__(self, fraction: float, maps: bool) -> None:
        self.fraction = fraction
        self.maps = maps

    def decide(self, view: View) -> Iterator[Decision]:
        """Start each job for which machines enough are free."""
        machines = view.machine_count
        free = [machine for machine in range(machines) if view.free(machine)[0] >= 1]
        for job in view.queue:
            count = math.ceil(job.units * self.fraction)
            if count <= len(free):
                taken, free = free[:count], free[count:]
                yield Start(job, taken, [at % count for at in range(job.units)] if self.maps else None)


class Talker:
    """Every job from machine 0 on, and an answer to each message of a job: accepted, or denied."""

    def decide(self, view: View) -> Iterator[Decision]:
        """Start all that wait, and answer."""
        for message in view.messages:
            yield Tell(message.job, "accepted" if message.content.get("type") == "accept" else "denied")
        for job in view.queue:
            yield _from_first(job)


class Together:
    """Every job at once, on the machines that its field `alloc` names, else from machine 0 on."""

    def decide(self, view: View) -> Iterator[Decision]:
        """Start all that wait."""
        for job in view.queue:
            named = json.loads(job["details"] or "{}").get("alloc")
            yield Start(job, machines_of(named)) if named else _from_first(job)


class Sleepy:
    """First come, first served; machines sleep while nobody waits, and as many wake as the first in the queue lacks.

    It is called before the first job is known, and puts all to sleep. With `one_at_a_time`, as batsched's sleeper, a
    job starts, and machines wake for it, only when none runs.
    """

    def __init__(self, sleep: int = 2, compute: int = 0, one_at_a_time: bool = False) -> None:
        self.sleep = sleep
        self.compute = compute
        self.one_at_a_time = one_at_a_time
        self._waking: set[int] = set()
        self._is_new = True

    def decide(self, view: View) -> Iterator[Decision]:
        """Start who can, then wake or put to sleep."""
        machines = range(view.machine_count)
        awake = [m for m in machines if view.activity(m) == "awake" and view.free(m)[0] >= 1]
        self._waking = {m for m in self._waking if view.activity(m) == "switching"}
        if self._is_new:
            self._is_new = False
            yield SetPstate(awake, self.sleep)
            return
        waiting, runs = list(view.queue), bool(view.running)
        while waiting and waiting[0].units <= len(awake) and not (self.one_at_a_time and runs):
            job = waiting.pop(0)
            taken, awake = awake[: job.units], awake[job.units :]
            runs = True
            yield Start(job, taken)
        if not waiting and awake:
            yield SetPstate(awake, self.sleep)
        elif waiting and not (self.one_at_a_time and runs):
            lacking = waiting[0].units - len(awake) - len(self._waking)
            wake = [m for m in machines if view.activity(m) == "asleep"][: max(0, lacking)]
            if wake:
                self._waking.update(wake)
                yield SetPstate(wake, self.compute)


def _from_first(job: Job) -> Start:
    """On machines 0, 1, …, as many as it asks for."""
    return Start(job, range(job.units))


def machines_of(text: str) -> list[int]:
    """The machines of an interval set.

    >>> machines_of("0-2 5,7")
    [0, 1, 2, 5, 7]
    """
    try:
        return list(parse_intervals(text.replace(",", " ")))
    except InputError as error:
        raise InputError(f"'{text}' is no set of machines; expected numbers and ranges, as in 0-2 5") from error


def equivalent(command: Sequence[str]) -> Equivalent | str:
    """Our equivalent of a scheduler that was started so, or why there is none.

    >>> equivalent(["batsched", "-v", "fcfs_fast"]).policy
    'fcfs'
    >>> equivalent(["batsched", "-v", "energy_watcher"])
    "batsched's energy_watcher has no equivalent here"
    """
    program, name, options, others = _split(command)
    table = {"batsched": _BATSCHED, "pybatsim": _PYBATSIM}.get(program, {})
    if name not in table:
        return f"{program}'s {name or 'scheduler'} has no equivalent here"
    made = table[name](options)
    left = sorted(set(options) - set(_KNOWN_OPTIONS.get(name, ()))) + others
    if left:
        return f"{program}'s {name} has no equivalent here with {', '.join(left)}"
    return made


def _split(command: Sequence[str]) -> tuple[str, str, dict[str, Any], list[str]]:
    """Program, scheduler, its options, and arguments that we do not know."""
    program, *rest = command
    name, options, others = "", dict[str, Any](), list[str]()
    words = iter(rest)
    for word in words:
        if word == "-v":
            name = next(words, "")
        elif word == "--variant_options" or (word == "-o" and program == "pybatsim"):
            options = _options(next(words, "{}"))
        elif program == "pybatsim" and not name:
            name = word.rpartition("/")[2].removesuffix(".py")
        else:
            others.append(word)
    return program, name, options, others


def _options(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InputError(f"options of the scheduler, '{shown(text)}', are no JSON object; correct the case")
    return found


_Maker = Callable[[Mapping[str, Any]], "Equivalent | str"]


def _filler(options: Mapping[str, Any]) -> Equivalent:
    fraction = float(options.get("fraction_of_machines_to_use", 1))
    return Equivalent("filler" if fraction == 1 else Moldable(fraction, bool(options.get("custom_mapping"))))


def _killer(options: Mapping[str, Any]) -> Equivalent:
    return Equivalent(Killer(float(options.get("delay_before_kill", 0)), int(options.get("nb_kills_per_job", 1))))


def _one_by_one(options: Mapping[str, Any]) -> Equivalent:
    return Equivalent(OneByOne(options.get("kill_after")), storages=options.get("storage_mapping", {}))


def _together(options: Mapping[str, Any]) -> Equivalent:
    return Equivalent(Together(), storages=options.get("storage_mapping", {}))


def _sleepy(options: Mapping[str, Any]) -> Equivalent:
    return Equivalent(Sleepy(int(options.get("sleep", 2)), int(options.get("compute", 0))))


def _sleeper(options: Mapping[str, Any]) -> Equivalent:
    """Batsim's messages to each of many machines shift all that follows, so that only figures can be compared."""
    states = int(options.get("pstate_sleep", 0)), int(options.get("pstate_compute", 0))
    return Equivalent(Sleepy(*states, one_at_a_time=True), is_same=False)


def _idle_sleeper(options: Mapping[str, Any]) -> Equivalent:
    """It looks for idle machines now and then, and wakes more than it needs; ours do so when they have idled long."""
    return Equivalent(f"easy:sleep_after={float(options.get('monitoring_period', 0)):g}", is_same=False)


def _same(name: str) -> _Maker:
    return lambda _: Equivalent(name)


def _variant(name: str) -> _Maker:
    return lambda _: Equivalent(name, is_same=False)


_BATSCHED: dict[str, _Maker] = {
    "fcfs": _same("fcfs"),
    "fcfs_fast": _same("fcfs"),
    "filler": _filler,
    "rejecter": lambda _: Equivalent(Rejecter()),
    "killer": _killer,
    "killer2": lambda _: Equivalent(Replacer()),
    "sleeper": _sleeper,
    "energy_bf_idle_sleeper": _idle_sleeper,
    "easy_bf": _variant("easy"),
    "easy_bf_fast": _variant("easy"),
    "conservative_bf": _variant("conservative"),
}
_PYBATSIM: dict[str, _Maker] = {
    "onebyone": _one_by_one,
    "together": _together,
    "sleepy": _sleepy,
    "talker": lambda _: Equivalent(Talker()),
    # These three go over a set of Python, whose order is nobody's.
    "fillerSched": _variant("filler"),
    "fillerSchedWithEvents": _variant("filler"),
    "schedFiller": _variant("filler"),
    "schedFcfs": _same("fcfs"),
    "easyBackfill": _variant("easy"),
    "schedEasySjfBackfill": _variant("easy:order=sjf"),
}
_POWER_OPTIONS = (
    "power_sleep", "power_idle", "power_compute", "energy_switch_on", "energy_switch_off", "time_switch_on",
    "time_switch_off", "pstate_sleep", "pstate_compute", "output_dir", "trace_output_filename",
)  # fmt: skip
_KNOWN_OPTIONS: Mapping[str, Iterable[str]] = {
    "filler": ("fraction_of_machines_to_use", "custom_mapping", "set_job_metadata"),
    "killer": ("delay_before_kill", "nb_kills_per_job"),
    "onebyone": ("kill_after", "storage_mapping"),
    "sleepy": ("sleep", "compute"),
    "sleeper": _POWER_OPTIONS,
    "energy_bf_idle_sleeper": (
        *_POWER_OPTIONS,
        "monitoring_period",
        "idle_time_to_sedate",
        "sedate_idle_on_classical_events",
        "ensured_sleep_time_lower_bound",
        "ensured_sleep_time_upper_bound",
    ),
    "together": ("storage_mapping",),
}
