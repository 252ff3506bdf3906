"""When compiled code comes up for air: about once a second, because signals reach nobody but Python."""

from __future__ import annotations

import sys
import time
from typing import Any

import numba

from unspool.engine.kernel.compiled import compiled
from unspool.engine.kernel.state import Array

__all__ = ["is_out_of_breath", "wall_clock"]

_numba: Any = numba

if _numba.config.DISABLE_JIT:

    def wall_clock() -> int:
        """Whole seconds since 1970."""
        return int(time.time())

else:
    # By its name in the C library, which stays valid in machine code that is kept on disk.
    _types = _numba.types
    _time = _types.ExternalFunction("_time64" if sys.platform == "win32" else "time", _types.int64(_types.intp))

    @compiled
    def wall_clock() -> int:
        """Whole seconds since 1970."""
        return _time(0)  # type: ignore[no-any-return]


@compiled
def is_out_of_breath(rule: Array) -> bool:
    """Whether a second has begun in which Python had no turn yet; the caller sees to it that it gets one.

    `rule` has the field `second`, in which the last such second is kept. Ask after many steps, not after each.
    """
    second = wall_clock()
    if second == rule[0]["second"]:
        return False
    rule[0]["second"] = second
    return True
