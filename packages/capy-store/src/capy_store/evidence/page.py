"""An output made ready: no colour codes, no overwritten progress, no runner time stamps, no endless lines."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from ..intake import cleaned
from ..search.matching import lowered

LONGEST = 600  # characters; a longer line is read in pieces
PIECE = 300

_MARKS = " \t,;&|>}])"
_ENDS = ("},{", "}, {", "],[")


@dataclass(slots=True)
class Page:
    """The text as units: lines, or pieces of lines that are too long.

    Args:
        units: their texts, verbatim apart from what was cleaned away.
        lines: for each unit the number of its line, from 1.
        starts: for each unit its place in `text`.
        text: the units joined by newlines.
        low: the same in lower case; each character at its place.
    """

    units: list[str]
    lines: list[int]
    starts: list[int]
    text: str
    low: str

    def at(self, place: int) -> int:
        """The unit that holds a place of the text."""
        return bisect_right(self.starts, place) - 1

    def follows(self, unit: int) -> bool:
        """True when a unit is what follows the one before it in the whole text."""
        return unit > 0 and self.lines[unit] - self.lines[unit - 1] <= 1


def read(text: str, numbers: Sequence[int] = ()) -> Page:
    """Clean a text and cut it into units.

    Args:
        numbers: those of its lines, where it is only a part of a text.
    """
    if "\r" in text:
        text = _without_progress(text)
    raw = [line.rstrip() for line in "".join(cleaned([text])).split("\n")]
    if len(raw) > 1 and not raw[-1]:
        raw.pop()
    units, lines = raw, list(numbers[: len(raw)] or range(1, len(raw) + 1))
    if max(map(len, raw)) > LONGEST:
        units, lines = [], []
        for number, line in zip(numbers or range(1, len(raw) + 1), raw, strict=False):
            pieces = [line] if len(line) <= LONGEST else _pieces(line)
            units += pieces
            lines += [number] * len(pieces)
    starts = [0, *accumulate([len(unit) + 1 for unit in units])]
    starts.pop()
    return Page(units, lines, starts, "\n".join(units), lower_case(units))


def lower_case(lines: Sequence[str]) -> str:
    """Lines joined by newlines, in lower case, each character at its place; line by line, for most are ASCII."""
    return "\n".join(map(lowered, lines))


def _without_progress(text: str) -> str:
    """Lines as a terminal shows them in the end: what follows the last carriage return."""
    if "\n" not in text:
        return text.replace("\r", "\n")
    text = re.sub("\r+\n", "\n", text)
    if "\r" not in text:
        return text
    return "\n".join([_last_state(line) if "\r" in line else line for line in text.split("\n")])


def _last_state(line: str) -> str:
    return next((part for part in reversed(line.split("\r")) if part.strip()), "")


def _pieces(line: str) -> list[str]:
    """A long line cut between records of JSON where a record ends nearby, else between tokens."""
    pieces, start, length = [], 0, len(line)
    while length - start > LONGEST:
        end = start + PIECE
        best = max(line.rfind(mark, start + PIECE // 2, end + PIECE // 2) for mark in _ENDS)
        if best < 0:
            best = max(line.rfind(mark, start + PIECE // 2, end) for mark in _MARKS)
        cut = best + 1 if best > 0 else end
        pieces.append(line[start:cut])
        start = cut
    pieces.append(line[start:])
    return pieces
