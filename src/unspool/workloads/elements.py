"""XML as elements that know the line they stand on, so that every complaint can name it.

Nothing outside the file is fetched: a DTD that it names is not read, and entities are refused.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar
from xml.sax import SAXParseException
from xml.sax.handler import ContentHandler
from xml.sax.xmlreader import AttributesImpl

from defusedxml import DefusedXmlException
from defusedxml.sax import parse

from unspool.errors import InputError, UnitError, UnknownName, shown
from unspool.limits import refuse_beyond
from unspool.workloads.files import read_text

__all__ = ["Element", "elements_of", "read_elements", "unknown"]

T = TypeVar("T")

_MOST_NAMES = 12  # that a complaint lists


def unknown(kind: str, name: str, known: Sequence[str]) -> str:
    """That a name is not known, with the nearest one; all of them where they are few."""
    text = str(UnknownName(kind, name, known))
    return (
        text if len(known) <= _MOST_NAMES else f"{text.partition(' Known: ')[0].rstrip('.')} ({len(known)} are known)"
    )


@dataclass(eq=False)
class Element:
    """An element: its attributes, those inside it, and where it stands."""

    tag: str
    attributes: Mapping[str, str]
    file: str
    line: int
    inside: list[Element] = field(default_factory=list)

    def fault(self, text: str) -> InputError:
        """A complaint about this element, with file, line and name."""
        name = self.attributes.get("id")
        called = f"<{shown(self.tag)}>" if name is None else f"<{shown(self.tag)} id='{shown(name)}'>"
        return InputError(f"{self.file}, line {self.line}: {called}: {text}")

    def text(self, name: str, otherwise: str | None = None) -> str:
        """An attribute; without an `otherwise` it must be there, and must not be empty."""
        value = self.attributes.get(name, otherwise)
        if value is None or (not value and otherwise is None):
            raise self.fault(f"has no attribute {name}; give it one")
        return value

    def amount(self, name: str, parsed: Callable[[str], T], otherwise: T | None = None) -> T:
        """An attribute with a unit, as a number; without an `otherwise` it must be there."""
        if otherwise is not None and not self.attributes.get(name):
            return otherwise
        try:
            return parsed(self.text(name))
        except UnitError as error:
            raise self.fault(f"{name}: {error}") from error

    def number(self, name: str, least: int, otherwise: int) -> int:
        """An attribute that is a whole number."""
        value = self.text(name, str(otherwise)).strip()
        if not (value.isascii() and value.isdigit() and len(value) < 10 and int(value) >= least):
            raise self.fault(f"{name} is '{shown(value)}'; expected a whole number, {least} or more")
        return int(value)

    def choice(self, name: str, choices: Mapping[str, T], otherwise: str) -> T:
        """An attribute that is one of some words, in small or capital letters."""
        value = self.text(name, otherwise)
        found = {word.upper(): meaning for word, meaning in choices.items()}.get(value.strip().upper())
        if found is None:
            raise self.fault(f"{UnknownName(name, value, choices)}")
        return found

    def properties(self) -> dict[str, str]:
        """What `<prop>` elements inside say."""
        return {prop.text("id"): prop.text("value", "") for prop in self.inside if prop.tag == "prop"}


class _Collector(ContentHandler):
    def __init__(self, file: str, skipped_lines: int, expected: str) -> None:
        super().__init__()
        self.outermost: Element | None = None
        self._expected = expected
        self._open: list[Element] = []
        self._file = file
        self._skipped = skipped_lines
        self._count = 0

    def startElement(self, name: str, attrs: AttributesImpl) -> None:  # noqa: N802  (of the base class)
        line = self._locator.getLineNumber() if self._locator else None  # type: ignore[attr-defined]
        element = Element(name, dict(attrs.items()), self._file, (line or 0) + self._skipped)
        if self._open:
            self._open[-1].inside.append(element)
        else:
            self.outermost = element
        self._open.append(element)
        self._count += 1
        refuse_beyond(len(self._open), "nesting", f"{self._file}, line {element.line}")
        refuse_beyond(self._count, "elements", self._file)

    def endElement(self, name: str) -> None:  # noqa: N802
        self._open.pop()

    def skippedEntity(self, name: str) -> None:  # noqa: N802
        raise self._open[-1].fault(f"the entity &{shown(name)}; is not read; write out what it stands for")


def read_elements(path: str | os.PathLike[str], expected: str) -> Element:
    """The outermost element of an XML file; `expected` says for complaints what the file should be."""
    file = os.fspath(path)
    return elements_of(read_text(file, None), file, expected)


def elements_of(content: bytes, file: str, expected: str) -> Element:
    """The outermost element of the text of an XML file."""
    # Platforms that Batsim ships begin with an empty line, which XML forbids and SimGrid's parser takes.
    text = content.lstrip(b" \t\r\n")
    skipped = content[: len(content) - len(text)].count(b"\n")
    collector = _Collector(file, skipped, expected)
    try:
        parse(io.BytesIO(text), collector, forbid_entities=True, forbid_external=False)
    except SAXParseException as error:
        line = (error.getLineNumber() or 0) + skipped
        raise InputError(f"{file}, line {line}: not valid XML: {error.getMessage()}; expected {expected}") from error
    except DefusedXmlException as error:
        raise InputError(f"{file}: declares an entity, which is not read; write out what it stands for") from error
    except (ValueError, LookupError) as error:
        raise InputError(f"{file}: not valid XML: {shown(str(error))}; expected {expected}") from error
    assert collector.outermost is not None, "a file without an element is not valid XML"
    return collector.outermost
