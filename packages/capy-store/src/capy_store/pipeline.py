"""Text -> slices of rows, in one pass and flat memory: clean, redact, detect, chunk, pack. Tallies on the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from .documents import Chunk
from .intake import cleaned, whole_lines

if TYPE_CHECKING:
    from .rows import Slice

# Characters that are packed and written at a time. Large: FTS5 writes out what it has gathered at every statement
# that puts in several rows, so many small slices make many small index parts, which then have to be merged
SLICE = 2 << 20


class TextPart(NamedTuple):
    """A text under a title: the whole document, or one stream of a command. `content_type` "" means detect it."""

    title: str
    content_type: str
    blocks: Iterable[str]


class Reading:
    """One pass over a document: its parts, or chunks that were cut by someone else.

    Args:
        name: a file name or label, whose suffix helps to tell the type.

    The tallies (`hash`, `bytes`, `lines`, `redactions`, `content_type`) are complete when `slices` is exhausted.
    """

    def __init__(
        self,
        parts: Iterable[TextPart] = (),
        *,
        chunks: Iterable[Chunk] | None = None,
        name: str = "",
        content_type: str = "",
    ) -> None:
        self._parts, self._given, self._name = parts, chunks, name
        self._hash = sha256()
        self.bytes = self.redactions = 0
        self._newlines, self._open_line = 0, False
        self.content_type = content_type

    @property
    def hash(self) -> bytes:
        """SHA-256 of the redacted text."""
        return self._hash.digest()

    @property
    def lines(self) -> int:
        return self._newlines + self._open_line

    def slices(self) -> Iterator[Slice]:
        """The rows, about `SLICE` characters at a time."""
        from .rows import pack

        chunks: list[Chunk] = []
        size = 0
        for chunk in self._chunks():
            chunks.append(chunk)
            size += len(chunk.body)
            if size >= SLICE:
                yield pack(chunks)
                chunks, size = [], 0
        if chunks:
            yield pack(chunks)

    def _chunks(self) -> Iterator[Chunk]:
        from .chunk import chunker
        from .chunk.detect import detect

        if self._given is not None:
            yield from self._checked(self._given)
        for part in self._parts:
            cutter = None
            for block in self._redacted(part.blocks):
                if cutter is None:
                    kind = part.content_type or detect(block, self._name)
                    self.content_type = self.content_type or kind
                    cutter = chunker(kind, part.title, block, line=self.lines + 1)
                self._count(block)
                yield from cutter.feed(block)
        self.content_type = self.content_type or "text"

    def _checked(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        from capy_core.secrets import redact, redact_counted

        from .chunk.transcript import given

        for chunk in chunks:
            body, count = redact_counted(chunk.body)
            self.redactions += count
            clean = chunk._replace(title=redact(chunk.title), body=body)
            self._hash.update(clean.title.encode() + b"\0")
            self._count(body)
            yield from given([clean])

    def _redacted(self, blocks: Iterable[str]) -> Iterator[str]:
        from capy_core.secrets import StreamRedactor

        redactor = StreamRedactor()

        def pieces() -> Iterator[str]:
            for block in cleaned(whole_lines(blocks)):
                yield redactor.feed(block)
            yield redactor.finish()
            self.redactions += redactor.count

        return whole_lines(pieces())

    def _count(self, block: str) -> None:
        data = block.encode()
        self._hash.update(data)
        self.bytes += len(data)
        self._newlines += block.count("\n")
        self._open_line = not block.endswith("\n")
