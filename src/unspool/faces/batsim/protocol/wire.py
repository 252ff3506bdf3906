"""The two ends of a connection: who asks notices that the other one has died, is not there, or says nothing."""

from __future__ import annotations

from time import monotonic
from types import ModuleType, TracebackType
from typing import Any, Protocol, Self

from unspool.errors import InputError, RunError

__all__ = ["Answering", "Asking", "Watched", "needs_zmq"]

_SLICE_MS = 200  # how often it is looked whether the other side still lives
_MOST_BYTES = 1 << 30  # of a message; who sends more is disconnected
_GRACE_S = 1.0  # that an answer may be under way after its sender is gone


def needs_zmq() -> ModuleType:
    """The library, or how to get it."""
    try:
        import zmq
    except ImportError as error:
        raise InputError(
            "schedulers over a socket need ZeroMQ, which is not installed; say: pip install 'unspool[protocol]'"
        ) from error
    return zmq


def _refuse_port(endpoint: str) -> None:
    """Complain of a port that no machine has: ZeroMQ takes another in its place."""
    port = endpoint.rpartition(":")[2]
    if endpoint.startswith("tcp://") and port.isdigit() and not 0 < int(port) < 1 << 16:
        raise InputError(f"-s {endpoint}: there is no port {port}; expected one from 1 to 65535")


class Watched(Protocol):
    """A program that may end before its time."""

    def death(self) -> str | None:
        """How it ended, or None while it runs."""


class Asking:
    """The simulator's end: it connects, asks, and waits for each answer."""

    def __init__(self, endpoint: str, name: str, timeout_s: float, process: Watched | None = None) -> None:
        self.name = name
        self._zmq: Any = needs_zmq()
        _refuse_port(endpoint)
        self._endpoint, self._timeout_s, self._process = endpoint, timeout_s, process
        self._context = self._zmq.Context()
        self._socket = self._context.socket(self._zmq.REQ)
        self._socket.linger = 0
        self._socket.rcvtimeo = _SLICE_MS
        watched = self._zmq.EVENT_HANDSHAKE_SUCCEEDED | self._zmq.EVENT_DISCONNECTED
        self._monitor = self._socket.get_monitor_socket(watched)
        self._is_connected = self._was_connected = False
        try:
            self._socket.connect(endpoint)
        except self._zmq.ZMQError as error:
            self.close()
            raise InputError(
                f"-s {endpoint}: cannot be connected to ({error}); expected an endpoint such as tcp://localhost:28000"
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def ask(self, text: str) -> bytes:
        """Say something and wait for the answer; raises where there will be none."""
        self._socket.send(text.encode())
        began, gone_since = monotonic(), None
        while True:
            try:
                answer: bytes = self._socket.recv()
                return answer
            except self._zmq.Again:
                gone_since = self._refuse_death(began, gone_since)

    def _refuse_death(self, began: float, gone_since: float | None) -> float | None:
        """Complain if no answer will come; else since when the other side has been gone, or None."""
        now = monotonic()
        self._look_around()
        if self._process is not None and (death := self._process.death()) is not None:
            raise RunError(f"{self.name} {death} before it answered")
        gone_since = (gone_since or now) if self._was_connected and not self._is_connected else None
        if gone_since is not None and now - gone_since >= _GRACE_S:
            raise RunError(f"{self.name} closed the connection before it answered: it has ended, or crashed")
        if now - began >= self._timeout_s:
            raise RunError(self._silence())
        return gone_since

    def _look_around(self) -> None:
        """Take note of connections that were made and lost."""
        while self._monitor is not None and self._monitor.poll(0):
            from zmq.utils.monitor import recv_monitor_message

            event = recv_monitor_message(self._monitor)["event"]
            self._is_connected = event == self._zmq.EVENT_HANDSHAKE_SUCCEEDED
            self._was_connected = self._was_connected or self._is_connected

    def _silence(self) -> str:
        if not self._was_connected:
            return (
                f"{self.name}: nobody was there for {self._timeout_s:g} s; start the scheduler, and let it bind to the "
                "endpoint that -s names"
            )
        return (
            f"{self.name} has not answered for {self._timeout_s:g} s: it hangs, or needs longer (--socket-timeout "
            "says how long it may take)"
        )

    def close(self) -> None:
        """Hang up."""
        self._socket.disable_monitor()
        self._socket.close()
        self._context.destroy(linger=0)


class Answering:
    """The scheduler's end: it binds, hears, and answers."""

    def __init__(self, endpoint: str) -> None:
        self._zmq: Any = needs_zmq()
        _refuse_port(endpoint)
        self._context = self._zmq.Context()
        self._socket = self._context.socket(self._zmq.REP)
        self._socket.maxmsgsize = _MOST_BYTES
        try:
            self._socket.bind(endpoint)
        except self._zmq.ZMQError as error:
            self._socket.close()
            self._context.destroy(linger=0)
            raise InputError(
                f"-s {endpoint}: cannot be bound to ({error}); expected a free endpoint such as tcp://127.0.0.1:28000"
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._socket.close(linger=1000)
        self._context.term()

    def hear(self, timeout_s: float | None = None) -> bytes | None:
        """What the other side says next; None if it says nothing for so long."""
        if timeout_s is not None and not self._socket.poll(int(timeout_s * 1000)):
            return None
        said: list[bytes] = self._socket.recv_multipart()
        return b"".join(said)

    def answer(self, text: str) -> None:
        """Reply."""
        self._socket.send(text.encode())
