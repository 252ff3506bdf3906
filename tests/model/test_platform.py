import pytest

from unspool.errors import InputError, UnknownName
from unspool.model.platform import MachineGroup, MachineType, Partition, Platform

THIN = MachineGroup(MachineType("thin", 16), 3)
FAT = MachineGroup(MachineType("fat", 64), 2)


def test_cores_and_machines_are_counted_over_groups():
    platform = Platform((THIN, FAT))
    assert (platform.cores, platform.machine_count, platform.first_ids()) == (176, 5, (0, 3, 5))


def test_a_pool_is_one_number_of_cores():
    pool = Platform.pool(480)
    assert (pool.cores, pool.is_pool, pool.name) == (480, True, "480")


def test_a_partition_has_the_machines_of_its_groups():
    platform = Platform((THIN, FAT), (Partition("long", ("fat",)), Partition("all", ("thin", "fat"), default=True)))
    assert platform.ranges("long") == ((3, 4),)
    assert platform.ranges("all") == platform.ranges(None) == ((0, 2), (3, 4))


def test_without_a_default_a_job_without_partition_may_use_all_machines():
    assert Platform((THIN, FAT), (Partition("long", ("fat",)),)).ranges(None) == ((0, 2), (3, 4))


def test_an_unknown_partition_is_told_the_nearest():
    with pytest.raises(UnknownName, match="unknown partition 'lang'; did you mean 'long'"):
        Platform((FAT,), (Partition("long", ("fat",)),)).ranges("lang")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"groups": ()}, "platform: a platform needs at least one machine"),
        ({"groups": (THIN, THIN)}, "platform: a machine type stands twice; give each group a type name of its own"),
        ({"groups": (MachineGroup(MachineType("none", 0), 1),)},
         "platform: 1 machines of 0 cores; expected 1 or more of each"),
        ({"groups": (MachineGroup(MachineType("none", 1), 0),)},
         "platform: 0 machines of 1 cores; expected 1 or more of each"),
        ({"groups": (THIN,), "selection": "frist"}, "unknown machine selection 'frist'; did you mean 'first'?"),
        ({"groups": (THIN,), "partitions": (Partition("p", ("thim",)),)},
         "unknown machine type in partition 'p' 'thim'; did you mean 'thin'?"),
        ({"groups": (THIN,), "partitions": (Partition("p", (), True), Partition("q", (), True))},
         "platform: two partitions are the default; one can be"),
    ],
)  # fmt: skip
def test_a_platform_that_makes_no_sense_is_refused(arguments, sentence):
    with pytest.raises(InputError) as caught:
        Platform(**arguments)
    assert str(caught.value).startswith(sentence)
