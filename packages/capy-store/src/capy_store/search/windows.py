"""Cut a chunk of tool output into windows: a few whole lines each, small enough to *be* the answer."""

from __future__ import annotations

SMALLEST, LARGEST = 240, 900  # characters that lines are added up to
_LINE = 600  # a line longer than that, and than a window by a third, is cut between tokens
_ALL = 9000

_PARTS = ("},{", "}, {")  # between two records on one line
_MARKS = " \t,;&|>}])"
_BLANK = " \t\r"


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
    lines: list[int] = []  # where the lines of the second half begin
    start = at = 0
    length = len(text)
    while at < length:
        newline = text.find("\n", at)
        end = length if newline < 0 else newline + 1
        if at - start >= size // 2:
            lines.append(at)
        while at > start and end - start > size:
            cut = min(lines, key=lambda line: (_depth(text, line), -line)) if lines else at
            spans.append((start, cut))
            start = cut
            lines = [line for line in lines if line - start >= size // 2]
        while end - start > most:
            cut = _cut(text, start, start + most)
            spans.append((start, cut))
            start = cut
        at = end
    if start < length:
        spans.append((start, length))
    return spans


def _depth(text: str, line: int) -> int:
    """How deep inside of something a line begins: 0 after a blank line, else by its indentation."""
    above = text.rfind("\n", 0, line - 1) + 1
    if not text[above:line].strip():
        return 0
    end = line
    while text[end : end + 1] in _BLANK and end < len(text):
        end += 1
    depth = 1 + end - line
    return depth + _LINE if text[end : end + 1] in "}])" else depth


def _cut(text: str, start: int, end: int) -> int:
    """The last place between two records in the second half of a piece, else between two tokens, else its end."""
    half = start + (end - start) // 2
    best = max(text.rfind(mark, half, end) for mark in _PARTS)
    if best > 0:
        return best + 2
    best = max(text.rfind(mark, half, end) for mark in _MARKS)
    return best + 1 if best > 0 else end
