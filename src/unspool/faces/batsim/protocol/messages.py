"""Messages: `{"now": ..., "events": [{"timestamp": ..., "type": ..., "data": {...}}]}`, in both directions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from unspool.errors import RunError, shown
from unspool.faces.batsim.protocol.numbers import number_text

__all__ = ["Event", "Message", "MessageError", "event_text", "message_text", "read_message"]

_SHOWN = 80  # characters of a message that is none


class MessageError(RunError):
    """A message that is none, or an event in it without what it needs; whoever sent it may send a better one."""


class Event(msgspec.Struct):
    """Something that happened, or that is to be done."""

    timestamp: float
    type: str
    data: dict[str, Any]


class Message(msgspec.Struct):
    """What one side says in one go."""

    now: float
    events: list[Event]


_DECODER = msgspec.json.Decoder(Message)


def read_message(content: bytes, sender: str) -> Message:
    """A message of somebody, who is named if it is none.

    >>> read_message(b'{"now": 3, "events": []}', "a scheduler").now
    3.0
    """
    try:
        return _DECODER.decode(content)
    except msgspec.ValidationError as error:
        reason = f"{error}; expected now and events, each with timestamp, type and data"
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = f"{error}; expected JSON"
    told = shown(content[: 4 * _SHOWN].decode(errors="replace"), _SHOWN)
    raise MessageError(f"{sender} sent what is no message ({reason}): {told or 'nothing'}")


def event_text(timestamp: float, kind: str, data: str = "{}") -> str:
    """An event; its data are JSON already."""
    return f'{{"timestamp":{number_text(timestamp)},"type":"{kind}","data":{data}}}'


def message_text(now: float, events: Iterable[str]) -> str:
    """A message of events that are JSON already.

    >>> message_text(0.0, [event_text(0.0, "SIMULATION_ENDS")])
    '{"now":0.0,"events":[{"timestamp":0.0,"type":"SIMULATION_ENDS","data":{}}]}'
    """
    return f'{{"now":{number_text(now)},"events":[{",".join(events)}]}}'
