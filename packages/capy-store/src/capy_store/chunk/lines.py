"""Tool output and logs -> chunks of whole lines. The title says where they come from: the command or label, the
header row of a table, the CI step that printed them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..documents import Chunk
from .cut import LINES, Cutter

SIZE = 2000
_HEADER = 300  # the longest header row that is repeated
_STEP = re.compile(r"^(?:##\[group\]|::group::)(.*)$", re.MULTILINE)
_CAPITALS = re.compile(r"[A-Z%#][A-Z0-9_%/()#.-]*(?:(?: |\t| {2,})[A-Z%#][A-Z0-9_%/()#.-]*){2,}\s*")


class Output(Cutter):
    """The chunker. The step in force carries over from block to block."""

    def __init__(self, title: str, sample: str, *, line: int = 1) -> None:
        header = header_row(sample)
        self._base = f"{title} | {header}" if header else title
        super().__init__(self._base, SIZE, LINES, line=line)

    def feed(self, block: str) -> Iterator[Chunk]:
        """The chunks of a block; a block should end at the end of a line. A step begins a chunk of its own."""
        start = 0
        steps = _STEP.finditer(block) if "group" in block else ()  # the plain search is ten times quicker
        for step in steps:
            yield from super().feed(block[start : step.start()])
            start = step.start()
            self.title = f"{self._base} > {step[1].strip()[:120]}"
        yield from super().feed(block[start:])


def header_row(sample: str) -> str:
    """The header row of a CSV, TSV or column table; "" when the text is none."""
    rows = [row for row in sample[:8000].split("\n")[:12] if row.strip()]
    if len(rows) < 3 or len(rows[0]) > _HEADER:
        return ""
    for mark in ("\t", ",", ";", "|"):
        columns = rows[0].count(mark)
        if columns >= 2 and sum(row.count(mark) >= columns for row in rows[1:-1]) >= 0.8 * (len(rows) - 2):
            return "" if _is_data(rows[0].split(mark)) else rows[0].strip()
    return " ".join(rows[0].split()) if _CAPITALS.fullmatch(rows[0]) else ""


def _is_data(cells: list[str]) -> bool:
    return sum(any(char.isdigit() for char in cell) for cell in cells) > len(cells) / 2
