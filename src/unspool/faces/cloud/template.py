"""The `config.yml` that `unspool cost --init` writes: every key with its default and what it means."""

from __future__ import annotations

from importlib.resources import files

__all__ = ["commented_config"]


def commented_config() -> str:
    """A configuration with a comment on every key; as it stands it says what leaving everything out would.

    >>> commented_config().splitlines()[0]
    '# What `unspool cost` assumes. Every key may be left out; the values here are what it then is.'
    """
    return (files("unspool.faces.cloud") / "config.yml").read_text("utf-8")
