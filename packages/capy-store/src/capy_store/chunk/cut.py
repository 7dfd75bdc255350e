"""Cut a text into pieces of bounded size at the best place near the end of each piece. Nothing is lost: the pieces,
joined, are the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..documents import Chunk

# Where a piece may end, best first; each with the share of the piece that must be filled before it is good enough.
Separators = Sequence[tuple[str, float]]
PROSE_SIZE = 4000

LINES: Separators = (("\n", 0.0),)
PARAGRAPHS: Separators = (("\n\n", 0.25), ("\n", 0.25), (". ", 0.5), ("\n", 0.0))
CODE: Separators = (("\n\n\n", 0.5), ("\n}\n\n", 0.5), ("\n\n", 0.25), ("\n", 0.0))
_INSIDE_LINE = (" ", "\t", ",", ";", "}", "|", "&", ">", ".", "/", "。", "、")


def next_cut(text: str, start: int, size: int, separators: Separators) -> int:
    """Where the piece that starts at `start` ends.

    After `size` characters at most, unless one line needs up to 2 * size; a rest under a tenth of it goes along.
    """
    end = start + size
    if end + size // 10 >= len(text):
        return len(text)
    for separator, filled in separators:
        found = text.rfind(separator, start + int(size * filled), end)
        if found >= 0:
            return found + len(separator)
    line_end = text.find("\n", end, end + size)
    if line_end >= 0:
        return line_end + 1
    return _cut_inside_line(text, start + size // 2, end)


def _cut_inside_line(text: str, lowest: int, end: int) -> int:
    for mark in _INSIDE_LINE:
        found = text.rfind(mark, lowest, end)
        if found >= 0:
            return found + 1
    return end


class Cutter:
    """A chunker for text without headings: output, prose, code. Feed whole blocks; each comes back as its chunks."""

    def __init__(self, title: str, size: int, separators: Separators, *, is_code: bool = False, line: int = 1) -> None:
        self.title, self.size, self.separators, self.is_code, self.line = title, size, separators, is_code, line

    def feed(self, block: str) -> Iterator[Chunk]:
        """The chunks of a block; a block should end at the end of a line."""
        start = 0
        while start < len(block):
            end = next_cut(block, start, self.size, self.separators)
            yield self._chunk(block[start:end])
            start = end

    def _chunk(self, body: str) -> Chunk:
        chunk = placed(self.title, body, self.line, is_code=self.is_code)
        self.line += body.count("\n")
        return chunk


def placed(title: str, body: str, line: int, *, is_code: bool = False) -> Chunk:
    """A chunk whose body starts on line `line`; its range leaves out the blank lines at both ends."""
    if not body.strip():
        return Chunk(title, body, line, line, is_code)
    first = line + _newlines_before(body)
    last = line + body.count("\n", 0, len(body.rstrip()))
    return Chunk(title, body, first, last, is_code)


def _newlines_before(body: str) -> int:
    return body.count("\n", 0, len(body) - len(body.lstrip()))
