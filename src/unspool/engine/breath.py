"""When compiled code comes up for air: about once a second, because signals reach nobody but Python."""

from __future__ import annotations

import sys
import time
from typing import Any

import numba

from unspool.engine.compiled import compiled

__all__ = ["wall_clock"]

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
