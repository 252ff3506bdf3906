"""What an agent can be asked for in a run of the engine: the next job, the machines of a job, the instance to start.

A choice says whether there is something to choose at the present instant, shows it, and carries out what was chosen. An
environment asks an agent through it in training, and a scheduler (`Chooser`) in any other run.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from unspool.arrays import Array
from unspool.errors import InputError
from unspool.model.platform import Platform
from unspool.simulation import placing, provisioning
from unspool.simulation.choosing import GLOBALS, PER_JOB, anyone_fits, look, start_chosen
from unspool.simulation.engine import Engine

__all__ = ["Choice", "InstanceChoice", "JobChoice", "MachineChoice", "choice_like"]


class Choice(Protocol):
    """One kind of choice, with what it remembers of one run."""

    length: int
    actions: int

    def fresh(self) -> Choice:
        """The same for another run."""

    def begin(self, engine: Engine) -> None:
        """A new instant; complain if this engine's platform has nothing of the kind to choose."""

    def is_due(self, engine: Engine) -> bool:
        """Whether there is something to choose now."""

    def look(self, engine: Engine, seen: Array, mask: Array) -> None:
        """Write what is seen, in numbers from 0 to 1, and what is allowed; the last action is to wait."""

    def act(self, engine: Engine, action: int) -> bool:
        """Carry out an action that is allowed; whether nothing more is to be asked at this instant."""


class JobChoice:
    """Which of the first jobs of the queue starts, of those that fit."""

    def __init__(self, window: int = 32) -> None:
        if window < 1:
            raise InputError(f"window is {window}; expected 1 job or more")
        self.window = window
        self.length, self.actions = GLOBALS + PER_JOB * window, window + 1
        self.jobs = np.full(window, -1, np.int64)

    def fresh(self) -> JobChoice:
        """The same for another run."""
        return JobChoice(self.window)

    def begin(self, engine: Engine) -> None:
        """A new instant."""
        engine.platform.refuse_cloud("an agent that chooses jobs")

    def is_due(self, engine: Engine) -> bool:
        """Whether one of them fits."""
        return anyone_fits(engine.core, engine.place, self.window)

    def look(self, engine: Engine, seen: Array, mask: Array) -> None:
        """Write what is seen and what is allowed."""
        look(engine.core, engine.place, float(engine.platform.cores), seen, mask, self.jobs)

    def act(self, engine: Engine, action: int) -> bool:
        """Start a job, or wait."""
        if action == self.window:
            return True
        engine.make_room()
        start_chosen(engine.core, engine.place, int(self.jobs[action]))
        return False


class MachineChoice:
    """On which machines the head of the queue starts: those that one of the ways to choose machines finds."""

    length = placing.SIGHT + placing.PER_SET * placing.SETS
    actions = placing.SETS + 1

    def __init__(self) -> None:
        self._capacity: Array | None = None

    def fresh(self) -> MachineChoice:
        """The same for another run."""
        return MachineChoice()

    def begin(self, engine: Engine) -> None:
        """A new instant; machines must have been set up for all ways to choose."""
        if self._capacity is not None:
            return
        place, platform = engine.place, engine.platform
        platform.refuse_cloud("an agent that chooses machines")
        if place is None or place.tally is None:
            raise InputError(
                f"{platform.name}: an agent that chooses machines needs some, set up for any way to choose; give "
                "machines such as 32x8, and --select best"
            )
        cores = [(group.machine.cores, group.count) for group in platform.groups]
        self._capacity = np.repeat([float(core) for core, _ in cores], [count for _, count in cores])

    def is_due(self, engine: Engine) -> bool:
        """Whether there are machines for the head of the queue."""
        assert engine.place is not None
        return placing.head_fits(engine.core, engine.place)

    def look(self, engine: Engine, seen: Array, mask: Array) -> None:
        """Write what is seen and what is allowed."""
        assert engine.place is not None
        assert self._capacity is not None
        placing.look_at_sets(engine.core, engine.place, self._capacity, seen, mask)

    def act(self, engine: Engine, action: int) -> bool:
        """Start the head of the queue, or wait."""
        if action == placing.SETS:
            return True
        engine.make_room()
        assert engine.place is not None
        placing.start_by(engine.core, engine.place, action)
        return False


class InstanceChoice:
    """Which type of instance is started, on demand or on spot, for the first job that nothing was started for."""

    def __init__(self, types: int) -> None:
        self.types = types
        offers = provisioning.PLANS * types
        self.length, self.actions = provisioning.SIGHT + provisioning.PER_OFFER * offers, offers + 1
        self._job = -1

    @classmethod
    def on(cls, platform: Platform) -> InstanceChoice:
        """The choice that a platform's cloud offers."""
        if platform.cloud is None or not platform.cloud.types:
            raise InputError(f"{platform.name}: an agent that starts instances needs a platform with a cloud")
        return cls(len(platform.cloud.types))

    def fresh(self) -> InstanceChoice:
        """The same for another run."""
        return InstanceChoice(self.types)

    def begin(self, engine: Engine) -> None:
        """A new instant: what fits starts, and jobs for which nothing was wanted are asked for again."""
        cloud, elastic, place = engine.platform.cloud, engine.state.elastic, engine.place
        if cloud is None or elastic is None or place is None or len(cloud.types) != self.types:
            raise InputError(
                f"{engine.platform.name}: the agent starts instances of {self.types} types; expected a cloud with those"
            )
        if cloud.frequency_s > 0.0:
            raise InputError(f"{engine.platform.name}: an agent that starts instances needs a frequency_s of 0")
        provisioning.start_fitting(engine.core, place)
        provisioning.ask_again(engine.core, elastic)

    def is_due(self, engine: Engine) -> bool:
        """Whether some job needs an instance that may be started."""
        place, elastic = engine.place, engine.state.elastic
        assert place is not None
        assert elastic is not None
        self._job = provisioning.unserved(engine.core, place, elastic)
        return self._job >= 0

    def look(self, engine: Engine, seen: Array, mask: Array) -> None:
        """Write what is seen and what is allowed."""
        place, elastic = engine.place, engine.state.elastic
        assert place is not None
        assert elastic is not None
        provisioning.look_at_offers(engine.core, place, elastic, self._job, seen, mask)

    def act(self, engine: Engine, action: int) -> bool:
        """Start what the job needs, or nothing for now; the next job is asked for then."""
        offer = -1 if action == self.actions - 1 else action
        while True:
            place, elastic = engine.place, engine.state.elastic
            assert place is not None
            assert elastic is not None
            if provisioning.start_for(engine.core, place, elastic, self._job, offer):
                return False
            engine.grow()


def choice_like(length: int, actions: int) -> Choice | None:
    """The choice in which so many numbers are seen and there are so many actions."""
    others = actions - 1
    if others >= 1 and length == GLOBALS + PER_JOB * others:
        return JobChoice(others)
    if (length, actions) == (MachineChoice.length, MachineChoice.actions):
        return MachineChoice()
    if others >= 1 and others % provisioning.PLANS == 0:
        instances = InstanceChoice(others // provisioning.PLANS)
        return instances if instances.length == length else None
    return None
