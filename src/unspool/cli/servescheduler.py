"""`unspool serve-scheduler`: our policies as a scheduler that Batsim calls."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from unspool.cli.blame import blaming
from unspool.cli.output import compiling_announcement, counted, note
from unspool.errors import InputError
from unspool.faces.batsim.protocol.serving import serve, warm_up
from unspool.faces.batsim.protocol.wire import needs_zmq
from unspool.faces.batsim.running import build_policy

__all__ = ["serve_scheduler"]


def serve_scheduler(
    *,
    policy: str = "easy",
    socket_endpoint: Annotated[str, Parameter(name=["--socket-endpoint", "-s"])] = "tcp://127.0.0.1:28000",
    seed: int = 0,
    timeout: float | None = None,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative=(), show_default=False)] = False,
) -> int:
    """Be the scheduler of a Batsim simulation: one of our policies, over its socket.

    For example: unspool serve-scheduler --policy easy:order=sjf -s tcp://127.0.0.1:28000

    It listens until one simulation has come to its end. Batsim 4 connects there: batsim -s tcp://localhost:28000

    Parameters
    ----------
    policy
        A scheduler by name (see: unspool plugins schedulers), or file.py:Name for one of your own.
    socket_endpoint
        Where to listen. Another machine reaches tcp://*:28000 too, and nothing asks it for a password.
    seed
        For policies that draw random numbers.
    timeout
        Seconds that the simulator may be silent. Default: for ever.
    quiet
        Only errors are told.
    """
    needs_zmq()
    if timeout is not None and not timeout > 0.0:
        raise InputError(f"--timeout is {timeout:g}; expected seconds, more than 0")
    scheduler = build_policy(policy)

    def tell_ready() -> None:
        if not quiet:
            note(f"{policy} listens at {socket_endpoint}")

    with blaming(policy, scheduler):
        with compiling_announcement():
            warm_up(lambda: build_policy(policy))
        count = serve(
            lambda: build_policy(policy), socket_endpoint, seed=seed, timeout_s=timeout, ready=tell_ready, note=note,
        )  # fmt: skip
    if not quiet:
        note(f"the simulation is over: {counted(count, 'message')}")
    return 0
