"""Cut a chunk of tool output into windows: a few whole lines each, small enough to *be* the answer."""

from __future__ import annotations

SMALLEST, LARGEST = 240, 900  # characters that lines are added up to
_LINE = 600  # a line longer than that, and than a window by a third, is cut between tokens
_ALL = 9000

_MARKS = " \t,;&|>}])"


def size_for(limit: int) -> int:
    """The size of a window where `limit` are wanted: all together are about `_ALL` characters."""
    return max(SMALLEST, min(LARGEST, _ALL // limit))


def windows(text: str, size: int) -> list[tuple[int, int]]:
    """The windows of a text as (start, end), in order, without gaps: whole lines, or a piece of one long line."""
    most = max(_LINE, size + size // 3)
    spans: list[tuple[int, int]] = []
    start = at = 0
    length = len(text)
    while at < length:
        newline = text.find("\n", at)
        end = length if newline < 0 else newline + 1
        if at > start and end - start > size:
            spans.append((start, at))
            start = at
        while end - start > most:
            cut = _cut(text, start, start + most)
            spans.append((start, cut))
            start = cut
        at = end
    if start < length:
        spans.append((start, length))
    return spans


def _cut(text: str, start: int, end: int) -> int:
    """The last place between two tokens in the second half of a piece, else its end."""
    best = max(text.rfind(mark, start + (end - start) // 2, end) for mark in _MARKS)
    return best + 1 if best > 0 else end
