import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool.cli.config import RunConfig
from unspool.errors import InputError
from unspool.faces.cloud.config import read_config
from unspool.faces.cloud.keys import FileKeys
from unspool.studio.faces import FACES, values_of_configuration
from unspool.studio.schema import Field, fields_of, settings_from, text_of
from unspool.studio.uploads import Upload, Uploads, _safe
from unspool.studio.workers import Workers


@pytest.fixture
def uploads(tmp_path):
    return Uploads(tmp_path, 1 << 20, Workers(1, None))


def keys_of(struct, section=""):
    for field in msgspec.structs.fields(struct):
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            yield from keys_of(field.type, f"{section}{field.encode_name}.")
        else:
            yield section + field.encode_name


def test_the_form_of_a_bill_has_every_key_of_its_file_and_says_what_most_mean():
    fields = FACES["cost"].fields()
    assert {field.name for field in fields} >= set(keys_of(FileKeys)) - {"version"}
    assert [field.name for field in fields if not field.help and not field.section.endswith("InstanceTypes")] == [
        "instance_mapping.range_maximum",
        "instance_mapping.runtime_ranges_minutes",
        "consumption_model_mapping.ec2_savings_plan_payment_option",
        "consumption_model_mapping.compute_savings_plan_duration",
        "consumption_model_mapping.compute_savings_plan_payment_option",
        "Jobs.QueueRegExps",
        "Jobs.ProjectRegExps",
        "ComputeClusterModel.MaxVcpus",
    ]  # fmt: skip  (each stands below one that says it for both)


def test_the_form_of_a_run_has_the_settings_of_its_file():
    elsewhere = {"workload", "catalogue", "policy", "format", "columns"}  # the log, an upload, and ticks of their own
    assert {field.name for field in FACES["run"].fields()} == set(keys_of(RunConfig)) - elsewhere
    assert all(field.help for field in FACES["run"].fields())


def test_a_form_as_it_is_shown_means_the_defaults(uploads):
    log = uploads.get("sample-campus")
    for face in ("cost", "dispatch"):
        fields = FACES[face].fields()
        assert settings_from(fields, {field.name: field.default for field in fields}) == {}
    prepared = FACES["cost"].prepared({}, log, uploads)
    assert prepared.files == {"config.yml": "{}\n"}


def test_an_uploaded_configuration_fills_the_form_and_comes_out_again(uploads, tmp_path):
    file = tmp_path / "config.yml"
    file.write_text(
        "instance_mapping: {region_name: us-east-1, instance_prefix_list: [c7i, m7i]}\n"
        "ComputeClusterModel: {IdleTime: '7:30', ShareInstances: true, MaxInstances: {c7i: 2, all: 9}, Burst: "
        "{after: '10:00'}, OnPremises: [{Cores: 8, Count: 2, HourlyCost: 1}]}\n"
    )
    values = values_of_configuration(Upload("x", "configuration", "config.yml", str(file), 1))
    assert values["ComputeClusterModel.IdleTime"] == "7:30"
    assert values["instance_mapping.instance_prefix_list"] == "c7i\nm7i"
    form = {name: [value] for name, value in values.items()}
    prepared = FACES["cost"].prepared(form, uploads.get("sample-campus"), uploads)
    again = tmp_path / "again.yml"
    again.write_text(prepared.files["config.yml"])
    first, second = (read_config(path) for path in (file, again))
    for name in ("region", "idle_s", "rules", "shares", "max_instances", "burst_after_s", "on_premises", "spot_rules"):
        assert getattr(first, name) == getattr(second, name), name


def test_options_with_a_dash_before_them_stay_values(uploads):
    prepared = FACES["cost"].prepared({"queues": ["--init"]}, uploads.get("sample-campus"), uploads)
    assert "--queues=--init" in prepared.arguments


def test_components_of_an_experiment_are_only_those_that_ship(uploads):
    with pytest.raises(InputError, match="metrics: unknown metrics 'os"):
        FACES["dispatch"].prepared({"metrics": ["os.system"]}, uploads.get("sample-recodex"), uploads)


class Small(msgspec.Struct):
    whole: int = 3
    part: float = 0.5
    flag: bool = False
    text: str | int = "a"
    lines: list[str] = []
    limits: int | dict[str, int] | None = None


@given(
    st.builds(
        Small, st.integers(0, 10**12), st.floats(0, 1e6), st.booleans(),
        st.text("abc:0123456789", min_size=1).filter(str.strip),
        st.lists(st.text("ab", min_size=1)),
        st.none() | st.integers(0, 99) | st.dictionaries(st.text("ab", min_size=1), st.integers(0, 9), min_size=1),
    )
)  # fmt: skip
def test_what_a_form_shows_is_what_it_gives_back(small):
    fields = fields_of(Small)
    form = {
        field.name: "\n".join(small.lines) if field.kind == "lines" else text_of(getattr(small, field.name))
        for field in fields
    }
    form["flag"] = "true" if small.flag else ""
    assert msgspec.convert(settings_from(fields, form), Small) == small


@given(st.text())
def test_the_name_of_a_file_is_made_safe(name):
    safe = _safe(name)
    assert 1 <= len(safe) <= 80
    assert not set(safe) & set('/\\\0:*?"<>|\n ')
    assert safe[0] not in ".-_"


def test_a_field_that_is_far_too_long_is_refused():
    with pytest.raises(InputError, match="at most 4,000"):
        settings_from([Field("x", "text")], {"x": "y" * 4001})


NINE = [f"&{name} [{','.join([f'*{before}'] * 9)}]" for before, name in zip(" abcde", "abcdef", strict=True)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("&a [*a]", "an alias of what it is inside"),
        ("&a {x: *a}", "an alias of what it is inside"),
        (f"[{', '.join(NINE).replace('* ', 'x')}]", "more than 4,000 parts"),
    ],
)
def test_a_value_that_refers_to_itself_over_and_over_is_refused(text, reason):
    with pytest.raises(InputError, match=reason):
        settings_from([Field("workers", "value")], {"workers": text})
