"""Conversations without sockets: a function is the scheduler, and what was said is kept."""

import json
from contextlib import ExitStack
from dataclasses import dataclass, field

from unspool.faces.batsim.protocol.begins import Terms
from unspool.faces.batsim.running import Settings, run_batsim

PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="all" routing="Full">
    <host id="h0" speed="1Gf"/><host id="h1" speed="1Gf"/><host id="h2" speed="1Gf"/><host id="h3" speed="1Gf"/>
    <host id="s0" speed="1Gf"><prop id="role" value="storage"/></host>
    <host id="s1" speed="1Gf"><prop id="role" value="storage"/></host>
    <link id="wire" bandwidth="100MBps" latency="0s"/>
    <link id="near" bandwidth="200MBps" latency="0s"/>
    <link id="far" bandwidth="50MBps" latency="0s"/>
    <route src="h0" dst="h1"><link_ctn id="wire"/></route>
    <route src="h0" dst="s0"><link_ctn id="near"/></route>
    <route src="h0" dst="s1"><link_ctn id="far"/></route>
  </zone>
</platform>
"""


def job(name, subtime=0, res=1, profile="nap", **others):
    return {"id": name, "subtime": subtime, "res": res, "profile": profile, **others}


def order(kind, at=None, **data):
    return {"timestamp": at, "type": kind, "data": data}


@dataclass
class Talk:
    """A scheduler that is a function of a message; it gives events, and perhaps when it is ready.

    It insists that time never goes back: neither that of events, nor now behind what it said itself.
    """

    decide: object
    terms: Terms = field(default_factory=Terms)
    name: str = "a test"
    heard: list = field(default_factory=list)
    last: float = 0.0
    said: float = 0.0

    def open_line(self, stack: ExitStack):
        return self

    def ask(self, text):
        message = json.loads(text)
        self.heard.append(message)
        times = [event["timestamp"] for event in message["events"]]
        assert [self.last, *times, message["now"]] == sorted([self.last, *times, message["now"]])
        assert message["now"] >= self.said
        self.last = times[-1]
        found = self.decide(message)
        now, events = found if isinstance(found, tuple) else (message["now"], found)
        self.said = now
        for event in events or ():
            event["timestamp"] = message["now"] if event["timestamp"] is None else event["timestamp"]
        return json.dumps({"now": now, "events": list(events or ())}).encode()

    @property
    def told(self):
        """Type and data of all events but the first, with their times."""
        return [(event["timestamp"], event["type"], event["data"]) for m in self.heard[1:] for event in m["events"]]


def simulate(folder, jobs, decide, profiles=None, terms=None, **settings):
    """Run jobs with a function as the scheduler: what was simulated, and the conversation."""
    (folder / "platform.xml").write_text(PLATFORM)
    content = {"nb_res": 4, "profiles": profiles or {"nap": {"type": "delay", "delay": 10}}, "jobs": jobs}
    (folder / "work.json").write_text(json.dumps(content))
    talk = Talk(decide, terms or Terms())
    files = [str(folder / "work.json")] if jobs is not None else []
    found = run_batsim(Settings(str(folder / "platform.xml"), files, outside=talk, **settings), states=False)
    return found, talk


def each_at_once(message):
    """Start every job on machines 0, 1, … when it comes."""
    return [
        order("EXECUTE_JOB", job_id=event["data"]["job_id"], alloc=f"0-{event['data']['job']['res'] - 1}")
        for event in message["events"]
        if event["type"] == "JOB_SUBMITTED"
    ]
