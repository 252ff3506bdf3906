"""What the profiles of a Batsim file must be to one another and to the jobs: no holes, no circles, sizes that fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from types import NoneType

from unspool.errors import shown
from unspool.model.profile import Delay, HomogeneousTask, Merge, Profile, Receive, Staging, StorageTask, Task
from unspool.workloads.batsim_fields import MOST_TIME
from unspool.workloads.batsim_positions import Problems
from unspool.workloads.references import parts_first, references, spans_of

__all__ = ["Known", "check_profiles", "check_sizes", "near"]

_TASKS = (Task, HomogeneousTask, StorageTask, Staging)


class Known:
    """What is known of the profiles of a file: the names, how long delays take, the sizes that tasks must have."""

    def __init__(self, profiles: Mapping[str, Profile], names: Mapping[str, object]) -> None:
        self.names = names
        self.profiles = profiles
        # A file may have a delay for each of a million jobs, which lead nowhere.
        self.others = {name: profile for name, profile in profiles.items() if type(profile) is not Delay}
        order, self.circles = parts_first(self.others)
        self.seconds = {name: span.seconds for name, span in spans_of(profiles).items()}
        self.sizes = _sizes(profiles, order)


def near(name: str, names: Iterable[str]) -> str:
    """The end of a sentence about a name that does not exist."""
    close = get_close_matches(name, list(names), n=1, cutoff=0.5) if len(name) <= 200 else []
    return f"; did you mean '{shown(close[0])}'?" if close else "; expected the name of a profile of this file"


def check_profiles(known: Known, problems: Problems) -> None:
    """Names that do not exist, circles, members that cannot be merged, delays that are too long in all."""
    for name, profile in known.others.items():
        if parts := references(profile):
            _check_parts(name, profile, parts, known, problems)
    for circle in known.circles:
        field = _field(known.profiles[circle[0]], circle[1])
        told = " → ".join(shown(each, 40) for each in circle)
        problems.of_profile(circle[0], field, f"leads back to itself ({told}); expected no circle")
    for name in known.others:
        seconds = known.seconds.get(name, 0.0)
        if seconds > MOST_TIME:
            problems.of_profile(name, "seq", f"takes {seconds:g} s in all; expected up to {MOST_TIME:g}")


def check_sizes(
    known: Known, ids: Iterable[str], res: Iterable[int], profiles: Iterable[str], problems: Problems
) -> None:
    """Jobs whose number of machines is not that of the tasks in their profile; those with none are set apart later."""
    if not known.sizes:
        return
    for place, (job_id, machines, profile) in enumerate(zip(ids, res, profiles, strict=True)):
        for size, task in known.sizes.get(profile, {}).items():
            if size != machines and machines > 0:
                part = f"profile {shown(profile)}" + (f" has {shown(task)}, which" if task != profile else "")
                told = f"res is {machines}, but {part} is for {size} machines; expected the same number"
                problems.of_job(place, job_id, "res", told)


def _check_parts(name: str, profile: Profile, parts: tuple[str, ...], known: Known, problems: Problems) -> None:
    for other in dict.fromkeys(parts):
        field = _field(profile, other)
        if other not in known.names:
            told = f"{field} names '{shown(other)}', which does not exist{near(other, known.names)}"
            problems.of_profile(name, field, told)
        elif isinstance(profile, Merge) and not isinstance(known.profiles.get(other), (*_TASKS, NoneType)):
            told = f"seq names '{shown(other)}', which is no task; expected parallel tasks, which can be added"
            problems.of_profile(name, field, told)


def _field(profile: Profile, other: str) -> str:
    if not isinstance(profile, Receive):
        return "seq"
    return next(field for field in ("success", "failure", "timeout") if getattr(profile, field) == other)


def _sizes(profiles: Mapping[str, Profile], order: Iterable[str]) -> dict[str, dict[int, str]]:
    """For each profile that has tasks with an amount for each machine: their sizes, and a task of that size."""
    found: dict[str, dict[int, str]] = {}
    for name in order:
        profile = profiles[name]
        if isinstance(profile, Task):
            found[name] = {len(profile.cpu): name}
            continue
        sizes: dict[int, str] = {}
        for other in references(profile):
            sizes = {**found.get(other, {}), **sizes}
        if sizes:
            found[name] = sizes
    return found
