"""Results side by side: their figures, and what differs between them, job by job."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from unspool.analysis.bootstrap import LEAST_BLOCKS
from unspool.analysis.groups import COLUMNS
from unspool.analysis.paired import DIFFERENCES, EQUAL, MEASURES, Pairs, differences
from unspool.errors import InputError, UnknownName, shown
from unspool.metrics.fairness import fairness
from unspool.results.result import Result
from unspool.results.store import load_all
from unspool.units import counted, format_duration, parse_part

__all__ = ["Comparison", "compare", "compared_jobs", "named_results"]

_SETTINGS = ("seed", "kill_at_walltime", "selection")


@dataclass(frozen=True, eq=False)
class Comparison:
    """What differs between results, each against one of them, the baseline.

    `results` has one row a result, `pairs` one for each result but the baseline, `differences` one for each of
    those, each measure, and all jobs or a group of them. `notes` say what makes the comparison less than fair.
    """

    baseline: str
    by: str | None
    confidence: float
    seed: int
    warm_up_s: float
    cool_down_s: float
    results: pl.DataFrame
    pairs: pl.DataFrame
    differences: pl.DataFrame
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """All of it in lists and dictionaries, as `unspool compare --json` prints it."""
        told = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {
            name: value.to_dicts() if isinstance(value, pl.DataFrame) else list(value) if name == "notes" else value
            for name, value in told.items()
        }

    def _repr_html_(self) -> str:
        return self.differences._repr_html_()


def compare(
    results: Mapping[str, Result] | Sequence[Result] | str | os.PathLike[str],
    baseline: str | None = None,
    *,
    by: str | None = None,
    warm_up: str | float = 0.0,
    cool_down: str | float = 0.0,
    confidence: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """Compare results job by job with one of them, with confidence intervals.

    The results are a list, a dictionary of names and results, or a folder that `unspool run -o` wrote for several
    policies. The baseline is the first unless named. Jobs submitted in the first `warm_up` and in the last
    `cool_down` of the log, a duration or a percentage, are left out. `by` adds a row for each group of jobs: user,
    group, project, queue, partition, application or size.

    An interval says how much the figure would vary over other stretches of the same log, with the same users on the
    same machine; it says nothing of other logs.
    """
    if not 0.5 <= confidence <= 0.999:
        raise InputError(f"a confidence of {confidence:g}; expected 0.5 to 0.999, such as 0.95")
    named = named_results(results)
    if len(named) < 2:
        raise InputError(f"only one result, under {next(iter(named), 'no policy')}; a comparison needs two or more")
    first = next(iter(named)) if baseline is None else baseline
    if first not in named:
        raise UnknownName("baseline", first, named)
    begin, end, span_s = _span(named.values())
    warm_up_s, cool_down_s = parse_part(warm_up, span_s), parse_part(cool_down, span_s)
    jobs = compared_jobs(named, warm_up_s, cool_down_s)
    if not any(map(len, jobs.values())):
        cut = f"a warm-up of {format_duration(warm_up_s)} and a cool-down of {format_duration(cool_down_s)}"
        raise InputError(f"no job is left after {cut}: jobs were submitted over {format_duration(span_s)}; cut less")
    notes = [text for name, result in named.items() if name != first for text in _unlike(named[first], result, name)]
    rows, tables = [], []
    for name in named:
        if name != first:
            pairs, told = _paired(name, first, jobs, named, seed)
            notes += told
            rows.append(_pair_row(pairs, len(jobs[first]), len(jobs[name])))
            tables.append(differences(pairs, by, confidence))
    facts = [_result_row(name, named[name], jobs[name], begin + warm_up_s, end - cool_down_s) for name in named]
    return Comparison(
        first, by, confidence, seed, warm_up_s, cool_down_s,
        results=pl.DataFrame(facts, infer_schema_length=None),
        pairs=pl.DataFrame(rows),
        differences=pl.concat(tables) if tables else pl.DataFrame(schema=DIFFERENCES),
        notes=tuple(notes),
    )  # fmt: skip


def named_results(results: Mapping[str, Result] | Sequence[Result] | str | os.PathLike[str]) -> dict[str, Result]:
    """Results by name: as given, by policy, or by policy and platform."""
    if isinstance(results, Mapping):
        return dict(results)
    several = list(results) if isinstance(results, Sequence) and not isinstance(results, str) else load_all(results)
    for names in ([one.policy for one in several], [f"{one.policy} on {one.platform.name}" for one in several]):
        if len(set(names)) == len(names):
            return dict(zip(names, several, strict=True))
    raise InputError("two results have the same policy and platform; give a dictionary of names and results")


def compared_jobs(results: Mapping[str, Result], warm_up_s: float, cool_down_s: float) -> dict[str, pl.DataFrame]:
    """The jobs of each result without those submitted in the first or the last so many seconds of the log."""
    begin, end, _ = _span(results.values())
    window = pl.col("submit_time").is_between(begin + warm_up_s, end - cool_down_s)
    return {name: result.jobs.filter(window) for name, result in results.items()}


def _span(results: Iterable[Result]) -> tuple[float, float, float]:
    """First and last submission of any job in any result, and the time between."""
    submitted = [result.jobs["submit_time"] for result in results if len(result.jobs)]
    if not submitted:
        raise InputError("no job ran in any of the results; there is nothing to compare")
    begin = min(float(times.min()) for times in submitted)  # type: ignore[arg-type]
    end = max(float(times.max()) for times in submitted)  # type: ignore[arg-type]
    return begin, end, end - begin


def _unlike(base: Result, other: Result, name: str) -> list[str]:
    """In what, but for the policy, two runs differ."""
    told = []
    if base.workload != other.workload:
        told.append(f"{name} is of another log: {shown(other.workload)}, not {shown(base.workload)}")
    if base.platform != other.platform:
        here, there = (f"{shown(one.platform.name)} ({counted(one.platform.cores, 'core')})" for one in (base, other))
        told.append(f"{name} is on another platform: {there}, not {here}")
    for setting in _SETTINGS:
        mine, theirs = base.config.get(setting), other.config.get(setting)
        if mine is not None and theirs is not None and mine != theirs:
            told.append(f"{name} has another {setting}: {theirs}, not {mine}")
    return told


def _paired(
    name: str, first: str, jobs: Mapping[str, pl.DataFrame], named: Mapping[str, Result], seed: int
) -> tuple[Pairs, list[str]]:
    """The jobs of two results that ran in both, and what is to be said of them and of the others."""
    kept = [column for column in COLUMNS if column in jobs[first].columns]
    base = jobs[first].select("job_id", "submit_time", "cores", "run_time", *MEASURES, *kept)
    other = jobs[name].select("job_id", "submit_time", "cores", "run_time", *MEASURES)
    both = base.join(other, on="job_id", suffix="_other", maintain_order="left")
    if not len(both):
        here, there = (f"{one} ({counted(len(jobs[one]))} of {shown(named[one].workload)})" for one in (first, name))
        raise InputError(f"{here} and {there} have no job in common; compare results of the same log")
    told = []
    for here, there in ((first, name), (name, first)):
        alone = jobs[here].join(jobs[there], on="job_id", how="anti")
        if len(alone):
            rejected = len(alone.join(named[there].rejected, on="job_id", how="semi"))
            told.append(
                f"{len(alone):,} of {len(jobs[here]):,} jobs that ran under {here} have no partner under {there} "
                f"({rejected:,} rejected there): they are in no difference"
            )
    for column, what in (("submit_time", "submit time"), ("cores", "number of cores"), ("run_time", "run time")):
        unlike = int(((both[f"{column}_other"] - both[column]).abs() > EQUAL).sum())
        if unlike:
            told.append(f"{unlike:,} of {len(both):,} jobs have another {what} under {name} than under {first}")
    pairs = Pairs.of(name, both, seed)
    if pairs.draws.blocks < LEAST_BLOCKS:
        told.append(
            f"{name}: no intervals: {len(both):,} jobs make up {pairs.draws.blocks:.0f} blocks of jobs that are alike, "
            f"and {LEAST_BLOCKS} are needed; compare a longer log"
        )
    elif pairs.is_capped:
        told.append(
            f"{name}: neighbouring jobs are alike for longer than a block of {pairs.block_jobs:,.0f} jobs: its "
            "intervals are too narrow; compare a longer log, or see whether the queue grows without end"
        )
    return pairs, told


def _pair_row(pairs: Pairs, in_baseline: int, in_other: int) -> dict[str, Any]:
    submitted = pairs.jobs["submit_time"]
    span_s = float(submitted.max()) - float(submitted.min())  # type: ignore[arg-type]
    return {
        "policy": pairs.policy,
        "jobs": len(pairs.jobs),
        "only_in_baseline": in_baseline - len(pairs.jobs),
        "only_in_policy": in_other - len(pairs.jobs),
        "blocks": int(pairs.draws.blocks),
        "block_jobs": pairs.block_jobs,
        "block_s": span_s / pairs.draws.blocks,
        "is_capped": pairs.is_capped,
    }


def _result_row(name: str, result: Result, jobs: pl.DataFrame, begin: float, end: float) -> dict[str, Any]:
    return {
        "policy": name,
        "workload": result.workload,
        "platform": result.platform.name,
        "jobs": len(jobs),
        "warm_up_jobs": int((result.jobs["submit_time"] < begin).sum()),
        "cool_down_jobs": int((result.jobs["submit_time"] > end).sum()),
        "rejected": result.counts["rejected"],
        **{f"mean_{name}": jobs[name].mean() for name in MEASURES},
        "jain_index_of_users": fairness(jobs, result.platform).get("jain_index_of_users"),
    }
