"""Jobs and profiles that a scheduler registers while the run goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from unspool.errors import DecisionError, shown
from unspool.faces.batsim.protocol.book import split_id
from unspool.faces.batsim.protocol.numbers import json_text
from unspool.model.profile import Profile, Trace
from unspool.simulation.admission import NewJob
from unspool.simulation.codes import RUNNING
from unspool.workloads.batsim_checks import Known, check_profiles, check_sizes
from unspool.workloads.batsim_jobs import read_jobs
from unspool.workloads.batsim_positions import Problems
from unspool.workloads.batsim_profiles import read_profiles
from unspool.workloads.references import reached, references, renamed

if TYPE_CHECKING:
    from unspool.faces.batsim.protocol.driver import _Turn

__all__ = ["Registering"]


class Registering:
    """Checks what is registered as a file would be checked, and lets it into the run."""

    def __init__(self, turn: _Turn) -> None:
        self.turn, self.engine, self.book = turn, turn.engine, turn.book

    def refuse_unless_enabled(self) -> None:
        """Registering must have been agreed upon."""
        if not self.turn.terms.enable_dynamic_jobs:
            raise DecisionError("jobs and profiles may not be registered in this run; allow it: --enable-dynamic-jobs")

    def profile(self, data: Mapping[str, Any]) -> None:
        """A profile, under a name that is new in its workload, or whose jobs are over."""
        self.refuse_unless_enabled()
        workload, name, given = (data.get(each) for each in ("workload_name", "profile_name", "profile"))
        if not isinstance(workload, str) or not workload or "!" in workload or not isinstance(name, str):
            raise DecisionError("expected workload_name, a text without !, and profile_name")
        self.add_profile(workload, name, given)

    def add_profile(self, workload: str, name: str, given: Any) -> None:
        """Write down a profile, which may be there already if it is the same."""
        known = self.book.profiles.setdefault(workload, {})
        key = self.book.key(workload, name)
        if name in known:
            if known[name] == given and key in self.engine.workload.profiles:
                return
            self._refuse_in_use(workload, name, key)
        self._add(workload, name, key, given)
        known[name] = given
        self.turn.note_profile(key)

    def job(self, data: Mapping[str, Any]) -> None:
        """A job, which counts as submitted at once."""
        self.refuse_unless_enabled()
        full, given = data.get("job_id"), data.get("job")
        if not isinstance(full, str) or not isinstance(given, dict):
            raise DecisionError("expected job_id, a full identifier, and job, an object")
        workload, name = split_id(full)
        if full in self.book.by_id:
            raise DecisionError(f"job {shown(full)} is there already; expected a new identifier")
        if workload not in self.book.profiles:
            raise DecisionError(
                f"job {shown(full)}: there is no workload '{shown(workload)}'; register a profile first"
            )
        job = self._checked(workload, name, given)
        profile = self.book.key(workload, job["profile"])
        raw = self.book.profiles[workload][job["profile"]]
        entry = self.book.add(full, {**given, "id": full}, profile, json_text(raw))
        walltime = job.get("walltime")
        self.turn.admission.admit(
            NewJob(
                self.book.key(workload, name),
                float(job["subtime"]),
                int(job["res"]),
                None if walltime in (None, -1) else float(walltime),
                profile,
            )
        )
        if self.turn.terms.acknowledge_dynamic_jobs:
            self.turn.tell_submitted(entry)

    def _checked(self, workload: str, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of a job, complained of as those of a file are."""
        job = {"subtime": max(self.engine.now, 0.0), **given, "id": name}
        profiles, known_all = self.book.profiles[workload], self.engine.workload.profiles
        used = self.book.key(workload, str(job.get("profile")))
        bare = self._plain(workload)
        parts = reached(known_all, [used]) if used in known_all else set()
        plain = {bare(each): renamed(known_all[each], bare) for each in parts}
        problems = Problems()
        known = Known(plain, profiles)
        jobs = read_jobs([job], known, workload, problems, is_version_5=False)
        if not problems.found:
            check_sizes(known, jobs.ids, jobs.res, jobs.profiles, problems)
        self._refuse(problems)
        if job["res"] < 1:
            raise DecisionError(f"job {shown(name)}: res is {job['res']}; expected a machine or more")
        return job

    def _plain(self, workload: str) -> Any:
        prefix = self.book.key(workload, "")
        return lambda name: name.removeprefix(prefix)

    def _add(self, workload: str, name: str, key: str, given: Any) -> None:
        problems = Problems()
        found = read_profiles({name: given}, "", problems)
        self._refuse(problems)
        profile = found[name]
        if isinstance(profile, Trace):
            raise DecisionError(f"profile '{shown(name)}' replays a trace, which a scheduler cannot register")
        own = renamed(profile, lambda member: self.book.key(workload, member))
        known: dict[str, Profile] = self.engine.workload.profiles  # type: ignore[assignment]
        for member in references(own):
            if member not in known and member != key:
                raise DecisionError(f"profile '{shown(name)}' names '{shown(member)}', which has not been registered")
        if key in {each for member in references(own) for each in reached({**known, key: own}, [member])}:
            raise DecisionError(f"profile '{shown(name)}' leads back to itself; expected no circle")
        parts = {each: known[each] for each in reached({**known, key: own}, [key]) if each != key}
        check_profiles(Known({**parts, key: own}, {**parts, key: own}), problems)
        self._refuse(problems)
        known[key] = own

    def _refuse_in_use(self, workload: str, name: str, key: str) -> None:
        """A name may mean something else only where profiles are forgotten after their last job."""
        if self.turn.terms.enable_profile_reuse:
            raise DecisionError(f"profile '{shown(name)}' of workload '{shown(workload)}' is there already")
        state = self.engine.core.fate["state"]
        for entry in self.book.entries:
            if key in reached(self.engine.workload.profiles, [entry.profile]) and state[entry.at] <= RUNNING:
                raise DecisionError(
                    f"profile '{shown(name)}' of workload '{shown(workload)}' is there already, and job {entry.full} "
                    "uses it"
                )

    def _refuse(self, problems: Problems) -> None:
        if problems.found:
            texts = [text for _, text in problems.found]
            raise DecisionError(texts[0] if len(texts) == 1 else "; ".join(texts[:3]))
