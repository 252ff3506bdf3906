"""What is seen and what can be done where the next job is chosen, as spaces of Gymnasium."""

from __future__ import annotations

import numpy as np
from gymnasium.spaces import Box, Discrete

from unspool.engine.state import Array
from unspool.errors import InputError
from unspool.simulation.choosing import GLOBALS, PER_JOB

__all__ = ["allowed", "job_spaces", "length_of"]


def length_of(window: int) -> int:
    """How many numbers are seen with so many jobs in the window."""
    return GLOBALS + PER_JOB * window


def job_spaces(window: int) -> tuple[Box, Discrete]:
    """Numbers from 0 to 1; and: start one of the window, or, as the last action, wait."""
    if window < 1:
        raise InputError(f"window is {window}; expected 1 job or more")
    return Box(0.0, 1.0, (length_of(window),), np.float32), Discrete(window + 1)


def allowed(action: int, mask: Array) -> int:
    """The action, or the first that is allowed where it is not."""
    return action if mask[action] else int(mask.argmax())
