"""What kind of text is this, and which chunker takes it?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from ..documents import Chunk
from .cut import BLOCKS, LINES, PARAGRAPHS, Cutter

OUTPUT_SIZE = 2000
PROSE_SIZE = 4000


class Chunker(Protocol):
    """Takes the text block by block and gives each block back as chunks."""

    def feed(self, block: str) -> Iterator[Chunk]: ...


def detect(sample: str, path: str = "") -> str:
    """One of documents.CONTENT_TYPES for the beginning of a text."""
    return "text"


def chunker(content_type: str, title: str, sample: str, *, line: int = 1) -> Chunker:
    """The chunker for a type; `sample` is the beginning of the text, `line` the number of its first line."""
    if content_type in ("output", "json"):
        return Cutter(title, OUTPUT_SIZE, LINES, line=line)
    if content_type == "code":
        return Cutter(title, PROSE_SIZE, BLOCKS, is_code=True, line=line)
    return Cutter(title, PROSE_SIZE, PARAGRAPHS, line=line)
