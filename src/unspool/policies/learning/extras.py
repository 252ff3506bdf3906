"""Packages that only some parts need, imported when such a part is made."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from unspool.errors import InputError

__all__ = ["needed"]

_PACKAGES = {"sklearn": ("scikit-learn", "ml"), "threadpoolctl": ("threadpoolctl", "ml"), "torch": ("PyTorch", "torch")}


def needed(module: str, who: str) -> Any:
    """A module of an optional package; where it is missing, one sentence that names the extra."""
    package, extra = _PACKAGES[module.split(".")[0]]
    try:
        return import_module(module)
    except ImportError as error:
        raise InputError(
            f"{who} needs {package}, which is not installed; say: pip install 'unspool[{extra}]'"
        ) from error
