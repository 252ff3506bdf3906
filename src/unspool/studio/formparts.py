"""What the forms of all faces share: policies and uploads that they name, texts that are checked, options as words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from io import StringIO
from typing import Any

from ruamel.yaml import YAML

from unspool.cli.config import RunConfig
from unspool.cli.run import run
from unspool.errors import InputError, UnknownName, shown
from unspool.model.outages import Failures
from unspool.model.platform import SELECTIONS
from unspool.platforms.cluster import is_spec, parse_cluster
from unspool.platforms.documents import converted
from unspool.plugins import BUILT_IN, build_built_in
from unspool.studio.schema import Field, fields_of, parameters_help
from unspool.studio.uploads import Upload, Uploads

__all__ = [
    "Form", "Prepared", "as_options", "as_yaml", "checked_texts", "config_of", "listed", "log_keys", "log_words",
    "policies_of", "run_fields", "uploaded",
]  # fmt: skip

Form = Mapping[str, list[str]]

_POLICY = re.compile(r"[\w-]+(:\w+=[\w.()=,-]+)?")


@dataclass(frozen=True)
class Prepared:
    """A run that may start: the words behind `unspool`, with OUT for the folder of results, and files to write first.

    `settings` is the one of these files that people may want; `page` is what is shown when it is done.
    """

    arguments: tuple[str, ...]
    files: Mapping[str, str]
    settings: str
    title: str
    page: str = "OUT/report.html"


_TEXT_HELP = {
    "platform": "Where it runs: 480 (a pool of cores), 128x16 (machines x cores), 128x16:64GiB:2gpu; a file is "
    "uploaded on the first page. Without it, as many cores as the log says that its machine had.",
    "outages": "When machines are down: mtbf=30d,repair=4h draws failures for each (shape=0.7 makes them come in "
    "clusters); a list of them is uploaded on the first page.",
}  # what the command line says also speaks of paths, which are not taken here


@cache
def run_fields() -> list[Field]:
    """The fields for the settings of `run.toml`."""
    help = parameters_help(run)
    help |= {"selection": help["select"], **_TEXT_HELP}
    left_out = ("workload", "catalogue", "policy", "format", "columns")
    fields = [field for field in fields_of(RunConfig, help) if field.name not in left_out]
    return [
        replace(field, kind="choice", choices=SELECTIONS) if field.name == "selection" else field for field in fields
    ]


def checked_texts(settings: Mapping[str, Any], form: Form, uploads: Uploads) -> dict[str, Any]:
    """Platform and outages: a text that describes them, never one that names a file, or an upload."""
    found: dict[str, Any] = {}
    for name in ("platform", "outages"):
        text, file = str(settings.get(name, "")), uploaded(f"{name}_file", form, uploads)
        if text and file:
            raise InputError(f"{name}: '{shown(text)}' and an uploaded file are both given; give one of them")
        if file:
            found[name] = file
    if "platform" in settings:
        text = str(settings["platform"])
        if not is_spec(text):
            raise InputError(
                f"platform: '{shown(text)}' is neither a number of cores (480) nor machines x cores (128x16:64GiB); "
                "upload a file to use one"
            )
        parse_cluster(text)
    if "outages" in settings:
        Failures.parse(str(settings["outages"]))
    return found


def policies_of(form: Form) -> list[str]:
    """The policies that are ticked and those that are typed: built-in names, with parameters."""
    more = [line.strip() for line in "\n".join(form.get("policy_more", [])).splitlines() if line.strip()]
    names = list(dict.fromkeys([*form.get("policy", []), *more]))
    known = BUILT_IN["schedulers"]
    for name in names:
        if _POLICY.fullmatch(name) is None:
            raise InputError(f"policy '{shown(name)}': expected a name, or a name with parameters as in easy:order=sjf")
        if name.partition(":")[0] not in known:
            raise UnknownName("policy", name, known)
        build_built_in("schedulers", name)
    if not names:
        raise InputError("policy: none is chosen; tick one, or more to compare them")
    return names


def uploaded(field: str, form: Form, uploads: Uploads) -> str | None:
    """The path of the upload that a field names by id."""
    id = (form.get(field) or [""])[-1]
    if not id:
        return None
    kind = field.removesuffix("_file")
    found = uploads.get(id, kind)
    if found is None:
        raise InputError(f"{kind}: the file that was chosen is no longer there; choose another")
    return found.path


def log_keys(log: Upload) -> dict[str, Any]:
    """The keys of a file of settings that say which log it is."""
    keys = {"workload": log.path, "format": log.format, "columns": list(log.columns)}
    return {name: value for name, value in keys.items() if value}


def log_words(log: Upload) -> list[str]:
    """The options that say how the log is read."""
    return [*([f"--format={log.format}"] if log.format else []), *(f"--columns={pair}" for pair in log.columns)]


def as_options(given: Mapping[str, Any]) -> list[str]:
    """Options as words; a value is joined to its name, so that one with a dash before it is no option itself."""
    words = []
    for name, value in given.items():
        option = f"--{name.replace('_', '-')}"
        words += [option] if value is True else [] if value is False else [f"{option}={value}"]
    return words


def config_of(settings: dict[str, Any]) -> RunConfig:
    """The settings of a run, checked."""
    return converted(settings, RunConfig, "settings")


def as_yaml(content: Any) -> str:
    """A document of YAML; one of nothing is an empty map."""
    text = StringIO()
    YAML(typ="safe", pure=True).dump(content, text) if content else text.write("{}\n")
    return text.getvalue()


def listed(names: list[str]) -> str:
    """The first three names, and how many more there are."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
