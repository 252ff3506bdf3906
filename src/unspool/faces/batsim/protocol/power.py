"""The pstates of machines and their energy, where a run models them (`-E`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from unspool.policies.base import SetPstate
from unspool.simulation.decisions import carry_out
from unspool.simulation.engine import Engine

__all__ = ["Power", "Switches"]


class Power(Protocol):
    """The pstates of machines and the energy that they use, as far as a scheduler has to do with them."""

    def switch(self, machines: Sequence[int], pstate: int) -> float | None:
        """Begin to switch machines, and say when all of them are done; None where the order is lost."""

    def refusal(self, machine: int) -> str | None:
        """Why a machine takes no job now, as in `sleeps`; None where it does."""

    def consumed_j(self) -> float:
        """The joules of all machines, from the beginning until now."""


class Switches:
    """Gives the orders of a scheduler elsewhere to the switchboard of a run."""

    def __init__(self, engine: Engine) -> None:
        assert engine.power is not None
        self._engine, self._board = engine, engine.power

    def switch(self, machines: Sequence[int], pstate: int) -> float | None:
        """Begin to switch machines, and say when all of them are done.

        A state that only stands for switching is no state to switch to: Batsim writes an error to its log and goes on
        without the order, which pybatsim's fcfsSchedSleep needs on the homogeneous energy platform of Batsim.
        """
        real = tuple(machine for machine in machines if pstate not in self._board.powers[machine].switches)
        if not real:
            return None
        begun = len(self._board.switches)
        carry_out(self._engine, SetPstate(real, pstate))
        return max(switch.until for switch in self._board.switches[begun:])

    def refusal(self, machine: int) -> str | None:
        """Why a machine takes no job now."""
        if self._board.is_switching(machine):
            return "is switching to another state"
        return "sleeps" if self._board.is_asleep(machine) else None

    def consumed_j(self) -> float:
        """The joules of all machines until now."""
        return self._engine.energy() if self._engine.now > 0.0 else 0.0
