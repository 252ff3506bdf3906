"""The settings of a run: from a file, from `--set`, from options; the last one wins."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from unspool.cli.output import note
from unspool.errors import InputError, UnknownName
from unspool.platforms.cluster import is_spec
from unspool.platforms.documents import read_toml
from unspool.trust import vet

__all__ = ["RunConfig", "assigned", "read_config", "vet_policies"]


_MAP = re.compile(r"([:,]map=)([^,]+)")  # the file that an option of a format names
_Seed = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class RunConfig(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What `run.toml` holds. A policy may be one name or a list."""

    workload: str | None = None
    platform: str | int | None = None
    catalogue: str | None = None
    missing_routes: Literal["refuse", "free"] | None = None
    policy: str | list[str] | None = None
    seed: _Seed = 0
    selection: str | None = None
    kill_at_walltime: bool = False
    outages: str | None = None
    on_loss: str = "requeue"
    energy: bool = False
    format: str | None = None
    columns: list[str] = []

    def policies(self, default: str = "easy") -> list[str]:
        """The policies as given, or the one that is meant where none is."""
        given = default if self.policy is None else self.policy
        names = [given] if isinstance(given, str) else given
        if not names:
            raise InputError("policy: the list is empty; name one scheduler or more")
        return names

    def column_map(self) -> dict[str, str] | None:
        """Our column = the file's."""
        pairs = [text.partition("=") for text in self.columns]
        for text, (ours, equals, theirs) in zip(self.columns, pairs, strict=True):
            if not (ours and equals and theirs):
                raise InputError(f"--columns {text}: expected our column = the file's, as in run_time=duration")
        return {ours: theirs for ours, _, theirs in pairs} or None

    def resolved(self) -> dict[str, Any]:
        """The settings that are set, with files by their whole path, so that they mean the same in any folder."""
        told = {name: value for name, value in msgspec.structs.asdict(self).items() if value not in (None, [])}
        if self.workload is not None:
            told["workload"] = os.path.abspath(self.workload)
        if self.catalogue is not None:
            told["catalogue"] = os.path.abspath(self.catalogue)
        if self.format is not None:
            told["format"] = _MAP.sub(lambda option: f"{option[1]}{os.path.abspath(option[2])}", self.format)
        if self.outages is not None and "=" not in self.outages:
            told["outages"] = os.path.abspath(self.outages)
        if isinstance(self.platform, str) and not is_spec(self.platform):
            told["platform"] = os.path.abspath(self.platform)
        return told


def read_config(path: Path | None, assignments: list[str], given: dict[str, Any]) -> RunConfig:
    """Put the settings together."""
    settings = _from_file(path) if path is not None else {}
    for key, value in (assigned(text, "--set", "seed=1") for text in assignments):
        if key not in RunConfig.__struct_fields__:
            raise UnknownName("setting", key, RunConfig.__struct_fields__)
        settings[key] = value
    settings.update((name, value) for name, value in given.items() if value is not None)
    try:
        return msgspec.convert(settings, RunConfig)
    except msgspec.ValidationError as error:
        raise InputError(_plain(str(error), f"{path}: " if path else "")) from error


def vet_policies(
    settings: RunConfig, names: Iterable[str], path: Path | None, given: Collection[str], *, untrusted: bool
) -> None:
    """Tell what policies load that the file names, or refuse it; those that are `given` are of the command line."""
    where = None if path is None or settings.policy is None or "policy" in given else str(path)
    for name in names:
        vet("schedulers", name, where, untrusted=untrusted, note=note)


def _from_file(path: Path) -> dict[str, Any]:
    settings = read_toml(path)
    for key in settings:
        if key not in RunConfig.__struct_fields__:
            raise InputError(f"{path}: {UnknownName('setting', key, RunConfig.__struct_fields__)}")
    return settings


def assigned(text: str, option: str, example: str) -> tuple[str, Any]:
    """The key and the value that the text after an option names: a value of TOML, or else the text as it stands."""
    key, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"{option} {text}: expected KEY=VALUE, as in {example}")
    try:
        return key.strip(), tomllib.loads(f"value = {value}")["value"]
    except (ValueError, RecursionError):
        return key.strip(), value


def _plain(message: str, where: str) -> str:
    """What msgspec says, in the words of the file: `Expected `int`, got `str` - at `$.seed``."""
    what, _, key = message.replace("`", "").replace(" | null", "").partition(" - at $.")
    return f"{where}setting {key.partition('[')[0]}: {what[:1].lower()}{what[1:]}"
