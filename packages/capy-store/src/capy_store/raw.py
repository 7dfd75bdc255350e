"""The bytes of a file or pipe: hashed and counted as they pass, never more than the limit."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from itertools import chain
from typing import BinaryIO

from capy_core.errors import TooLarge

BLOCK = 1 << 20
PIPE_BUFFER = 12 << 20  # a pipe's text up to this is known whole before anything is written


class RawBytes:
    """The blocks of a stream. `whole_hash` and `whole_size` are known beforehand when it can be read twice or is short.

    Raises:
        TooLarge: it is longer than `limit`.
    """

    def __init__(self, stream: BinaryIO, limit: int, label: str) -> None:
        self._stream, self._limit, self._label = stream, limit, label
        self._head = b""
        self._hash = sha256()
        self.whole_hash: bytes | None = None
        self.whole_size: int | None = None
        if stream.seekable():
            start = stream.tell()
            for block in self._read():
                self._hash.update(block)
            self._finish(stream.tell() - start)
            stream.seek(start)
        else:
            self._head = _read_up_to(stream, PIPE_BUFFER)
            if len(self._head) < PIPE_BUFFER:
                self._hash.update(self._head)
                self._finish(len(self._head))

    def digest(self) -> bytes:
        """SHA-256 of all that was read."""
        return self._hash.digest()

    def __iter__(self) -> Iterator[bytes]:
        self._hash = sha256()
        for block in self._read():
            self._hash.update(block)
            yield block

    def _finish(self, size: int) -> None:
        self.whole_hash, self.whole_size = self._hash.digest(), size

    def _read(self) -> Iterator[bytes]:
        total = 0
        head = (self._head[at : at + BLOCK] for at in range(0, len(self._head), BLOCK))
        for block in chain(head, iter(lambda: self._stream.read(BLOCK), b"")):
            total += len(block)
            if total > self._limit:
                raise too_large(self._label, total, self._limit)
            yield block


def too_large(label: str, size: int, limit: int) -> TooLarge:
    """The error for a text that is longer than the limit; `size` may be a part of it only."""
    from .origin import clean_line

    label = clean_line(label)
    return TooLarge(
        f"{label!r} has {size} bytes or more, and store.max_source_bytes is {limit}",
        "raise store.max_source_bytes, or split the text; nothing of it was stored",
        label=label,
        size=size,
        limit=limit,
        setting="store.max_source_bytes",
    )


def _read_up_to(stream: BinaryIO, size: int) -> bytes:
    parts = []
    while size and (block := stream.read(min(size, BLOCK))):
        parts.append(block)
        size -= len(block)
    return b"".join(parts)
