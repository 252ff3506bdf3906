"""The settings of one run of a sweep: those of `run.toml` and of `unspool cost`, and how the log is changed first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from unspool.errors import InputError, UnknownName

__all__ = [
    "LOG_KEYS",
    "MOST_SEED",
    "OWN_COLUMNS",
    "PARAMETERS",
    "PARTED",
    "RunSettings",
    "column_of",
    "parameters_of",
    "policy_of",
    "refuse_unknown",
    "settings_of",
]

PARTED = ("set", "parameters")
"""Keys with keys of their own: of the configuration of `unspool cost`, and of the policy."""

PARAMETERS = "parameters."
"""Keys of a run that are parameters of its policy begin so."""

OWN_COLUMNS = ("key", "error", "elapsed_s", "host", "schedule", "workload_digest")
"""Columns of the dataset that are neither settings nor figures."""

LOG_KEYS = ("workload", "format", "columns", "window", "where", "thin", "scale_load", "scale_run_times")
"""What says which jobs are run; these keys change slowest, so that a worker reads a log once."""

MOST_SEED = 2**63 - 1
_Seed = Annotated[int, msgspec.Meta(ge=0, le=MOST_SEED)]
_OF_COST = ("set", "queues", "projects", "on_premises")
_OF_RUN = ("platform", "selection", "outages", "kill_at_walltime", "on_loss", "energy")


class RunSettings(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """One run. With `config` it is one of `unspool cost`, without it one of `unspool run`."""

    workload: str | None = None
    format: str | None = None
    columns: list[str] = []
    window: str | None = None
    where: str | None = None
    thin: float | None = None
    scale_load: float | None = None
    scale_run_times: float | None = None
    platform: str | int | None = None
    selection: str | None = None
    missing_routes: Literal["refuse", "free"] | None = None
    outages: str | None = None
    on_loss: str = "requeue"
    kill_at_walltime: bool = False
    energy: bool = False
    config: str | None = None
    catalogue: str | list[str] | None = None
    queues: str | None = None
    projects: str | None = None
    on_premises: bool = False
    policy: str | None = None
    seed: _Seed = 0
    set: dict[str, Any] = {}
    parameters: dict[str, str | int | float | bool | None] = {}

    def column_map(self) -> dict[str, str] | None:
        """Our column = the file's."""
        pairs = [text.partition("=") for text in self.columns]
        for text, (ours, equals, theirs) in zip(self.columns, pairs, strict=True):
            if not (ours and equals and theirs):
                raise InputError(f"columns: '{text}' is not understood; expected our column = the file's")
        return {ours: theirs for ours, _, theirs in pairs} or None


def settings_of(flat: Mapping[str, Any]) -> RunSettings:
    """The settings of keys such as `policy` and `set.IdleTime`, checked; None stands for a key that is left out."""
    nested: dict[str, Any] = {}
    for key, value in flat.items():
        whole, dot, part = key.partition(".")
        if dot:
            nested.setdefault(whole, {})[part] = value
        elif value is not None:
            nested[key] = value
    try:
        settings = msgspec.convert(nested, RunSettings)
    except msgspec.ValidationError as error:
        what, _, key = str(error).replace("`", "").replace(" | null", "").partition(" - at $.")
        raise InputError(f"key {key or '?'}: {what[:1].lower()}{what[1:]}") from error
    strange = _OF_RUN if settings.config is not None else _OF_COST
    for name in strange:
        if name in nested:
            other = "unspool run and takes none beside config" if settings.config is not None else "config"
            raise InputError(f"key {name}: belongs to {other}; leave one of them out")
    return settings


def refuse_unknown(key: str) -> None:
    """Refuse a key that no run has."""
    whole, dot, part = key.partition(".")
    if whole not in RunSettings.__struct_fields__:
        raise UnknownName("key of a grid", whole, RunSettings.__struct_fields__)
    if bool(dot and part) != (whole in PARTED):
        form = f"{whole}.NAME = …" if whole in PARTED else f"{whole} = …"
        raise InputError(f"key {key}: expected {form}")


def parameters_of(flat: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of the policy among the keys of a run, those that are set."""
    found = {key.removeprefix(PARAMETERS): value for key, value in flat.items() if key.startswith(PARAMETERS)}
    return {name: value for name, value in found.items() if value is not None}


def policy_of(settings: RunSettings, default: str) -> str:
    """The policy as text, with its parameters behind it; those that are None are left out.

    >>> policy_of(RunSettings(policy="easy:order=sjf", parameters={"predictor": "last-two"}), "fcfs")
    'easy:order=sjf,predictor=last-two'
    """
    text = settings.policy or default
    more = [f"{name}={_shown(value)}" for name, value in settings.parameters.items() if value is not None]
    if not more:
        return text
    return text + ("," if "=" in text.rpartition(":")[2] else ":") + ",".join(more)


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def column_of(key: str) -> str:
    """The column of a key in the dataset.

    >>> column_of("set.ComputeClusterModel.IdleTime"), column_of("parameters.order"), column_of("policy")
    ('IdleTime', 'order', 'policy')
    >>> column_of("parameters.seed")  # which is not the seed of the run
    'parameters.seed'
    """
    part = key.rpartition(".")[2]
    is_taken = part in OWN_COLUMNS or part in RunSettings.__struct_fields__
    return part if key.partition(".")[0] in PARTED and not is_taken else key
