"""What the slow twin of the cloud is made of: jobs, attempts and machines while it runs, and rows when it has."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass(eq=False)
class Job:
    """A job: what each of its hosts must have, how it is paid in the cloud, and what is left of its work."""

    job_id: str
    line: int
    submit: float
    run_time: float
    hosts: int
    total: tuple[int, int, int]  # cores, bytes, GPUs over all hosts
    queue: str
    project: str
    plan: str = "on-demand"
    left: float = 0.0  # seconds of its run time that are still to do
    reclaimed: int = 0

    @property
    def need(self):
        """Cores, bytes and GPUs of one host."""
        return tuple(-(-amount // self.hosts) for amount in self.total)

    @property
    def turn(self):
        return self.submit, self.line


@dataclass(eq=False)
class Attempt:
    """A job on its machines. It begins when the last of them is up."""

    job: Job
    hosts: list["Machine"]
    start: float | None = None
    finish: float | None = None
    how: str = "waiting"


@dataclass(eq=False)
class Machine:
    """A machine that is there, or was: of the platform's groups, or an instance that was started."""

    number: int
    type: str
    family: str
    plan: str
    billing: str  # "always", "used", or "life" of an instance
    cores: int
    vcpus: int
    memory: int  # 0: not modelled
    gpus: int
    price: float
    start: float | None = None
    up: float | None = None
    stop: float | None = None
    cause: str | None = None
    started_for: str | None = None
    up_at: float = -math.inf
    reclaim_at: float = math.inf
    empty_since: float | None = None
    changed: int = 0  # when its load last changed, as a running number
    placed: list[Attempt] = field(default_factory=list)

    @property
    def is_instance(self):
        return self.billing == "life"

    @property
    def is_up(self):
        return not self.is_instance or self.up is not None

    def used(self):
        """Cores, bytes and GPUs of what is placed."""
        return [sum(attempt.job.need[r] for attempt in self.placed) for r in range(3)]

    def fullness(self):
        cores, memory, _ = self.used()
        return max(cores / self.cores, memory / self.memory if self.memory else 0.0)

    def row(self):
        kind = (self.number, self.type, self.family, self.plan, self.billing)
        size = (self.cores, self.vcpus, self.memory, self.gpus, self.price)
        return MachineRow(*kind, *size, self.start, self.up, self.stop, self.cause, self.started_for)


class MachineRow(NamedTuple):
    """A row of the table of machines."""

    machine: int
    type: str
    family: str
    plan: str
    billing: str
    cores: int
    vcpus: int
    memory_bytes: int
    gpus: int
    usd_per_hour: float
    start_time: float | None
    up_time: float | None
    stop_time: float | None
    cause: str | None
    started_for: str | None


class AttemptRow(NamedTuple):
    """An attempt with the numbers of its machines, one a host."""

    job_id: str
    start_time: float
    finish_time: float
    how: str
    machines: tuple[int, ...]


class JobRow(NamedTuple):
    """A job that ran: its last attempt, and how many there were."""

    job_id: str
    submit_time: float
    start_time: float
    finish_time: float
    wait_time: float
    attempts: int


@dataclass(frozen=True)
class TwinRun:
    """What happened."""

    machines: list[MachineRow]
    attempts: list[AttemptRow]  # in the order in which they were placed
    jobs: list[JobRow]  # in the order of the workload
    rejected: list[tuple[str, str]]  # job id; "size": no machine has a host's need, "hosts": there are too few
    needs: dict[str, tuple[int, int, int]]  # by job id: cores, bytes and GPUs of one host


def jobs_of(workload):
    """The jobs of a workload, in its order."""
    columns = ("job_id", "line", "submit_time", "run_time", "machines", "cores", "memory_bytes", "gpus")
    rows = zip(*(workload.column(name).to_list() for name in (*columns, "queue", "project")), strict=True)
    return [
        Job(job_id, line, at, run, hosts or 1, (cores, memory or 0, gpus or 0), queue or "", project or "", left=run)
        for job_id, line, at, run, hosts, cores, memory, gpus, queue, project in rows
    ]


def fixed_machines(platform):
    """The machines of the groups, numbered from 0, all up and empty."""
    types = {kind.name: kind for kind in platform.cloud.types}
    machines = []
    for group in platform.groups:
        it = group.machine
        kind = types.get(it.name)
        family = kind.family if kind else it.name.partition(".")[0]
        price = it.prices[0].usd_per_hour if it.prices else 0.0
        for _ in range(group.count):
            size = (it.cores, kind.vcpus if kind else it.cores, it.memory_bytes, it.gpus)
            machines.append(Machine(len(machines), it.name, family, it.plan, it.billing, *size, price))
    return machines


def price_of(kind, plan):
    return kind.spot_usd_per_hour if plan == "spot" else kind.on_demand_usd_per_hour


def fits(need, cores, memory, gpus):
    return need[0] <= cores and (memory is None or need[1] <= memory) and need[2] <= gpus
