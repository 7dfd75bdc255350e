"""Tables: a grid of cells as a Markdown table, a layout table as the blocks that stand in it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .blocks import HEADING, ITEM, PRE, TABLE, Block

_WIDEST_SPAN = 50  # columns that a span may fill or occupy; a real table has fewer


@dataclass
class Cell:
    """One td or th."""

    header: bool
    colspan: int
    rowspan: int
    blocks: list[Block] = field(default_factory=list)


@dataclass
class Table:
    """A table while its cells come in. `loose` is what stands between them (captions, misplaced text)."""

    rows: list[list[Cell]] = field(default_factory=list)
    loose: list[Block] = field(default_factory=list)

    def add_cell(self, header: bool, attributes: dict[str, str]) -> Cell:
        """A new cell in the last row."""
        if not self.rows:
            self.rows.append([])
        cell = Cell(header, _span(attributes.get("colspan")), _span(attributes.get("rowspan")))
        self.rows[-1].append(cell)
        return cell

    def blocks(self, region: int) -> list[Block]:
        """What the table reads as, in order. `region` is the part of the page that it stands in."""
        rows = [row for row in self.rows if any(cell.blocks for cell in row)]
        cells = [cell for row in rows for cell in row]
        if not _is_grid(rows, cells):
            return self.loose + [block for cell in cells for block in cell.blocks]
        return [*self.loose, Block(TABLE, "\n".join(_grid(rows)), region)]


def _is_grid(rows: list[list[Cell]], cells: list[Cell]) -> bool:
    """False for one column, and for cells that hold what a line cannot: then the table only arranges the page."""
    if not any(len(row) > 1 for row in rows):
        return False
    kinds = {block.kind for cell in cells for block in cell.blocks}
    has_headers = any(cell.header for cell in cells)
    return not kinds & {HEADING, PRE, TABLE} and (has_headers or ITEM not in kinds)


def _grid(rows: list[list[Cell]]) -> list[str]:
    """Lines of a GFM table; below a cell of several rows and beside one of several columns stand empty cells."""
    width = max(len(row) for row in rows)
    carried: dict[int, int] = {}  # column -> rows that a cell above still occupies
    lines = []
    for row in rows:
        texts: list[str] = []
        for following, cell in zip(range(len(row) - 1, -1, -1), row, strict=True):
            _skip_occupied(texts, carried)
            column, room = len(texts), width - len(texts) - following
            texts += [_cell_text(cell)] + [""] * (min(cell.colspan, room) - 1)
            if cell.rowspan > 1 and column < _WIDEST_SPAN:
                carried.update(dict.fromkeys(range(column, len(texts)), cell.rowspan))
        _skip_occupied(texts, carried)
        carried = {column: left - 1 for column, left in carried.items() if left > 1}
        lines.append(texts)
    has_header = all(cell.header for cell in rows[0])
    head = lines.pop(0) if has_header else []
    columns = max(map(len, [head, *lines]))
    head += [""] * (columns - len(head))
    return [f"| {' | '.join(texts)} |" for texts in (head, ["---"] * columns, *lines)]


def _skip_occupied(texts: list[str], carried: dict[int, int]) -> None:
    while len(texts) in carried:
        texts.append("")


def _cell_text(cell: Cell) -> str:
    text = " ".join(block.text for block in cell.blocks)
    return " ".join(text.split()).replace("|", "\\|")


def _span(value: str | None) -> int:
    """A span as browsers read it (leading digits), within reason; 1 for "auto", "-2" and the like."""
    match = re.match(r"\s*([0-9]{1,4})", value or "")
    return min(max(int(match[1]), 1), _WIDEST_SPAN) if match else 1
