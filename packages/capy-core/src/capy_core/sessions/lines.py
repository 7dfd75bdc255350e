"""A file of JSON lines -> its records with their places, however damaged it is, in bounded memory.

Lines end at b"\\n" only: U+2028 and its like are text. A line may hold several objects (a program appended to a file
without a last newline). A line beyond the limit is passed over without being held.
"""

from __future__ import annotations

from collections.abc import Iterator
from json import JSONDecoder
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ..records import loads
from .events import Mark, Origin, Session
from .opening import Damaged, opened
from .report import Gap, Report

LIMIT = 64 << 20  # bytes of one line or one JSON document
_BLOCK = 1 << 20
_BLANK = b"\x00 \t\r\n"  # a crash leaves NUL bytes
_BOM = b"\xef\xbb\xbf"

TORN = "torn: the file ends in the middle of it"
NOT_JSON = "not JSON"
NOT_OBJECT = "JSON, but no object"
TOO_LONG = "longer than the limit"


class Record(NamedTuple):
    """A JSON object and where it lies: the line's number from 1, byte offset and length. `source` as in `Origin`."""

    value: dict[str, Any]
    line: int
    offset: int
    length: int
    source: str = ""


def raw(session: Session, origin: Origin) -> bytes:
    """The JSON that an event was read from, as it stands in the file."""
    with opened(Path(origin.source) if origin.source else session.path) as stream:
        _go_to(stream, origin.offset)
        return stream.read(origin.length)


class _Line(NamedTuple):
    number: int
    offset: int
    size: int  # with its newline
    data: bytes  # cut off when the line is beyond the limit
    ended: bool


def records(path: Path, report: Report, start: Mark | None = None, *, limit: int = LIMIT) -> Iterator[Record]:
    """The JSON objects of a file, in order; everything else is noted in the report.

    Args:
        start: the mark of an earlier reading, to go on from there.
        limit: bytes; a longer line is passed over and noted.

    Raises:
        As `opened`, and SystemFailure when reading fails on the way.
    """
    start = start or Mark()
    report.told, report.offset, report.line = start, start.offset, start.line
    with opened(path) as stream:
        try:
            for line in _lines(stream, start, limit):
                number, offset, size, data, _ = line
                if size <= limit and data.startswith(b"{") and data.endswith(b"}\n"):  # nearly all lines
                    try:
                        value = loads(data)
                    except ValueError:
                        yield from _records(line, report)
                        continue
                    report.lines += 1
                    report.read += 1
                    report.records += 1
                    report.bytes += size
                    yield Record(value, number, offset, size - 1)
                    report.offset, report.line = offset + size, number + 1
                else:
                    yield from _records(line, report)
        except Damaged as ex:
            report.unread(Gap(ex.message, report.line, 1, report.offset, 0))


def _lines(stream: BinaryIO, start: Mark, limit: int) -> Iterator[_Line]:
    number, offset = start.line, start.offset
    _go_to(stream, offset)
    while data := stream.readline(limit + 1):
        size, ended = len(data), data.endswith(b"\n")
        while not ended and size > limit and (more := stream.readline(_BLOCK)):
            size, ended = size + len(more), more.endswith(b"\n")
        yield _Line(number, offset, size, data, ended)
        number, offset = number + 1, offset + size


def _go_to(stream: BinaryIO, offset: int) -> None:
    if stream.seekable():
        stream.seek(offset)
    else:
        while offset and (passed := len(stream.read(min(offset, _BLOCK)))):
            offset -= passed


def _records(line: _Line, report: Report) -> Iterator[Record]:
    """The objects of a line; the line is accounted for, and the mark moved behind it."""
    number, offset, size, ended = line.number, line.offset, line.size, line.ended
    objects, rest = _split(line)
    behind = offset + size
    if rest is None:
        report.lines += 1
        if objects:
            report.read += 1
        else:
            report.blank += 1
    else:
        reason, at, length = rest
        report.unread(Gap(reason, number, 1, at, length, whole=not objects))
        if reason is TORN:
            behind, ended = at, False
    report.records += len(objects)
    report.bytes += size
    for value, at, length in objects:
        yield Record(value, number, at, length)
    report.offset, report.line = behind, number + ended


_Objects = list[tuple[dict[str, Any], int, int]]  # value, offset, length


def _split(line: _Line) -> tuple[_Objects, tuple[str, int, int] | None]:
    """The objects of a line, and what could not be read of it: why, offset, length. Blank: neither."""
    offset = line.offset
    if line.size > len(line.data):
        return [], (TOO_LONG, offset, line.size)
    mark = len(_BOM) if offset == 0 and line.data.startswith(_BOM) else 0
    start = mark + _blanks(line.data[mark:])
    data, offset = line.data[start:].rstrip(_BLANK), offset + start
    if not data:
        return [], None
    try:
        value = loads(data)
    except ValueError:
        return _split_hard(data, offset, TORN if not line.ended else NOT_JSON)
    length = len(data)
    return ([(value, offset, length)], None) if isinstance(value, dict) else ([], (NOT_OBJECT, offset, length))


def _split_hard(data: bytes, offset: int, reason: str) -> tuple[_Objects, tuple[str, int, int] | None]:
    """Several values on one line, or a line that is no JSON from some place on."""
    text = data.decode("utf-8", "surrogateescape")  # every byte stays one byte when encoded again
    objects: _Objects = []
    decoder, at = JSONDecoder(), 0
    while at < len(data):
        try:
            _, end = decoder.raw_decode(text)
            length = len(text[:end].encode("utf-8", "surrogateescape"))
            value = loads(data[at : at + length])
        except (ValueError, RecursionError):
            return objects, (reason, offset + at, len(data) - at)
        if not isinstance(value, dict):
            return objects, (NOT_OBJECT, offset + at, len(data) - at)
        objects.append((value, offset + at, length))
        text = text[end:].lstrip("\x00 \t\r\n")
        at += length + _blanks(data[at + length :])
    return objects, None


def _blanks(data: bytes) -> int:
    return len(data) - len(data.lstrip(_BLANK))
