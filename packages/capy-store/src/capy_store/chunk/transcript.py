"""Text that comes in chunks already (transcripts): taken as it is, but nothing may be longer than a chunk can be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..documents import Chunk
from .cut import PARAGRAPHS, Cutter

LONGEST = 16_000


def given(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """The chunks in order; one longer than `LONGEST` in numbered parts of a quarter of it."""
    for chunk in chunks:
        if len(chunk.body) <= LONGEST:
            yield chunk
            continue
        cutter = Cutter(chunk.title, LONGEST // 4, PARAGRAPHS, is_code=chunk.is_code, line=chunk.line_start)
        for number, part in enumerate(cutter.feed(chunk.body), 1):
            title = f"{chunk.title} ({number})" if number > 1 else chunk.title
            yield Chunk(title, part.body, part.line_start, part.line_end, part.is_code)
