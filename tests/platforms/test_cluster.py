import json
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies_cloud import cloud_platforms

from unspool.errors import InputError, UnspoolError
from unspool.model.platform import MachineGroup, MachineType, Partition, Platform
from unspool.model.prices import Price
from unspool.platforms import read_platform
from unspool.platforms.cluster import describe

GIB = 2**30

YAML = """\
name: alpha
machines:
  - {type: thin, count: 64, cores: 16, memory: 64GiB}
  - {type: fat, count: 4, cores: 32, memory: 256GB, gpus: 4, consumables: {nvme: 2}, usd_per_hour: 3.5}
partitions:
  - {name: batch, machines: [thin], default: true}
  - {name: all, machines: [thin, fat]}
licences: {matlab: 10}
selection: best
"""
TOML = """\
name = "alpha"
licences = { matlab = 10 }
selection = "best"
machines = [
  { type = "thin", count = 64, cores = 16, memory = "64GiB" },
  { type = "fat", count = 4, cores = 32, memory = "256GB", gpus = 4, consumables = { nvme = 2 }, usd_per_hour = 3.5 },
]
partitions = [{ name = "batch", machines = ["thin"], default = true }, { name = "all", machines = ["thin", "fat"] }]
"""
JSON = """\
{"name": "alpha", "licences": {"matlab": 10}, "selection": "best", "machines": [
  {"type": "thin", "count": 64, "cores": 16, "memory": "64GiB"},
  {"type": "fat", "count": 4, "cores": 32, "memory": "256GB",
   "gpus": 4, "consumables": {"nvme": 2}, "usd_per_hour": 3.5}],
 "partitions": [{"name": "batch", "machines": ["thin"], "default": true}, {"name": "all", "machines": ["thin", "fat"]}]}
"""
ALPHA = Platform(
    (
        MachineGroup(MachineType("thin", 16, 64 * GIB), 64),
        MachineGroup(MachineType("fat", 32, 256_000_000_000, 4, {"nvme": 2}, (Price(3.5),)), 4),
    ),
    (Partition("batch", ("thin",), default=True), Partition("all", ("thin", "fat"))),
    {"matlab": 10},
    "best",
    name="alpha",
)


def written(tmp_path, text, name="cluster.yaml"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_a_number_is_a_pool_of_cores():
    assert read_platform("480") == Platform.pool(480)
    assert read_platform(" 480 ").name == "480"


def test_machines_times_cores_are_machines():
    platform = read_platform("128x16")
    assert platform.groups == (MachineGroup(MachineType("16c", 16), 128),)
    assert (platform.is_pool, platform.cores, platform.name) == (False, 2048, "128x16")


@pytest.mark.parametrize("text", ["128x16:64GiB:2gpu", "128x16:2gpu:64GiB", "128x16:2GPUs:64 GiB"])
def test_memory_and_gpus_of_a_machine_stand_in_any_order(text):
    assert read_platform(text).groups == (MachineGroup(MachineType("16c-64GiB-2gpu", 16, 64 * GIB, 2), 128),)


def test_groups_are_joined_by_a_plus():
    platform = read_platform("64x16:64GiB+4x32:256GiB:4gpu + 2x16:64GiB")
    assert [(g.machine.name, g.count) for g in platform.groups] == [
        ("16c-64GiB", 64),
        ("32c-256GiB-4gpu", 4),
        ("16c-64GiB#2", 2),
    ]


@pytest.mark.parametrize(("name", "text"), [("c.yaml", YAML), ("c.YML", YAML), ("c.toml", TOML), ("c.json", JSON)])
def test_a_file_says_the_same_in_every_format(tmp_path, name, text):
    path = written(tmp_path, text, name)
    assert read_platform(path) == ALPHA
    assert read_platform(str(path)) == ALPHA


def test_a_file_may_describe_a_pool(tmp_path):
    platform = read_platform(written(tmp_path, "{pool: 480, licences: {matlab: 3}}", "small.yaml"))
    assert (platform.cores, platform.is_pool, platform.licences, platform.name) == (480, True, {"matlab": 3}, "small")


def test_a_machine_without_a_type_is_called_by_what_it_has(tmp_path):
    platform = read_platform(written(tmp_path, "machines: [{cores: 4}, {cores: 8, memory: 1073741824}, {cores: 4}]"))
    assert [group.machine.name for group in platform.groups] == ["4c", "8c-1GiB", "4c#2"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0", "platform '0': a pool of this many cores; expected 1 to 1000000000000"),
        ("-5", "platform '-5': a pool of this many cores; expected 1 to 1000000000000"),
        ("9" * 5000, "a pool of this many cores"),
        ("0x16", "0 machines of 16 cores; expected 1 or more of each"),
        ("4x0", "4 machines of 0 cores; expected 1 or more of each"),
        ("4x-1", "4 machines of -1 cores"),
        ("10000001x1", "10000001 machines, 10000001 cores; expected 10000000 machines at most"),
        ("1x9999999999999", "1 machines, 9999999999999 cores"),
        ("4x16:64G", "'64G' is not a size such as 512, 64GB"),
        ("4x16:64GiB:1GiB", "gives memory twice"),
        ("4x16:2gpu:2gpu", "gives GPUs twice"),
        ("4x16+", "'' is no group of machines; expected a number of cores"),
        ("4x16x2", "'4x16x2' is no group of machines"),
        ("4x", "'4x' is no group of machines"),
    ],
)
def test_a_text_that_describes_no_platform_is_refused(text, message):
    with pytest.raises(InputError) as caught:
        read_platform(text)
    assert message in str(caught.value)


def test_neither_a_text_nor_a_file_shows_the_three_forms(tmp_path):
    forms = (
        "expected a number of cores (480), machines x cores (128x16:64GiB:2gpu), or a .yaml, .toml, .json or .xml file"
    )
    with pytest.raises(InputError) as caught:
        read_platform("lots")
    assert str(caught.value) == f"'lots' is no platform; {forms}"
    with pytest.raises(InputError) as caught:
        read_platform(f"{tmp_path}/absent.yaml")
    assert str(caught.value) == f"{tmp_path}/absent.yaml: there is no such file; {forms}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "machins: []",
            ": unknown key 'machins'; did you mean 'machines'? Known: cloud, licences, machines, name, network, p",
        ),
        ("machines: [{cors: 4}]", " in machines[0]: unknown key 'cors'; did you mean 'cores'? Known: "),
        ("{pool: 4, partitions: [{name: a, nodes: []}]}", " in partitions[0]: unknown key 'nodes'"),
        ("machines: [{count: 2}]", ": key machines[0]: object missing required field `cores`"),
        ("machines: [{cores: four}]", ": key machines[0].cores: expected `int`, got `str`"),
        ("machines: [{cores: 0}]", ": key machines[0].cores: expected `int` >= 1"),
        ("machines: [{cores: 4, gpus: -1}]", ": key machines[0].gpus: expected `int` >= 0"),
        ("machines: [{cores: 4, memory: 4 lots}]", ": '4 lots' is not a size such as 512, 64GB"),
        ("machines: [{cores: 4, usd_per_hour: -1}]", ": key machines[0].usd_per_hour: expected"),
        ("machines: [{cores: 4, count: 20000000}]", ": 20000000 machines, 80000000 cores; expected 10000000"),
        ("machines: [{cores: 4, type: a}, {cores: 2, type: a}]", "a machine type stands twice"),
        ("{machines: [{cores: 4}], selection: bets}", ": unknown machine selection 'bets'; did you mean 'best'?"),
        ("{machines: [{cores: 4, type: a}], partitions: [{name: p, machines: [b]}]}", "in partition 'p' 'b'"),
        (
            "{machines: [{cores: 4}], partitions: [{name: p, machines: []}, {name: p, machines: []}]}",
            "'p' stands twice",
        ),
        ("{pool: 4, machines: [{cores: 4}]}", ": expected either pool (a number of cores) or machines (a list)"),
        ("{}", ": expected either pool (a number of cores) or machines (a list)"),
        ("{pool: 0}", ": a pool of this many cores; expected 1 to"),
        ("{pool: 4, partitions: [{name: p, machines: []}]}", ": a pool has no partitions; list machines instead"),
        ("", ": is empty; expected the keys name, pool, machines, "),
        (
            "{machines: [{type: a, cores: 4}], partitions: [{name: 1, machines: [a]}]}",
            ": key partitions[0].name: expected `str`, got `int`; put it in quotes",
        ),
        ("a: [", ": not valid YAML: "),
    ],
)
def test_a_file_that_describes_no_platform_is_refused_with_file_and_key(tmp_path, text, message):
    path = written(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read_platform(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("usd", [".nan", ".inf"])
def test_a_price_must_be_a_number(tmp_path, usd):
    with pytest.raises(InputError, match="usd_per_hour"):
        read_platform(written(tmp_path, f"machines: [{{cores: 4, usd_per_hour: {usd}}}]"))


def test_a_folder_and_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    for name in ("folder.yaml", "bytes.json"):
        with pytest.raises(InputError, match="cannot be read as text"):
            read_platform(tmp_path / name)


@given(st.text(max_size=40) | st.text(alphabet="0123456789x:+-GiBgpu ", max_size=40))
def test_whatever_a_text_says_it_is_read_or_refused(text):
    with suppress(UnspoolError):
        assert read_platform(text).cores > 0


@st.composite
def mutated(draw, valid):
    text = valid
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(text)))
        text = (
            text[:at] + draw(st.text(max_size=3) | st.sampled_from("[]{}:-0\n")) + text[at + draw(st.integers(0, 3)) :]
        )
    return text


@settings(max_examples=150)
@given(st.sampled_from([("c.yaml", YAML), ("c.toml", TOML), ("c.json", JSON)]), st.data())
def test_whatever_a_file_holds_it_is_read_or_refused(tmp_path_factory, valid, data):
    path = tmp_path_factory.mktemp("fuzz") / valid[0]
    path.write_text(data.draw(mutated(valid[1]) | st.text(max_size=60)), encoding="utf-8", errors="surrogatepass")
    with suppress(UnspoolError):
        assert read_platform(path).cores > 0


@given(cloud_platforms())
def test_described_cloud_is_read_as_the_same(platform):
    with TemporaryDirectory() as folder:
        file = Path(folder, "cloud.json")
        file.write_text(json.dumps(describe(platform), allow_nan=False))
        assert read_platform(file) == platform


def test_cloud_in_a_file_of_our_own_keys(tmp_path):
    file = tmp_path / "cloud.yaml"
    file.write_text("""\
cloud:
  types: [{name: a.small, cores: 2, memory_bytes: 4294967296, on_demand_usd_per_hour: 0.1}]
  boot_s: 60
""")
    platform = read_platform(file)
    assert (platform.cloud.boot_s, platform.cloud.types[0].family, platform.cloud.types[0].vcpus) == (60.0, "a", 2)
    file.write_text("pool: 4\ncloud: {types: []}\n")
    with pytest.raises(InputError, match="a pool has no machines that a cloud could add to"):
        read_platform(file)
    file.write_text("cloud: {types: [], bootS: 1}\n")
    with pytest.raises(InputError, match="did you mean 'boot_s'"):
        read_platform(file)
