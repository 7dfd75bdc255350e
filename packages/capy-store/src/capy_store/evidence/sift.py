"""A text too long to read whole -> the lines of it that may matter: both ends, and what holds a wanted word."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from .page import lower_case

LONGEST = 8_000_000  # characters that are read whole
_HEAD, _TAIL = 50_000, 500_000
_KEPT = 3_000_000  # characters of lines between the ends
_BLOCK = 4_000_000
_MOST = 2_000  # lines of a block that one word brings
_LINE, _OVERLAP = 4_000, 100  # of a line longer than twice that, so much at a time


def sift(text: str, wanted: Collection[str]) -> list[tuple[int, str]]:
    """Lines of a text, in order, each with its number from 1; of an endless line pieces.

    One pass over blocks, whatever the length. The lines that hold most of the wanted words are kept, as far as there
    is room; those that follow one come last.

    Args:
        wanted: beginnings of words, lower case.
    """
    head, tail = _line_end(text, _HEAD), text.rfind("\n", 0, len(text) - _TAIL) + 1
    tail = max(tail, head)
    if len(text) - tail > 2 * _TAIL:  # one endless line
        tail = len(text) - _TAIL
    found: list[tuple[int, int, int]] = []  # words held, start, end
    at = head
    while at < tail:
        end = min(tail, _line_end(text, at + _BLOCK))
        found += _held(text, at, end, wanted)
        at = end
    found.sort(reverse=True)
    kept, size = [], 0
    for _, start, end in found:
        size += end - start
        if size > _KEPT:
            break
        kept.append((start, end))
    return [*_numbered(text, [(0, head), *sorted(kept), (tail, len(text))])]


def _held(text: str, start: int, end: int, wanted: Collection[str]) -> list[tuple[int, int, int]]:
    """The lines of a block that hold something: how many of the words, start and end in the text."""
    block = lower_case(text[start:end].split("\n"))
    counts: dict[tuple[int, int], int] = {}
    for word in wanted:
        at, left = block.find(word), _MOST
        while at >= 0 and left:
            before = block.rfind("\n", max(0, at - _LINE), at)
            line = before + 1 if before >= 0 or at < _LINE else at - at % _LINE
            stop = block.find("\n", at, line + 2 * _LINE) + 1 or min(line + _LINE + _OVERLAP, len(block))
            counts[line, stop] = counts.get((line, stop), 0) + 1
            left -= 1
            at = block.find(word, stop)
    found = [(count, start + first, start + last) for (first, last), count in counts.items()]
    for _, last in list(counts):
        after = block.find("\n", last, last + _LINE) + 1
        if after and (last, after) not in counts:
            found.append((0, start + last, start + after))
    return found


def _numbered(text: str, spans: list[tuple[int, int]]) -> Iterator[tuple[int, str]]:
    number, at = 1, 0
    for start, end in spans:
        start = max(start, at)
        if end <= start:
            continue
        number += text.count("\n", at, start)
        for line in text[start:end].removesuffix("\n").split("\n"):
            yield number, line
            number += 1
        if text[end - 1] != "\n":
            number -= 1
        at = end


def _line_end(text: str, at: int) -> int:
    """The end of the line at a place; of an endless one that very place."""
    end = text.find("\n", at, at + _BLOCK)
    return min(at, len(text)) if end < 0 else end + 1
