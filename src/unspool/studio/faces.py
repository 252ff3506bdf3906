"""What can be run from a form: each face has the schema of its file, some options of its verb, and its command."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from inspect import signature
from io import StringIO
from typing import Any

import msgspec
import tomli_w
from ruamel.yaml import YAML

from unspool.cli.batsim import batsim
from unspool.cli.config import RunConfig
from unspool.cli.cost import cost
from unspool.cli.dispatch import dispatch
from unspool.cli.run import run
from unspool.errors import InputError, UnknownName, shown
from unspool.faces.cloud.config import read_config
from unspool.faces.cloud.keys import FileKeys
from unspool.faces.cloud.template import commented_config
from unspool.faces.dispatch.names import NAMES
from unspool.model.outages import Failures
from unspool.model.platform import SELECTIONS
from unspool.platforms.cluster import is_spec, parse_cluster
from unspool.platforms.documents import converted, read_document
from unspool.plugins import available, build, load
from unspool.studio.schema import Field, comments_of, fields_of, parameters_help, settings_from, struct_of_verb, text_of
from unspool.studio.uploads import Upload, Uploads

__all__ = ["FACES", "Face", "Prepared", "faces_here", "values_of_configuration"]

Form = Mapping[str, list[str]]

_POLICY = re.compile(r"[\w-]+(:\w+=[\w.()=,-]+)?")  # a second colon would name a module of somebody's


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


_TEXT_HELP = {
    "platform": "Where it runs: 480 (a pool of cores), 128x16 (machines x cores), 128x16:64GiB:2gpu; a file is "
    "uploaded on the first page. Without it, as many cores as the log says that its machine had.",
    "outages": "When machines are down: mtbf=30d,repair=4h draws failures for each (shape=0.7 makes them come in "
    "clusters); a list of them is uploaded on the first page.",
}  # what the command line says also speaks of paths, which are not taken here


@cache
def _run_fields() -> list[Field]:
    help = parameters_help(run)
    help |= {"selection": help["select"], **_TEXT_HELP}
    left_out = ("workload", "catalogue", "policy", "format", "columns")
    fields = [field for field in fields_of(RunConfig, help) if field.name not in left_out]
    return [
        replace(field, kind="choice", choices=SELECTIONS) if field.name == "selection" else field for field in fields
    ]


def _run(settings: dict[str, Any], form: Form, log: Upload, uploads: Uploads) -> Prepared:
    names = _policies(form)
    settings |= _checked_texts(settings, form, uploads) | {"policy": names, **_log_keys(log)}
    if catalogue := _uploaded("catalogue", form, uploads):
        settings["catalogue"] = catalogue
    config = _converted(settings, RunConfig)
    text = tomli_w.dumps(config.resolved())
    title = f"{_listed(names)} on {log.name}"
    return Prepared(("run", "-c", "run.toml", "-o", "OUT"), {"run.toml": text}, "run.toml", title)


def _checked_texts(settings: Mapping[str, Any], form: Form, uploads: Uploads) -> dict[str, Any]:
    """Platform and outages: a text that describes them, never one that names a file, or an upload."""
    found: dict[str, Any] = {}
    for name in ("platform", "outages"):
        text, file = str(settings.get(name, "")), _uploaded(f"{name}_file", form, uploads)
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


@cache
def _cost_fields() -> list[Field]:
    fields = fields_of(FileKeys)
    names = {part for field in fields for part in field.name.split(".")}
    help = comments_of(commented_config(), names)
    options = ("policy", "starttime", "endtime", "queues", "projects", "on_premises", "replicas")
    verb = fields_of(struct_of_verb(cost, options), parameters_help(cost))
    policies = tuple(sorted(available("schedulers")))
    verb = [replace(field, kind="choice", choices=policies) if field.name == "policy" else field for field in verb]
    return [*(field for field in fields_of(FileKeys, help) if field.name != "version"), *verb]


@cache
def _cost_sections() -> dict[str, str]:
    return comments_of(commented_config(), FileKeys.__struct_fields__)


def _cost(settings: dict[str, Any], form: Form, log: Upload, uploads: Uploads) -> Prepared:
    keys = {name: settings[name] for name in FileKeys.__struct_fields__ if name in settings}
    converted(keys, FileKeys, "configuration")
    options = {name: value for name, value in settings.items() if name not in keys}
    words = [*_log_words(log), *_options(options)]
    if catalogue := _uploaded("catalogue", form, uploads):
        words.append(f"--catalogue={catalogue}")
    files = {"config.yml": _yaml(keys)}
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
    refs = _uploaded("refs", form, uploads)
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
    words = [*_options({name: settings[name] for name in ("limit", "seed") if name in settings})]
    words += [f"--refs={refs}"] if refs else []
    title = f"{settings.get('dispatcher', 'shortest-queue')} on {log.name}"
    files = {"experiment.yaml": _yaml(content)}
    arguments = ("dispatch", log.path, "-c", "experiment.yaml", *words, "-o", "OUT")
    return Prepared(arguments, files, "experiment.yaml", title)


def _component(key: str, name: str, *, has_refs: bool) -> Any:
    """A component as an experiment names it; those that take reference runs are given them."""
    takes_refs = "ref_jobs" in signature(load(NAMES[key][name])).parameters
    return {"class": name, "args": {"ref_jobs": "@@ref_jobs"}} if takes_refs and has_refs else name


_BATSIM = (
    "policy", "seed", "master_host", "host_order", "mmax", "mmax_workload", "licences", "storage_mapping", "sharing",
    "smpi_network", "walltime_rule", "enable_compute_sharing", "message_delay",
)  # fmt: skip


@cache
def _batsim_fields() -> list[Field]:
    fields = fields_of(struct_of_verb(batsim, _BATSIM), parameters_help(batsim))
    names = tuple(sorted(available("schedulers")))
    return [replace(field, kind="choice", choices=names) if field.name == "policy" else field for field in fields]


def _batsim(settings: dict[str, Any], form: Form, log: Upload, uploads: Uploads) -> Prepared:
    platform = _uploaded("platform_file", form, uploads)
    if not platform:
        raise InputError("platform: a platform of SimGrid (XML) is needed; upload one, then choose it here")
    words = (f"--platform={platform}", f"--workload={log.path}", "--export=files/out", *_options(settings))
    files = {"command.txt": " ".join(["unspool", "batsim", *words]) + "\n"}
    title = f"{settings.get('policy', 'fcfs')} on {log.name}"
    return Prepared(("batsim", *words, "-o", "OUT"), files, "command.txt", title)


@cache
def _sweep_fields() -> list[Field]:
    return [
        Field("platforms", "lines", help="One a line: a number of cores (480), or machines x cores (128x16)."),
        Field("replicas", "number", "1", least=1, most=1000, is_whole=True, help="Seeds for each point."),
        *(field for field in _run_fields() if field.name in ("selection", "kill_at_walltime", "outages", "on_loss")),
    ]


def _sweep(settings: dict[str, Any], form: Form, log: Upload, uploads: Uploads) -> Prepared:
    names = _policies(form)
    platforms = settings.pop("platforms", [])
    for text in platforms:
        _checked_texts({"platform": text}, {}, uploads)
    replicas = settings.pop("replicas", 1)
    settings |= _checked_texts(settings, form, uploads) | _log_keys(log)
    _converted(settings, RunConfig)
    grid: dict[str, Any] = {"run": settings, "grid": {"policy": names}}
    if platforms:
        grid["grid"]["platform"] = platforms
    if replicas > 1:
        grid["replicas"] = replicas
    files = {"grid.toml": tomli_w.dumps(grid)}
    title = f"sweep of {_listed(names)} on {log.name}"
    return Prepared(("sweep", "grid.toml", "-o", "OUT"), files, "grid.toml", title, "OUT/sweep.html")


def _policies(form: Form) -> list[str]:
    """The policies that are ticked and those that are typed: by name, with parameters, never a module of somebody's."""
    more = [line.strip() for line in "\n".join(form.get("policy_more", [])).splitlines() if line.strip()]
    names = list(dict.fromkeys([*form.get("policy", []), *more]))
    known = available("schedulers")
    for name in names:
        if _POLICY.fullmatch(name) is None:
            raise InputError(f"policy '{shown(name)}': expected a name, or a name with parameters as in easy:order=sjf")
        if name.partition(":")[0] not in known:
            raise UnknownName("policy", name, known)
        build("schedulers", name)
    if not names:
        raise InputError("policy: none is chosen; tick one, or more to compare them")
    return names


def _uploaded(field: str, form: Form, uploads: Uploads) -> str | None:
    """The path of the upload that a field names by id."""
    id = (form.get(field) or [""])[-1]
    if not id:
        return None
    kind = field.removesuffix("_file")
    found = uploads.get(id, kind)
    if found is None:
        raise InputError(f"{kind}: the file that was chosen is no longer there; choose another")
    return found.path


def _log_keys(log: Upload) -> dict[str, Any]:
    keys = {"workload": log.path, "format": log.format, "columns": list(log.columns)}
    return {name: value for name, value in keys.items() if value}


def _log_words(log: Upload) -> list[str]:
    return [*([f"--format={log.format}"] if log.format else []), *(f"--columns={pair}" for pair in log.columns)]


def _options(given: Mapping[str, Any]) -> list[str]:
    """Options as words; a value is joined to its name, so that one with a dash before it is no option itself."""
    words = []
    for name, value in given.items():
        option = f"--{name.replace('_', '-')}"
        words += [option] if value is True else [] if value is False else [f"{option}={value}"]
    return words


def _converted(settings: dict[str, Any], struct: type[RunConfig]) -> RunConfig:
    return converted(settings, struct, "settings")


def _yaml(content: Any) -> str:
    text = StringIO()
    YAML(typ="safe", pure=True).dump(content, text) if content else text.write("{}\n")
    return text.getvalue()


def _listed(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


FACES = {
    face.name: face
    for face in (
        Face(
            "run", "Schedulers", "Who waits, and for how long, under another scheduler or on another platform?",
            _run_fields, _run, {"platform_file": "platform", "outages_file": "outages", "catalogue": "catalogue"},
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
            _sweep_fields, _sweep, {"outages_file": "outages"}, has_policies=True, main=("platforms", "replicas"),
        ),
    )
}  # fmt: skip
"""The faces by name, in the order in which they are shown."""
