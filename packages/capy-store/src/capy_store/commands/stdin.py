"""Is stdin a pipe of records, or plain text? The first line that is not blank decides; nothing of it is lost."""

from __future__ import annotations

import io
import re
from typing import Any, BinaryIO

from capy_core import records

_SCHEMA = re.compile(rb'"schema"\s*:\s*"capy\.(?:exec\.result|document)/\d+"')
_PIECE = 1 << 20
_LONGEST = 64 << 20  # a first line that has not named its schema by then is plain text
_BLANK = b"\xef\xbb\xbf\x00 \t\r\n"


def sniff(stream: BinaryIO) -> tuple[str, BinaryIO]:
    """What a stream holds, "records", "text" or "" (nothing), and the stream from its beginning."""
    head = bytearray()
    line = b""
    while not line.strip(_BLANK):
        line = stream.readline(_PIECE)
        head += line
        if not line:
            return "", io.BytesIO(head)
    start = len(head) - len(line)
    if not line.lstrip(_BLANK).startswith(b"{"):
        return "text", _rejoined(head, stream)
    while not head.endswith(b"\n") and len(head) - start < _LONGEST:
        if _SCHEMA.search(head, max(start, len(head) - _PIECE - 64)):
            return "records", _rejoined(head, stream)  # long already: not parsed twice
        piece = stream.readline(_PIECE)
        if not piece:
            break
        head += piece
    return "records" if _is_record(bytes(head[start:])) else "text", _rejoined(head, stream)


def _is_record(line: bytes) -> bool:
    if not _SCHEMA.search(line):
        return False
    try:
        value = records.loads(line.strip(_BLANK))
    except ValueError:
        return True  # a record that is cut off: better an error that says so than a text that nobody asked for
    return isinstance(value, dict) and bool(_SCHEMA.search(records.dumps({"schema": value.get("schema")})))


def _rejoined(head: bytearray, rest: BinaryIO) -> BinaryIO:
    if rest.seekable():
        rest.seek(-len(head), io.SEEK_CUR)
        return rest
    return io.BufferedReader(_Joined(bytes(head), rest), _PIECE)


class _Joined(io.RawIOBase):
    """What was read already, then the rest."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head, self._rest = memoryview(head), rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._head:
            return self._read_rest(buffer)
        size = min(len(self._head), len(buffer))
        buffer[:size] = self._head[:size]
        self._head = self._head[size:]
        return size

    def _read_rest(self, buffer: Any) -> int:
        read1 = getattr(self._rest, "read1", self._rest.read)  # what is there now: a pipe's records come one by one
        data = read1(len(buffer))
        buffer[: len(data)] = data
        return len(data)
