"""Profiles that name others: which they name, which are reached from some, circles, and other names for all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from unspool.model.profile import Delay, ForkJoin, Merge, Profile, Receive, Sequence

__all__ = ["Span", "parts_first", "reached", "references", "renamed", "spans_of"]


def references(profile: Profile) -> tuple[str, ...]:
    """The names of the profiles that one is made of, or that may follow it.

    >>> references(Sequence(("a", "b", "a"))), references(Receive(success="a"))
    (('a', 'b', 'a'), ('a',))
    """
    if isinstance(profile, Sequence | ForkJoin | Merge):
        return profile.members
    if isinstance(profile, Receive):
        return tuple(filter(None, (profile.success, profile.failure, profile.timeout)))
    return ()


def renamed(profile: Profile, rename: Callable[[str], str]) -> Profile:
    """The same profile, which names others by their new names.

    >>> renamed(Sequence(("a", "b")), lambda name: f"w0!{name}").members
    ('w0!a', 'w0!b')
    """
    if isinstance(profile, Sequence | ForkJoin | Merge):
        return replace(profile, members=tuple(map(rename, profile.members)))
    if isinstance(profile, Receive):
        success, failure, timeout = (
            rename(other) if other else other for other in (profile.success, profile.failure, profile.timeout)
        )
        return replace(profile, success=success, failure=failure, timeout=timeout)
    return profile


def reached(profiles: Mapping[str, Profile], names: Iterable[str]) -> set[str]:
    """These names and all that their profiles lead to, as far as they exist.

    >>> sorted(reached({"s": Sequence(("a",)), "a": Delay(1.0), "b": Delay(2.0)}, ["s"]))
    ['a', 's']
    """
    found = {name for name in names if name in profiles}
    ahead = [name for name in found if type(profiles[name]) is not Delay]
    while ahead:
        new = {other for other in references(profiles[ahead.pop()]) if other in profiles and other not in found}
        found |= new
        ahead += new
    return found


def parts_first(profiles: Mapping[str, Profile]) -> tuple[list[str], list[tuple[str, ...]]]:
    """All names, those that a profile names before it; and the circles that forbid it, each once.

    >>> parts_first({"s": Sequence(("a",)), "a": Delay(1.0)})
    (['a', 's'], [])
    >>> parts_first({"s": Sequence(("t",)), "t": Sequence(("s",))})[1]
    [('s', 't', 's')]
    """
    order: list[str] = []
    circles: list[tuple[str, ...]] = []
    done: set[str] = set()
    for start, profile in profiles.items():
        if start in done:
            continue
        # A stack of our own: sequences may nest deeper than Python calls.
        path = {start: iter(references(profile))}
        while path:
            name = next(reversed(path))
            other = next((each for each in path[name] if each in profiles and each not in done), None)
            if other is None:
                path.popitem()
                done.add(name)
                order.append(name)
            elif other in path:
                names = list(path)
                circles.append((*names[names.index(other) :], other))
            else:
                path[other] = iter(references(profiles[other]))
    return order, circles


class Span(NamedTuple):
    """How long a profile takes, and the code that it returns."""

    seconds: float
    code: int


def spans_of(profiles: Mapping[str, Profile]) -> dict[str, Span]:
    """How long each profile takes that is made of delays and sequences only: no others are known beforehand.

    A sequence ends with the first member that returns a code other than 0.

    >>> profiles = {"a": Delay(2.0), "bad": Delay(3.0, code=1), "s": Sequence(("a", "bad", "a"), repeat=2)}
    >>> {name: span.seconds for name, span in spans_of(profiles).items()}
    {'a': 2.0, 'bad': 3.0, 's': 5.0}
    """
    found = {name: Span(profile.seconds, profile.code) for name, profile in profiles.items() if type(profile) is Delay}
    if len(found) == len(profiles):
        return found
    for name in parts_first({name: profile for name, profile in profiles.items() if name not in found})[0]:
        profile = profiles[name]
        if isinstance(profile, Sequence) and all(member in found for member in profile.members):
            found[name] = _in_sequence(profile, found)
    return found


def _in_sequence(profile: Sequence, found: Mapping[str, Span]) -> Span:
    total = 0.0
    for member in profile.members:
        total += found[member].seconds
        if found[member].code:
            return Span(total, found[member].code)
    return Span(total * profile.repeat, profile.code)
