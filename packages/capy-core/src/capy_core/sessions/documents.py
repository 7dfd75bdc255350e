"""One JSON document over many lines -> its pieces with their places: the members, and the items of some lists.

A document that breaks off, because its host is writing it, gives the pieces before the break.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from json import JSONDecodeError, JSONDecoder
from pathlib import Path
from typing import Any, NamedTuple

from ..records import loads
from .lines import LIMIT, NOT_JSON, TOO_LONG, TORN
from .opening import opened
from .report import Gap, Report

_SPACE = " \t\r\n"
_DECODER = JSONDecoder()


class Piece(NamedTuple):
    """A member's value, or an item of the list that is the member (`item`). The key is "" for a list at the top."""

    key: str
    item: bool
    value: Any
    line: int
    offset: int
    length: int


def pieces(path: Path, lists: frozenset[str], report: Report, *, limit: int = LIMIT) -> Iterator[Piece]:
    """The pieces of a file that holds one document; its lines are accounted for in the report.

    Args:
        lists: members whose items are pieces; those of a list at the top always are.

    Raises:
        As `opened`.
    """
    with opened(path) as stream:
        data = stream.read(limit + 1)
        if len(data) > limit:
            size = len(data)
            while more := stream.read(1 << 20):
                size += len(more)
            report.bytes += size
            report.unread(Gap(TOO_LONG, 1, 1, 0, size))
            return
    report.bytes += len(data)
    text = data.decode("utf-8", "surrogateescape")  # every byte stays one byte when encoded again
    line, offset, seen, last = 1, 0, 0, 0
    lines = data.count(b"\n") + (not data.endswith(b"\n")) if data else 0
    try:
        for key, item, start, end in _scan(text, lists):
            at = offset + len(text[seen:start].encode("utf-8", "surrogateescape"))
            line += data.count(b"\n", offset, at)
            stop = at + len(text[start:end].encode("utf-8", "surrogateescape"))
            report.records += 1
            last = line + data.count(b"\n", at, stop)
            yield Piece(key, item, loads(data[at:stop]), line, at, stop - at)
            line, offset, seen = last, stop, end
    except (_Broken, ValueError, RecursionError) as ex:
        at = offset + len(text[seen : ex.at].encode("utf-8", "surrogateescape")) if isinstance(ex, _Broken) else offset
        line = 1 + data.count(b"\n", 0, at)
        rest = max(lines - line + 1, 1)
        partly = last == line
        report.lines += line - 1
        report.read += line - 1
        reason = TORN if isinstance(ex, _Broken) and (ex.torn or ex.at >= len(text.rstrip())) else NOT_JSON
        report.unread(Gap(reason, line, 1 if partly else rest, at, len(data) - at, whole=not partly))
        if partly and rest > 1:
            report.unread(
                Gap(reason, line + 1, rest - 1, data.find(b"\n", at) + 1, len(data) - data.find(b"\n", at) - 1)
            )
        return
    report.lines += lines
    report.read += lines


_Pieces = Generator[tuple[str, bool, int, int], None, int]  # key, is it an item, start, end; returns where it stops


class _Broken(Exception):
    """No JSON from a place on; `torn` when the text just ends."""

    def __init__(self, at: int, torn: bool = False) -> None:
        self.at, self.torn = at, torn


def _scan(text: str, lists: frozenset[str]) -> _Pieces:
    """Key, whether it is an item, start and end of each piece, in characters."""
    at = _skip(text, int(text.startswith("\ufeff")))
    if text.startswith("[", at):
        at = yield from _items(text, at, "")
    elif text.startswith("{", at):
        at = yield from _members(text, at, lists)
    else:
        raise _Broken(at)
    if _skip(text, at) < len(text):
        raise _Broken(at)
    return at


def _members(text: str, at: int, lists: frozenset[str]) -> _Pieces:
    at = _skip(text, at + 1)
    while not text.startswith("}", at):
        key, at = _value(text, at)
        if not isinstance(key, str) or not text.startswith(":", at := _skip(text, at)):
            raise _Broken(at)
        at = _skip(text, at + 1)
        if key in lists and text.startswith("[", at):
            at = yield from _items(text, at, key)
        else:
            _, end = _value(text, at)
            yield key, False, at, end
            at = end
        at = _separator(text, at, "}")
    return at + 1


def _items(text: str, at: int, key: str) -> _Pieces:
    at = _skip(text, at + 1)
    while not text.startswith("]", at):
        _, end = _value(text, at)
        yield key, True, at, end
        at = _separator(text, end, "]")
    return at + 1


def _separator(text: str, at: int, closing: str) -> int:
    at = _skip(text, at)
    if text.startswith(",", at):
        return _skip(text, at + 1)
    if not text.startswith(closing, at):
        raise _Broken(at)
    return at


def _value(text: str, at: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except JSONDecodeError as ex:
        torn = ex.pos >= len(text.rstrip()) or ex.msg.startswith("Unterminated")
        raise _Broken(at, torn) from None


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at
