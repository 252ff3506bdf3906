"""The reference pages name what the code has: no more, no less, in the same order."""

import io
import re
from contextlib import redirect_stdout
from dataclasses import fields
from pathlib import Path

import msgspec
import polars as pl
import pytest
from rich.console import Console

import unspool
from unspool.analysis.audit.laws import LAWS, POLICY_LAWS
from unspool.analysis.conformity import _RULES
from unspool.analysis.reasons import REASONS
from unspool.cli.app import app, run_command
from unspool.cli.config import RunConfig
from unspool.conform import KINDS
from unspool.conform.schedulers import _BATSCHED, _PYBATSIM
from unspool.faces.batsim.outputs import outputs_of, write_outputs, write_schedule_trace
from unspool.faces.cloud import keys
from unspool.model.platform import SELECTIONS
from unspool.model.prices import Price
from unspool.model.profile import Delay
from unspool.model.workload import COLUMNS
from unspool.platforms.catalogue.tables import LAYOUTS
from unspool.platforms.clouds import CloudKeys
from unspool.platforms.cluster import _Cluster, _Machines, _Partition
from unspool.platforms.networks import StarKeys, StorageKeys, SwitchKeys
from unspool.platforms.simgrid.grammar import ATTRIBUTES, ROUTINGS, SYNONYMS
from unspool.plugins import BUILT_IN
from unspool.policies.orders import Multifactor
from unspool.results.result import NETWORK_USE, TABLES
from unspool.results.store import write_result
from unspool.simulation.decisions import _BY_KIND
from unspool.sweeps.settings import RunSettings
from unspool.sweeps.work import DIGEST, ELAPSED, ERROR, HOST, KEY, SCHEDULE
from unspool.workloads import transform
from unspool.workloads.generators import lublin
from unspool.workloads.likeness import ASPECTS
from unspool.workloads.recodex import JOB_COLUMNS, REF_COLUMNS, SHARED, JobLog, RefLog
from unspool.workloads.slurm import FIELDS, POSITIONAL
from unspool.workloads.slurm_records import STATES
from unspool.workloads.swf import _FIELDS

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
CELL = re.compile(r"`([^`]*)`")


def section(page, heading=None):
    """The text under a heading of a page, or all of it."""
    text = (REFERENCE / f"{page}.md").read_text(encoding="utf-8")
    if heading is None:
        return text
    start = text.index(f"\n## {heading}\n") + 1
    end = text.find("\n## ", start)
    return text[start : end if end >= 0 else None]


def tables(page, heading=None):
    """The tables under a heading: for each its rows as lists of cells, the first row and the rule left out."""
    parts = re.findall(r"^\|.*\n\|[ -|]*\|\n((?:\|.*\n)*)", section(page, heading), re.MULTILINE)
    return [[[cell.strip() for cell in row.strip("|").split(" | ")] for row in part.splitlines()] for part in parts]


def names(table, column=0):
    """The names in backticks in a column of a table, those of one cell in their order."""
    return [name for row in table for name in CELL.findall(row[column])]


@pytest.fixture(scope="module")
def full_result():
    """A result with every column and figure that there can be."""
    text = {name: ["x", "x"] for name in ("user", "group", "project", "queue", "partition", "application", "profile")}
    times = {"submit_time": [0, 0], "run_time": [9, 9], "walltime": [9, 9], "cores": [1, 1]}
    log = unspool.Workload.of(pl.DataFrame({"job_id": ["a", "b"], **times, **text}), profiles={"x": Delay(9.0)})
    machine = unspool.MachineType("m", 2, prices=(Price(1.0),))
    platform = unspool.Platform((unspool.MachineGroup(machine, 1),))

    def annotating(view):
        return [decision for job in view.queue for decision in (unspool.Start(job), unspool.Annotate(job, "here"))]

    return unspool.run(log, platform, annotating)


def test_workload_columns_are_those_of_the_model():
    found = [[name.strip("`"), *cells] for name, *cells in tables("workload-columns")[0]]
    assert found == [[c.name, str(c.dtype), c.unit, c.meaning, c.empty] for c in COLUMNS]


def test_swf_fields_are_those_of_the_reader():
    table = tables("swf", "The 18 fields")[0]
    assert [row[0] for row in table] == [str(at) for at in range(1, 19)]
    assert names(table, 2) == list(_FIELDS)


def test_slurm_fields_and_states_are_those_of_the_reader():
    table = tables("slurm", "Fields")[0]
    assert sorted(names(table)) == sorted(name for fields in FIELDS.values() for name in fields)
    assert set(names(table, 1)) <= {column.name for column in COLUMNS}
    told = [name for name in names([row[:1] for row in tables("slurm", "States")[0]]) if " " not in name]
    assert sorted(told) == sorted(STATES)
    assert ",".join(POSITIONAL) in section("slurm", "Get the log").replace("\n", "")


@pytest.mark.parametrize(
    ("heading", "at", "columns", "log"),
    [("Jobs", 2, JOB_COLUMNS, JobLog), ("Reference runs", 1, REF_COLUMNS, RefLog)],
)
def test_columns_of_recodex_are_those_of_the_reader(heading, at, columns, log):
    table = tables("recodex", heading)[0]
    assert names([row[:1] for row in table]) == list(columns)
    ids = {name for name, value in vars(log).items() if name[0] != "_" and not callable(value)}
    told = ids | {field.name for field in fields(log)}
    told -= {"name", "path", "limit", "line", "ids", "texts", "notes"}
    assert sorted(names([row[at : at + 1] for row in table])) == sorted(told)
    if log is JobLog:
        assert set(names([row[1:2] for row in table])) - {"#2", "#3", "--kill-at-walltime"} <= {
            column.name for column in COLUMNS
        }
        assert all(f"`{name}`" in section("recodex", "In Python") for name in SHARED)


@pytest.mark.parametrize("name", TABLES)
def test_result_columns_are_those_of_a_result(name, full_result):
    table = getattr(full_result, name)
    told = tables("results", name)[0]
    assert names(told) == table.columns
    assert [row[1] for row in told] == [dtype.base_type().__name__ for dtype in table.dtypes]


def test_summary_keys_are_those_of_a_result(full_result):
    table = tables("results", "summary.json")[0]
    assert names(table) == list(full_result.summary)
    timing = next(row for row in table if row[0] == "`timing`")
    assert CELL.findall(timing[2]) == list(full_result.timing)


def test_tables_of_a_comparison_are_those_of_the_code(full_result):
    found = unspool.compare({"one": full_result, "two": full_result})
    assert names(tables("comparison")[0]) == list(found.to_dict())
    frames = {name: getattr(found, name) for name in ("results", "pairs", "differences")}
    for name, table in {**frames, "series": full_result.series(2)}.items():
        told = tables("comparison", name)[0]
        assert names(told) == table.columns
        assert [row[1] for row in told] == [dtype.base_type().__name__ for dtype in table.dtypes]


def test_columns_and_figures_of_a_forecast_are_those_of_the_code():
    told = unspool.forecast(lublin(300, cores=64, load=0.9), 64, replicas=2)
    assert names(tables("forecast", "Columns")[0]) == told.jobs.columns
    assert names(tables("forecast", "Summary")[0]) == list(told.summary)


def test_files_are_those_of_a_result_folder(full_result, tmp_path):
    write_result(full_result, tmp_path / "result")
    written = {path.name for path in (tmp_path / "result").iterdir()}
    assert set(names(tables("results")[0])) == written | {
        "comparison.json", "network_use.parquet", "power.parquet", "report.html", "switches.parquet",
    }  # fmt: skip


def test_columns_of_network_use_are_those_of_the_code():
    told = tables("results", "network_use")[0]
    assert {row[0].strip("`"): row[1] for row in told} == {
        name: kind.__name__ for name, kind in NETWORK_USE.items()
    }  # fmt: skip


@pytest.mark.parametrize(
    ("verb", "at"),
    [
        ("run", 0), ("cost", 0), ("dispatch", 0), ("check", 0), ("compare", 0), ("forecast", 0), ("convert", 0),
        ("conform", 0), ("report", 0), ("inspect", 0), ("validate", 0), ("plugins", 0), ("why", 0), ("diff", 0),
        ("generate lublin", 0), ("generate poisson", 1), ("generate fitted", 2), ("generate recodex", 3),
        ("catalogue list", 0), ("catalogue show", 1), ("catalogue update", 2), ("cost commit", 1), ("cost compare", 2),
        ("sweep", 0), ("sweep best", 1), ("studio", 0),
    ],
)  # fmt: skip
def test_options_are_those_of_the_help(verb, at):
    output = io.StringIO()
    with redirect_stdout(output):
        assert run_command([*verb.split(), "--help"]) == 0
    offered = re.findall(r"^│ (?:\*? +)?(--[\w-]+)(?: (-\w)\b)?", output.getvalue(), re.MULTILINE)
    told = tables("command-line", f"unspool {verb.split()[0]}")
    assert (names(told[at]) if told else []) == [name for option in offered for name in option if name]


def test_options_of_batsim_are_those_of_its_help():
    output = io.StringIO()
    app.help_print(["batsim"], console=Console(file=output, width=200))  # its names are long
    offered = re.findall(r"^│ (--[\w-]+)(?: (-\w)\b)?", output.getvalue(), re.MULTILINE)
    told, outside, refused = tables("command-line", "unspool batsim")
    assert names(told) + names(outside) + names(refused) == [name for option in offered for name in option if name]


def test_columns_of_batsims_files_are_those_of_the_code(tmp_path):
    log = unspool.Workload.of(pl.DataFrame({"job_id": ["a"], "submit_time": [0], "run_time": [9], "cores": [1]}))
    outputs = outputs_of(log, unspool.run(log, "2x1", "fcfs"))
    result = unspool.run(log, "2x1", "fcfs")
    written = [
        *write_outputs(outputs, str(tmp_path / "PREFIX")),
        write_schedule_trace(result, str(tmp_path / "PREFIX")),
    ]
    with_energy = ["PREFIX_consumed_energy.csv", "PREFIX_pstate_changes.csv"]  # (docs/reference/energy.md)
    assert sorted(names(tables("batsim-outputs")[0])) == sorted([*(path.name for path in written), *with_energy])
    assert names(tables("batsim-outputs", "Jobs")[0]) == outputs.jobs.columns
    assert names(tables("batsim-outputs", "Schedule")[0]) == list(outputs.schedule)
    assert names(tables("batsim-outputs", "Machine states")[0]) == outputs.machine_states.columns
    assert names(tables("batsim-outputs", "What is put right")[0]) == list(outputs.corrected)


def test_verbs_are_those_of_the_help():
    output = io.StringIO()
    with redirect_stdout(output):
        run_command(["--help"])
    verbs = re.findall(r"^│ ([a-z]+) ", output.getvalue(), re.MULTILINE)
    assert sorted(re.findall(r"^## unspool (\w+)$", section("command-line"), re.MULTILINE)) == sorted(verbs)


def test_laws_are_those_of_the_audit():
    told, _, of_policies = tables("laws")
    assert [(row[0].strip("`"), row[1]) for row in told] == list(LAWS.items())
    every = [name for name, (_, _, of, _) in zip(LAWS, told, strict=True) if of == "every schedule"]
    for policy, laws in POLICY_LAWS.items():
        found = [law for law, (_, _, of, _) in zip(LAWS, told, strict=True) if policy in of.split(", ")]
        assert sorted(found) == sorted(laws)
    assert not set(every) & set().union(*POLICY_LAWS.values())
    assert [(row[0].strip("`"), row[1]) for row in of_policies] == [(law, says) for law, (says, _) in _RULES.items()]


def test_kinds_of_cases_and_schedulers_of_batsim_are_those_of_the_code():
    assert names(tables("conform")[0]) == list(KINDS)
    told = {}
    for theirs, ours, compared in tables("conform", "batsim")[-1]:
        for name in CELL.findall(theirs):
            told[name.removesuffix(".py")] = (ours.strip("`"), compared == "job by job")
    made = {name: maker({}) for name, maker in {**_BATSCHED, **_PYBATSIM}.items()}
    assert told == {
        name: (each.policy if isinstance(each.policy, str) else "the same", each.is_same) for name, each in made.items()
    }


def test_reasons_and_fields_of_explanations_are_those_of_the_code():
    assert [(row[0].strip("`"), row[1]) for row in tables("explanations", "Reasons")[0]] == list(REASONS.items())
    log = unspool.Workload.of(
        pl.DataFrame({"job_id": ["a", "b"], "submit_time": [0, 0], "run_time": [9, 9], "cores": [1, 1]})
    )
    result = unspool.run(log, 1, "fcfs")
    told = unspool.why(result, "b", workload=log).as_dict()
    of_job, of_interval = tables("explanations", "Of a job")
    assert (names([row[:1] for row in of_job]), names([row[:1] for row in of_interval])) == (
        list(told), list(told["intervals"][0]),
    )  # fmt: skip
    found = unspool.diff(result, result).as_dict()
    assert names([row[:1] for row in tables("explanations", "Of two runs")[0]]) == list(found)


def test_settings_are_those_of_the_config():
    sentence = next(line for line in section("command-line").splitlines() if line.startswith("The settings of a file"))
    told = CELL.findall(sentence.partition(": ")[2].partition(". ")[0])
    assert [name for name in told if "=" not in name] == list(RunConfig.__struct_fields__)


def test_aspects_of_likeness_and_their_limits_are_those_of_the_code():
    table = tables("generators", "Likeness")[0]
    assert [(name, float(row[-1])) for row, name in zip(table, names(table), strict=True)] == [
        (aspect.name, aspect.limit) for aspect in ASPECTS
    ]


def test_transforms_are_those_of_the_module():
    told = [name.partition("(")[0] for name in names([row[:1] for row in tables("generators", "Transforms")[0]])]
    assert sorted(told) == sorted(transform.__all__)


def test_policies_are_the_built_in_ones():
    assert names(tables("policies")[0]) == list(BUILT_IN["schedulers"])


def test_figures_are_the_built_in_ones():
    assert names(tables("report", "Figures from Python")[0]) == list(BUILT_IN["figures"])


def test_orders_and_predictors_are_the_built_in_ones():
    assert names(tables("policies", "Orders")[0]) == list(BUILT_IN["orders"])
    assert names(tables("policies", "Predictors")[0]) == list(BUILT_IN["predictors"])


def test_parameters_of_multifactor_are_those_of_the_class():
    told = [(name, float(row[1])) for row in tables("policies", "Orders")[1] for name in CELL.findall(row[0])]
    assert told == [(field.name, field.default) for field in fields(Multifactor)]


def test_keys_of_a_platform_are_those_of_the_reader():
    top, machines, partitions = tables("platform", "As a file")
    assert names(top) == list(_Cluster.__struct_fields__)
    assert sorted(names(machines)) == sorted(_Machines.__struct_fields__)
    assert names(partitions) == list(_Partition.__struct_fields__)


def test_keys_of_a_network_are_those_of_the_reader():
    network, storage, switches = tables("platform", "A network")
    assert sorted(names(network)) == sorted(StarKeys.__struct_fields__)
    assert sorted(names(switches)) == sorted(SwitchKeys.__struct_fields__)
    assert names(storage) == list(StorageKeys.__struct_fields__)


def test_elements_of_simgrid_are_those_of_the_reader():
    told = {}
    for row in tables("simgrid-platform", "Elements")[0]:
        tag, *older = CELL.findall(row[0])
        told[tag] = [name for name in CELL.findall(row[1]) if name not in ("4", "4.1")]
        assert [SYNONYMS[name] for name in older] == [tag] * len(older)
    assert {tag: sorted(known) for tag, known in told.items()} == {
        tag: sorted(known.split()) for tag, known in ATTRIBUTES.items()
    }
    routings = [name for row in tables("simgrid-platform", "Routes")[0] for name in CELL.findall(row[0])]
    assert sorted(name for name in routings if "<" not in name) == sorted(ROUTINGS)


def test_keys_of_a_cloud_are_those_of_the_reader():
    top, types, rules = tables("platform", "A cloud")
    assert names(top) == list(CloudKeys.__struct_fields__)
    fields_of = {field.encode_name: field.type for field in msgspec.inspect.type_info(CloudKeys).fields}
    for told, key in ((types, "types"), (rules, "spot_rules")):
        assert names(told) == [field.encode_name for field in fields_of[key].item_type.fields]


@pytest.mark.parametrize(
    ("heading", "at", "struct"),
    [
        ("instance_mapping", 0, keys.InstanceKeys),
        ("consumption_model_mapping", 0, keys.ConsumptionKeys),
        ("Jobs", 0, keys.JobKeys),
        ("ComputeClusterModel", 0, keys.ClusterKeys),
        ("ComputeClusterModel", 1, keys.SpotRuleKeys),
        ("ComputeClusterModel", 2, keys.OnPremisesKeys),
        ("Disks and licences", 0, keys.DiskKeys),
        ("Disks and licences", 1, keys.LicenceKeys),
    ],
)
def test_keys_of_a_cost_configuration_are_those_of_the_reader(heading, at, struct):
    told = names([row[:1] for row in tables("cost-configuration", heading)[at]])
    assert sorted(told) == sorted(struct.__struct_fields__)


def test_columns_of_a_catalogue_are_those_of_the_reader():
    table = tables("catalogue", "As CSV")[0]
    ours, theirs = LAYOUTS
    assert (names(table, 0)[: len(ours.columns)], names(table, 1)[: len(theirs.columns)]) == (
        list(ours.columns), list(theirs.columns),
    )  # fmt: skip


def test_selections_are_those_of_the_model():
    assert names(tables("platform", "Which machines are tried first")[0]) == list(SELECTIONS)


def test_public_names_are_those_of_the_package():
    assert sorted(names(tables("python")[0])) == sorted(unspool.__all__)


def test_decisions_are_those_of_the_engine():
    told = [name.partition("(")[0] for name in names(tables("python", "Decisions")[0])]
    assert told == [kind.__name__ for kind in _BY_KIND]


@pytest.mark.parametrize(("at", "kind"), [(0, unspool.View), (1, unspool.Job)])
def test_members_of_view_and_job_are_those_of_the_class(at, kind):
    told = {name.partition("(")[0].partition("[")[0] for name in names(tables("python", "The view")[at])}
    has = {name for name in dir(kind) if not name.startswith("_")} - {"index"}
    assert told - {"job"} == has


def test_keys_of_a_grid_and_columns_of_its_dataset_are_those_of_the_code():
    _, keys, _ = tables("sweep", "The grid file")
    assert names(keys) == list(RunSettings.__struct_fields__)
    _, columns = tables("sweep", "The folder")
    assert names(columns) == [KEY, ERROR, SCHEDULE, DIGEST, ELAPSED, HOST]
