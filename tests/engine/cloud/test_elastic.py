"""From a platform with a cloud to what can run there."""

import pytest
from tests.build import workload

from unspool.model.cloud import Cloud, InstanceType, Limits
from unspool.model.platform import Platform
from unspool.results.run import run


@pytest.mark.parametrize("limits", [{"max_instances": Limits(0)}, {"max_vcpus": Limits(1)}])
def test_a_job_that_only_limits_keep_out_is_rejected_with_the_limit_as_the_reason(limits):
    kind = InstanceType("c5.large", "c5", cores=4, vcpus=8, memory_bytes=2**33, on_demand_usd_per_hour=0.1)
    result = run(
        workload([(0.0, 60.0, 1, None)]),
        Platform((), name="cloud", cloud=Cloud((kind,), **limits)),
        "cheapest-fit",
        seed=0,
    )
    assert "limit" in result.rejected["reason"][0]
