"""Cut a chunk of tool output into windows: a few whole lines each, small enough to *be* the answer."""

from __future__ import annotations

import re

SMALLEST, LARGEST = 240, 900  # characters that lines are added up to
_LINE = 600  # a line longer than that, and than a window by a third, is cut between tokens
_ALL = 9000

_PARTS = ("},{", "}, {")  # between two records on one line
_MARKS = " \t,;&|>}])"
_INSIDE = " \t}])"  # what a line begins with that belongs to the one above it
_BEGINNING = re.compile(r"\n([ \t]*+)(?=[^\s}\])])")  # of a line that does not close what began above it
_DEEPEST = 100  # characters of indentation that are looked at


def size_for(limit: int) -> int:
    """The size of a window where `limit` are wanted: all together are about `_ALL` characters."""
    return max(SMALLEST, min(LARGEST, _ALL // limit))


def windows(text: str, size: int) -> list[tuple[int, int]]:
    """The windows of a text as (start, end), in order, without gaps: whole lines, or a piece of one long line.

    In its second half a window ends where a part of the text does, if one ends there: before a line that follows a
    blank one, else before the one that is indented least. So the fields of a record stay together.
    """
    most = max(_LINE, size + size // 3)
    spans: list[tuple[int, int]] = []
    start, length = 0, len(text)
    while length - start > size:
        last = text.rfind("\n", start, start + size) + 1
        if last > start:
            end = _end(text, start + size // 2, last)
        else:
            end = text.find("\n", start + size) + 1 or length
            if end - start > most:
                end = _cut(text, start, start + most)
        spans.append((start, end))
        start = end
    if start < length:
        spans.append((start, length))
    return spans


def _end(text: str, first: int, last: int) -> int:
    """The best beginning of a line from `first` to `last`; `last` is one."""
    if first >= last:
        return last
    blank = text.rfind("\n\n", first - 2, last)
    if blank >= 0:
        return blank + 2
    if text[last] not in _INSIDE and text.find("\n ", first, last) < 0 and text.find("\n\t", first, last) < 0:
        return last
    best, depth = last, len(text)
    for line in _BEGINNING.finditer(text, first - 1, last + _DEEPEST):
        if line.start() >= last:
            break
        if len(line[1]) <= depth:
            best, depth = line.start() + 1, len(line[1])
    return best


def _cut(text: str, start: int, end: int) -> int:
    """The last place between two records in the second half of a piece, else between two tokens, else its end."""
    half = start + (end - start) // 2
    best = max(text.rfind(mark, half, end) for mark in _PARTS)
    if best > 0:
        return best + 2
    best = max(text.rfind(mark, half, end) for mark in _MARKS)
    return best + 1 if best > 0 else end
