"""Text -> chunks. `chunker` gives the right one; each takes text block by block and gives it back as chunks.

Common to all: bodies are verbatim slices that joined are the text, sizes are bounded, line ranges are exact, and no
input makes them recurse or go quadratic.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from ..documents import Chunk


class Chunker(Protocol):
    """Takes a text block by block; a block ends at the end of a line, a line too long for that is cut."""

    def feed(self, block: str) -> Iterator[Chunk]:
        """The chunks of a block, which joined are the block."""


def chunker(content_type: str, title: str, sample: str, *, line: int = 1) -> Chunker:
    """The chunker for a content type.

    Args:
        title: the title of chunks that have no heading or key path of their own.
        sample: the beginning of the text.
        line: the number of its first line.
    """
    if content_type == "markdown":
        from .markdown import Markdown

        return Markdown(title, line=line)
    if content_type == "json":
        from .json import Json

        return Json(title, line=line)
    if content_type == "output":
        from .lines import Output

        return Output(title, sample, line=line)
    from .cut import CODE, PARAGRAPHS, PROSE_SIZE, Cutter

    code = content_type == "code"
    return Cutter(title, PROSE_SIZE, CODE if code else PARAGRAPHS, is_code=code, line=line)
