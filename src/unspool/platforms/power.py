"""What machines draw, in our own files: the key `power` of machines, turned into the properties that SimGrid has."""

from __future__ import annotations

from typing import Annotated

import msgspec

from unspool.errors import InputError

__all__ = ["PowerKeys", "powered"]

_Watts = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
_Seconds = Annotated[float, msgspec.Meta(gt=0, le=1e9)]
_NO_SPEED = 1e-9  # of a machine that sleeps; nothing runs on it


class PowerKeys(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The key `power`: watts idle and full, as a number or one for each speed; and of sleep, where machines can.

    Falling asleep takes `falling_s` at `falling_w` (by default what an idle machine draws), waking `waking_s` at
    `waking_w` (by default what a busy one does).
    """

    idle_w: _Watts | list[_Watts]
    full_w: _Watts | list[_Watts]
    least_w: _Watts | list[_Watts] | None = None
    sleep_w: _Watts | None = None
    falling_s: _Seconds | None = None
    falling_w: _Watts | None = None
    waking_s: _Seconds | None = None
    waking_w: _Watts | None = None


def powered(speeds: tuple[float, ...], power: PowerKeys | None) -> tuple[tuple[float, ...], dict[str, str]]:
    """The speeds of a machine with those of its sleep, and its properties.

    >>> keys = PowerKeys(95.0, 190.0, sleep_w=10.0, falling_s=5.0, waking_s=100.0)
    >>> powered((1e9,), keys)[1]
    {'wattage_per_state': '95.0:95.0:190.0,10.0:10.0,95.0:95.0,190.0:190.0', 'sleep_pstates': '1:2:3'}
    """
    if power is None:
        return speeds, {}
    idle, full = (
        _each(value, len(speeds), name) for value, name in ((power.idle_w, "idle_w"), (power.full_w, "full_w"))
    )
    least = idle if power.least_w is None else _each(power.least_w, len(speeds), "least_w")
    states = [f"{low!r}:{some!r}:{high!r}" for low, some, high in zip(idle, least, full, strict=True)]
    given = [name for name in ("falling_s", "falling_w", "waking_s", "waking_w") if getattr(power, name) is not None]
    if power.sleep_w is None:
        if given:
            raise InputError(f"power has {given[0]} and no sleep_w; give both, or neither")
        return speeds, {"wattage_per_state": ",".join(states)}
    if power.falling_s is None or power.waking_s is None:
        raise InputError("power has sleep_w; give falling_s and waking_s too, the seconds to fall asleep and to wake")
    falling = idle[0] if power.falling_w is None else power.falling_w
    waking = full[0] if power.waking_w is None else power.waking_w
    states += [f"{watts!r}:{watts!r}" for watts in (power.sleep_w, falling, waking)]
    count = len(speeds)
    return (
        (*speeds, _NO_SPEED, 1.0 / power.falling_s, 1.0 / power.waking_s),
        {"wattage_per_state": ",".join(states), "sleep_pstates": f"{count}:{count + 1}:{count + 2}"},
    )


def _each(given: float | list[float], count: int, name: str) -> list[float]:
    """One for each speed."""
    values = given if isinstance(given, list) else [given] * count
    if len(values) != count:
        raise InputError(f"power has {len(values)} {name} for {count} speeds; give one for each, or one for all")
    return values
