"""What can be run from a form: each face has the schema of its file, some options of its verb, and its command."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from inspect import signature
from typing import Any

import msgspec
import tomli_w

from unspool.cli.batsim import batsim
from unspool.cli.cost import cost
from unspool.cli.dispatch import dispatch
from unspool.errors import InputError, UnknownName, shown
from unspool.faces.cloud.config import read_config
from unspool.faces.cloud.keys import FileKeys
from unspool.faces.cloud.template import commented_config
from unspool.faces.dispatch.names import NAMES
from unspool.platforms.documents import converted, read_document
from unspool.plugins import BUILT_IN, load_built_in
from unspool.studio.formparts import (
    Form,
    Prepared,
    as_options,
    as_yaml,
    checked_texts,
    config_of,
    listed,
    log_keys,
    log_words,
    policies_of,
    run_fields,
    uploaded,
)  # fmt: skip
from unspool.studio.schema import Field, comments_of, fields_of, parameters_help, settings_from, struct_of_verb, text_of
from unspool.studio.sweepface import prepare_sweep, sweep_fields
from unspool.studio.uploads import Upload, Uploads

__all__ = ["FACES", "Face", "Prepared", "faces_here", "values_of_configuration"]


@dataclass(frozen=True)
class Face:
    """A question that a log can be asked: its form, and how what the form says becomes a command."""

    name: str
    title: str
    question: str
    fields: Callable[[], list[Field]]
    prepare: Callable[[dict[str, Any], Form, Upload, Uploads], Prepared]
    uploads: Mapping[str, str]
    """Fields that are answered with an upload, and of which kind."""
    has_policies: bool = False
    main: tuple[str, ...] = ()
    """Keys that stand first, before all others, which are folded away."""
    section_help: Callable[[], Mapping[str, str]] = dict

    def prepared(self, form: Form, log: Upload, uploads: Uploads) -> Prepared:
        """The run that a form asks for; what is wrong with it is an `InputError`."""
        plain = {name: values[-1] for name, values in form.items() if values}
        title = shown(" ".join(plain.get("title", "").split()), 100)
        found = self.prepare(settings_from(self.fields(), plain), form, log, uploads)
        return replace(found, title=title or found.title)


def faces_here() -> dict[str, Face]:
    """The faces that this installation has: a sweep only where its verb is there."""
    from unspool.cli.app import app

    return {name: face for name, face in FACES.items() if name != "sweep" or "sweep" in app}


def _run(settings: dict[str, Any], form: Form, log: Upload, uploads: Uploads) -> Prepared:
    names = policies_of(form)
    settings |= checked_texts(settings, form, uploads) | {"policy": names, **log_keys(log)}
    if catalogue := uploaded("catalogue", form, uploads):
        settings["catalogue"] = catalogue
    config = config_of(settings)
    text = tomli_w.dumps(config.resolved())
    title = f"{listed(names)} on {log.name}"
    return Prepared(("run", "-c", "run.toml", "-o", "OUT"), {"run.toml": text}, "run.toml", title)


@cache
def _cost_fields() -> list[Field]:
    fields = fields_of(FileKeys)
    names = {part for field in fields for part in field.name.split(".")}
    help = comments_of(commented_config(), names)
    options = ("policy", "starttime", "endtime", "queues", "projects", "on_premises", "replicas")
    verb = fields_of(struct_of_verb(cost, options), parameters_help(cost))
    policies = tuple(sorted(BUILT_IN["schedulers"]))
    verb = [replace(field, kind="choice", choices=policies) if field.name == "policy" else field for field in verb]
    return [*(field for field in fields_of(FileKeys, help) if field.name != "version"), *verb]


@cache
def _cost_sections() -> dict[str, str]:
    return comments_of(commented_config(), FileKeys.__struct_fields__)


def _cost(settings: dict[str, Any], form: Form, log: Upload, uploads: Uploads) -> Prepared:
    keys = {name: settings[name] for name in FileKeys.__struct_fields__ if name in settings}
    converted(keys, FileKeys, "configuration")
    options = {name: value for name, value in settings.items() if name not in keys}
    words = [*log_words(log), *as_options(options)]
    if catalogue := uploaded("catalogue", form, uploads):
        words.append(f"--catalogue={catalogue}")
    files = {"config.yml": as_yaml(keys)}
    title = f"cost of {log.name}" + "".join(f", {name} {text_of(value)}" for name, value in list(options.items())[:2])
    return Prepared(("cost", log.path, "-c", "config.yml", *words, "-o", "OUT"), files, "config.yml", shown(title, 100))


def values_of_configuration(upload: Upload) -> dict[str, str]:
    """The values for the fields of cost that an uploaded configuration holds."""
    read_config(upload.path)
    content = read_document(upload.path, "configuration", "expected a .yml file")
    keys = msgspec.to_builtins(converted(content or {}, FileKeys, upload.name))
    found = {}
    for field in _cost_fields():
        value: Any = keys
        for part in field.name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if value is not None:
            found[field.name] = "\n".join(map(str, value)) if field.kind == "lines" else text_of(value)
    return found


@cache
def _dispatch_fields() -> list[Field]:
    help = {
        "workers": "How many, or a list of their attributes, as in [{active: true, limit: 30}, {active: true}].",
        "period": "Seconds between two calls of the strategy.",
        "metrics": "Names of metrics, one a line: " + ", ".join(NAMES["metrics"]) + ".",
    }
    components = [
        Field(key, "choice", "shortest-queue" if key == "dispatcher" else "", tuple(names), help=_KIND_HELP[key])
        for key, names in NAMES.items()
        if key != "metrics"
    ]
    verb = fields_of(struct_of_verb(dispatch, ("limit", "seed")), parameters_help(dispatch))
    return [
        Field("workers", "value", "4", help=help["workers"]), *components,
        Field("metrics", "lines", "delay", help=help["metrics"]),
        Field("period", "number", "60", least=0, help=help["period"]), *verb,
    ]  # fmt: skip


_KIND_HELP = {
    "dispatcher": "Gives each job to a worker.",
    "duration_predictor": "Says how long a job will run; some dispatchers need one.",
    "worker_selector": "Chooses the worker; the dispatcher called selector needs one.",
    "sa_strategy": "Changes workers from time to time.",
}


def _dispatch(settings: dict[str, Any], form: Form, log: Upload, uploads: Uploads) -> Prepared:
    refs = uploaded("refs", form, uploads)
    content: dict[str, Any] = {"workers": settings.get("workers", 4)}
    for key, names in NAMES.items():
        given = settings.get(key, {"dispatcher": "shortest-queue", "metrics": ["delay"]}.get(key))
        for name in [given] if isinstance(given, str) else given or ():
            if name not in names:
                raise InputError(f"{key}: {UnknownName(key, name, names)}")
            part = _component(key, name, has_refs=bool(refs))
            content[key] = [*content.get(key, ()), part] if key == "metrics" else part
    if "period" in settings:
        content["period"] = settings["period"]
    words = [*as_options({name: settings[name] for name in ("limit", "seed") if name in settings})]
    words += [f"--refs={refs}"] if refs else []
    title = f"{settings.get('dispatcher', 'shortest-queue')} on {log.name}"
    files = {"experiment.yaml": as_yaml(content)}
    arguments = ("dispatch", log.path, "-c", "experiment.yaml", *words, "-o", "OUT")
    return Prepared(arguments, files, "experiment.yaml", title)


def _component(key: str, name: str, *, has_refs: bool) -> Any:
    """A component as an experiment names it; those that take reference runs are given them."""
    takes_refs = "ref_jobs" in signature(load_built_in(NAMES[key][name])).parameters
    return {"class": name, "args": {"ref_jobs": "@@ref_jobs"}} if takes_refs and has_refs else name


_BATSIM = (
    "policy", "seed", "master_host", "host_order", "missing_routes", "mmax", "mmax_workload", "licences",
    "storage_mapping", "sharing", "smpi_network", "walltime_rule", "enable_compute_sharing", "message_delay",
)  # fmt: skip


@cache
def _batsim_fields() -> list[Field]:
    fields = fields_of(struct_of_verb(batsim, _BATSIM), parameters_help(batsim))
    names = tuple(sorted(BUILT_IN["schedulers"]))
    return [replace(field, kind="choice", choices=names) if field.name == "policy" else field for field in fields]


def _batsim(settings: dict[str, Any], form: Form, log: Upload, uploads: Uploads) -> Prepared:
    platform = uploaded("platform_file", form, uploads)
    if not platform:
        raise InputError("platform: a platform of SimGrid (XML) is needed; upload one, then choose it here")
    words = (f"--platform={platform}", f"--workload={log.path}", "--export=files/out", *as_options(settings))
    files = {"command.txt": " ".join(["unspool", "batsim", *words]) + "\n"}
    title = f"{settings.get('policy', 'fcfs')} on {log.name}"
    return Prepared(("batsim", *words, "-o", "OUT"), files, "command.txt", title)


FACES = {
    face.name: face
    for face in (
        Face(
            "run", "Schedulers", "Who waits, and for how long, under another scheduler or on another platform?",
            run_fields, _run, {"platform_file": "platform", "outages_file": "outages", "catalogue": "catalogue"},
            has_policies=True, main=("platform",),
        ),
        Face(
            "cost", "Cloud bill", "What would these jobs cost in the cloud, and what waiting would it save?",
            _cost_fields, _cost, {"catalogue": "catalogue"},
            main=(
                "ComputeClusterModel.Placement", "instance_mapping.region_name",
                "consumption_model_mapping.maximum_minutes_for_spot", "ComputeClusterModel.SpotPrice",
                "ComputeClusterModel.IdleTime", "ComputeClusterModel.BootTime",
            ),
            section_help=_cost_sections,
        ),
        Face(
            "dispatch", "Dispatchers", "Which worker should each job go to?",
            _dispatch_fields, _dispatch, {"refs": "refs"},
            main=("workers", "dispatcher", "duration_predictor", "metrics"),
        ),
        Face(
            "batsim", "Batsim", "How do jobs with profiles share processors and links?",
            _batsim_fields, _batsim, {"platform_file": "platform"}, main=("policy",),
        ),
        Face(
            "sweep", "Sweep", "Which of many set-ups is best?",
            sweep_fields, prepare_sweep, {"platform_file": "platform", "outages_file": "outages"},
            has_policies=True, main=("platforms", "scale_load", "replicas"),
        ),
    )
}  # fmt: skip
"""The faces by name, in the order in which they are shown."""
