"""Records of JSON and YAML, by indentation: the lines that say which record a line belongs to."""

from __future__ import annotations

import re

from .page import Page

_REACH = 40  # lines up and down
_KEY = re.compile(r'((?: |- )*)"?[\w./-]+"?\s*:(?:\s|$)')
_NAME = re.compile(
    r'(?: |- )*"?\w*(?:name|title|label|slug|path|key|id|message|msg|summary|reason|description)"?\s*:\s*\S',
    re.IGNORECASE,
)


def names(page: Page, unit: int) -> list[int]:
    """The units beside a `key: value` line, in the same record, whose keys name it or say what it is about."""
    found: list[int] = []
    indent = _indent(page.units[unit])
    if indent is None:
        return found
    for step in (-1, 1):
        other = unit + step
        for _ in range(_REACH):
            if not 0 <= other < len(page.units):
                break
            line = page.units[other]
            its = _indent(line)
            if (len(line) - len(line.lstrip()) if its is None else its) < indent:
                break
            if its == indent and _NAME.match(line):
                found.append(other)
            other += step
    return found


def _indent(line: str) -> int | None:
    """Where the key of a line starts, a list's dash before it left out; None for a line without a key."""
    found = _KEY.match(line)
    return found.end(1) if found else None
