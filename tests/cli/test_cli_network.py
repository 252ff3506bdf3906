"""Plain jobs on platforms that have a network: they run as on machines without one."""

import json

import pytest

from unspool.results.store import load

LOG = """; MaxProcs: 4
1 0 -1 100 2 -1 -1 2 100 -1 1 1 1 1 1 1 -1 -1
2 10 -1 50 3 -1 -1 3 60 -1 1 1 1 1 1 1 -1 -1
3 20 -1 30 2 -1 -1 2 30 -1 1 1 1 1 1 1 -1 -1
"""
XML = """<platform version="4.1">
  <config id="General"><prop id="network/model" value="CM02"/></config>
  <zone id="z" routing="Full">
    <cluster id="c" prefix="n" suffix="" radical="0-3" speed="1Gf" core="8" bw="1GBps" lat="1us" bb_bw="1GBps"/>
    <zone id="y" routing="Full">
      <host id="master_host" speed="1Gf"/>
      <host id="disk" speed="0"><prop id="role" value="storage"/></host>
    </zone>
  </zone>
</platform>
"""
STAR = (
    "{machines: [{type: n, count: 4, cores: 1, speed: 1Gf}], network: {bandwidth: 1GBps, backbone: {bandwidth: 1GBps}}}"
)


@pytest.mark.parametrize(("name", "text"), [("p.xml", XML), ("p.yaml", STAR)])
def test_plain_jobs_run_as_on_machines_without_a_network(unspool, write, tmp_path, name, text):
    log, platform = write("log.swf", LOG), write(name, text)
    with_network = unspool("run", log, "-p", platform, "--json", "-o", "out")
    without = unspool("run", log, "-p", "4x1", "--json")
    assert (with_network.code, without.code) == (0, 0)
    figures, others = (json.loads(said.out) for said in (with_network, without))
    differing = {key for key in figures if figures[key] != others.get(key)}
    assert differing <= {"platform", "timing"}
    assert figures["makespan_s"] == 150.0  # the first ends at 100, and only then is there room for the second
    kept = load(tmp_path / "out").platform
    assert kept.network is not None
    assert kept.network.compute_count == 4
    assert unspool("check", "out", log).code == 0


def test_config_of_simgrid_is_left_out_with_a_note_on_stderr(unspool, write):
    said = unspool("run", write("log.swf", LOG), "-p", write("p.xml", XML))
    assert said.code == 0
    assert "p.xml: <config> is for SimGrid and left out: network/model" in said.err


def test_network_is_inspected_and_validated(unspool, write):
    file = write("p.xml", XML)
    told = json.loads(unspool("inspect", file, "--json").out)
    assert told["network"] == {"flops": "1e+09", "storage": ["disk"], "master": ["master_host"], "links": 10}
    assert told["types"] == {"n0..n3": "4 x 1 core"}
    assert unspool("validate", file).out == "p.xml: ok, a platform of 4 cores\n"


def test_platform_that_is_wrong_ends_with_2_and_one_sentence(unspool, write):
    said = unspool("run", write("log.swf", LOG), "-p", write("p.xml", XML.replace('"1GBps"', '"fast"', 1)))
    assert said.code == 2
    assert "p.xml, line 4: <cluster id='c'>: bw: 'fast' is not a rate such as 10MBps" in said.err
