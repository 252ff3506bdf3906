"""Options that several verbs have, each with the one text that says what it means; and a verb's command, as typed."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, is_dataclass
from inspect import Parameter as Argument
from inspect import signature
from typing import Annotated, Any

from cyclopts import Parameter

from unspool.errors import InputError
from unspool.workloads import FORMATS

__all__ = ["Flag", "LogFormat", "Seed", "TargetFormat", "Untrusted", "command_of"]

_MOST_SEED = 2**63 - 1

Flag = Parameter(negative=(), show_default=False)
"""An option without a value."""

LogFormat = Annotated[
    str | None,
    Parameter(help=f"Format of the log, where neither its name nor its content tells: {', '.join(FORMATS)}."),
]
"""`--format`: how a log is read."""

TargetFormat = Annotated[
    str | None,
    Parameter(
        help="Format of the file to write, where its name does not tell: "
        f"{', '.join(name for name, known in FORMATS.items() if known.write)}."
    ),
]
"""`--to`: how a log is written."""


def _refuse_seed(_: object, seed: int | None) -> None:
    if seed is not None and not 0 <= seed <= _MOST_SEED:
        raise InputError(f"--seed {seed}: expected a whole number from 0 to {_MOST_SEED}")


Seed = Annotated[int, Parameter(validator=_refuse_seed, allow_leading_hyphen=True)]
"""`--seed`: the same rule wherever numbers are drawn."""


Untrusted = Annotated[
    bool,
    Parameter(
        negative=(),
        show_default=False,
        env_var="UNSPOOL_UNTRUSTED",
        help="Use built-in names only, and refuse modules and models that a file or an option names.",
    ),
]
"""`--untrusted`: for files of somebody else's; the environment can ask for it too, as the studio does."""


def command_of(verb: Callable[..., Any], given: Mapping[str, Any], without: Collection[str]) -> str:
    """The command of a verb with what was given to it, as a shell takes it; `without` are options that do not matter.

    >>> def greet(name, /, *, loud=False, times=1): ...
    >>> command_of(greet, {"name": "my friend", "loud": True, "times": 1}, without=())
    "unspool greet 'my friend' --loud"
    """
    words = ["unspool", verb.__name__]
    for name, parameter in signature(verb).parameters.items():
        value = given.get(name, parameter.default)
        if value == parameter.default or name in without:
            continue
        if is_dataclass(value):
            words += _words_of_fields(value)
            continue
        option = [] if parameter.kind is Argument.POSITIONAL_ONLY else [f"--{name.replace('_', '-')}"]
        values = value if isinstance(value, list) else [value]
        words += option if value is True else [word for one in values for word in (*option, *_words(one))]
    return shlex.join(words)


def _words_of_fields(group: Any) -> list[str]:
    """The options that are fields of a group of them, those that were given."""
    words: list[str] = []
    for option in fields(group):
        value = getattr(group, option.name)
        if value != option.default:
            words += [f"--{option.name.replace('_', '-')}", *([] if value is True else _words(value))]
    return words


def _words(value: Any) -> list[str]:
    """A value as words of a command; of a number, as many digits as it needs."""
    parts = value if isinstance(value, tuple) else (value,)
    return [f"{part:.15g}" if isinstance(part, float) else str(part) for part in parts]
