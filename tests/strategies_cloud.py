"""Clouds and workloads for Hypothesis: few types, machines and jobs, round times and prices, so that ties abound."""

import math

import polars as pl
from hypothesis import strategies as st

from unspool.model.cloud import BILLINGS, Cloud, InstanceType, Limits, SpotRule
from unspool.model.platform import MachineGroup, MachineType, Platform
from unspool.model.prices import Price
from unspool.model.workload import Workload

FAMILIES = ("f", "g")
SPOT_RULES = (
    (),
    (SpotRule(),),
    (SpotRule(),),
    (SpotRule(max_minutes=2.0),),
    (SpotRule(queue="fast"), SpotRule(max_minutes=1.5, project="p", max_cores=3)),
)

_PRICES = st.sampled_from([0.25, 0.5, 0.5, 1.0, 0.06])  # of a core


@st.composite
def instance_types(draw):
    """Two to five types; names, sizes and prices each in an order of their own, many of them equal."""
    names = draw(st.permutations([f"{family}.{size}" for family in FAMILIES for size in "stuv"]))
    types = [_instance_type(draw, name) for name in names[1 : draw(st.integers(2, 5))]]
    price = draw(st.sampled_from([2.0, 4.0]))
    large = InstanceType(names[0], names[0][0], 8, 8, 64, 2, "", 0.0, price, price / 2)  # takes most jobs
    return tuple(draw(st.permutations([*types, large])))


def _instance_type(draw, name):
    cores = draw(st.sampled_from([1, 2, 2, 3, 4, 8]))
    price = draw(st.one_of(_PRICES.map(lambda usd: usd * cores), st.just(1.0)))
    is_spot_only = draw(st.integers(0, 9)) == 9
    return InstanceType(
        name,
        name[0],
        cores,
        cores * draw(st.sampled_from([1, 2])),
        memory_bytes=cores * draw(st.sampled_from([2, 4, 8])),
        gpus=draw(st.sampled_from([0, 0, 1])),
        on_demand_usd_per_hour=None if is_spot_only else price,
        spot_usd_per_hour=draw(st.sampled_from([price / 2, price / 2, 0.125])) if is_spot_only or draw(_MOST) else None,
    )


_MOST = st.sampled_from([True, True, True, False])


@st.composite
def fixed_groups(draw, types):
    """Up to two reserved instances and two servers on premises."""
    groups = []
    for kind in draw(st.lists(st.sampled_from(types), max_size=2, unique=True)):
        price = draw(_PRICES) * kind.cores
        size = (kind.cores, kind.memory_bytes, kind.gpus, {}, (Price(price, "reserved"),))
        groups.append(MachineGroup(MachineType(kind.name, *size, plan="reserved"), 1))
    for at in range(draw(st.integers(0, 2))):
        cores = draw(st.integers(1, 4))
        price = draw(st.one_of(_PRICES.map(lambda usd, cores=cores: usd * cores), st.just(0.0)))
        size = (cores, draw(st.sampled_from([0, 4, 16])), draw(st.integers(0, 1)), {}, (Price(price, "on-premises"),))
        server = MachineType(f"rack{at}", *size, billing=draw(st.sampled_from(BILLINGS)))
        groups.append(MachineGroup(server, draw(st.integers(1, 2))))
    return tuple(draw(st.permutations(groups)))


def limits(least, most):
    """No limit, one in all, one for a family, or both."""
    number = st.integers(least, most)
    in_all = st.one_of(st.none(), st.none(), st.none(), number)
    of_family = st.dictionaries(st.sampled_from(FAMILIES), number, min_size=1)
    return st.builds(Limits, in_all, st.one_of(st.just({}), st.just({}), st.just({}), of_family))


@st.composite
def cloud_platforms(draw):
    """Any of the rules of a cloud with any other."""
    types = draw(instance_types())
    rules = {
        "boot_s": st.sampled_from([0.0, 30.0, 60.0, 120.0]),
        "idle_s": st.sampled_from([0.0, 30.0, 60.0, 300.0]),
        "frequency_s": st.sampled_from([0.0, 0.0, 30.0, 60.0, 120.0]),
        "shares": st.booleans(),
        "spot_rules": st.sampled_from(SPOT_RULES),
        "reclaim_per_minute": st.sampled_from([0.0, 0.1, 0.4]),
        "max_spot_retries": st.sampled_from([0, 1, 3]),
        "checkpoint_s": st.sampled_from([None, None, 30.0, 60.0]),
        "minimum_billed_s": st.sampled_from([0.0, 60.0]),
        "burst_after_s": st.sampled_from([0.0] * 6 + [60.0, 90.0, math.inf]),
        "max_instances": limits(0, 6),
        "max_vcpus": limits(4, 30),
    }
    groups = draw(fixed_groups(types))
    return Platform(groups, cloud=Cloud(types, **{name: draw(values) for name, values in rules.items()}))


@st.composite
def cloud_workloads(draw, most=25):
    """Jobs that come and end together, on one to three hosts; some are too large for any machine."""
    job = st.fixed_dictionaries(
        {
            "submit_time": st.integers(0, 10).map(lambda times: 30.0 * times),
            "run_time": st.one_of(st.sampled_from([0.0, 30.0, 60.0, 90.0, 300.0]), st.integers(1, 200).map(float)),
            "cores": st.sampled_from([1, 1, 1, 2, 2, 3, 4, 5, 8, 12]),
            "machines": st.sampled_from([None, 1, 1, 2, 3]),
            "memory_bytes": st.sampled_from([None, 0, 1, 2, 4, 6, 8, 24]),
            "gpus": st.sampled_from([None] * 8 + [0, 1, 2]),
            "queue": st.sampled_from([None, "fast", "slow"]),
            "project": st.sampled_from([None, "p", "q"]),
        }
    )
    count = draw(st.integers(1, most))
    rows = sorted(draw(st.lists(job, min_size=count, max_size=count)), key=lambda row: row["submit_time"])
    whole = dict.fromkeys(("cores", "machines", "memory_bytes", "gpus"), pl.Int64)
    table = pl.DataFrame(rows, schema_overrides={**whole, "queue": pl.String, "project": pl.String})
    table = table.with_columns(job_id=pl.Series([f"j{at}" for at in range(len(rows))]))
    return Workload.of(table, origin_unix_s=draw(st.sampled_from([0.0, 45.0, 3500.0, 1_640_995_170.0])))
