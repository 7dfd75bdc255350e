"""Tables: the rows with the most or the least of a column that the question names, and what search cannot compute."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from heapq import nlargest, nsmallest

from capy_core.fts import split_identifier
from capy_core.porter import stem

from ..chunk.lines import header_row
from ..search.terms import Query
from ..search.words import synonyms
from .page import Page

ROWS = 3  # shown of each end
_SAMPLE = 8000
_NUMERIC = 0.8  # of the rows have a number in a column of numbers

_MOST = re.compile(
    r"\b(?:most|max(?:imum)?|(?:larg|bigg|high|great|long|slow|heavi|hott|warm|old|bus|tall|deep|expensiv)i?est|top)\b"
)
_LEAST = re.compile(r"\b(?:least|min(?:imum)?|fewest|(?:small|low|short|fast|quick|light|cold|cool|young|cheap)est)\b")
_COMPUTED = re.compile(r"\b(?:average|mean|median|sum|percentiles?|p\d\d|distinct|unique|per)\b")
_NUMBER = re.compile(r"\s*[$€£]?\s*([+-]?\d[\d,]*(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*([KMGT]i?B?|%|m?s|B|bytes)?\s*")
_UNITS = {
    "K": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "Ki": 2.0**10,
    "Mi": 2.0**20,
    "Gi": 2.0**30,
    "Ti": 2.0**40,
    "ms": 1e-3,
}


def extremes(page: Page, query: Query) -> list[int]:
    """The units of the rows that have the most or the least of a column; [] when the question asks for none."""
    text = query.text.lower()
    most, least = _MOST.search(text), _LEAST.search(text)
    cells = columns(page) if most or least else []
    for column in _named(cells, query):
        values = list(_values(page, cells, column))
        if len(values) >= _NUMERIC * (len(page.units) - 1):
            ends = [*(nlargest(ROWS, values) if most else ()), *(nsmallest(ROWS, values) if least else ())]
            return [unit for _, unit in ends]
    return []


def columns(page: Page) -> list[str]:
    """The names of a table's columns; [] when the text is none."""
    header = header_row(page.text[:_SAMPLE])
    return _cells(header, _mark(header)) if header else []


def note(page: Page, query: Query) -> str:
    """What to do where the answer has to be computed; "" where search is enough."""
    text = query.text.lower()
    if not (_COMPUTED.search(text) or _MOST.search(text) or _LEAST.search(text)):
        return ""
    cells = columns(page)
    if not cells:
        return ""
    return f"search does not compute; run code over the whole, columns: {', '.join(cells)}"[:300]


def _named(cells: list[str], query: Query) -> Iterator[int]:
    """The columns that a word of the question names, the best first."""
    asked: dict[str, float] = {stem(word): 1.0 for word in query.words}
    for word in query.words:
        for other, weight in synonyms(word).items():
            asked.setdefault(stem(other), weight)
    scored = []
    for index, cell in enumerate(cells):
        words = split_identifier(cell.strip()) or re.findall(r"[^\W_]+", cell.lower())
        score = sum(asked.get(stem(word), 0.0) for word in words) / (len(words) + 1)
        if score:
            scored.append((-score, index))
    return (index for _, index in sorted(scored))


def _values(page: Page, cells: list[str], column: int) -> Iterator[tuple[float, int]]:
    """The number in a column and the unit, for each row that has one."""
    mark = _mark(page.units[0])
    for unit in range(1, len(page.units)):
        row = _cells(page.units[unit], mark, len(cells))
        number = _NUMBER.fullmatch(row[column]) if len(row) == len(cells) else None
        if number:
            yield float(number[1].replace(",", "")) * _UNITS.get((number[2] or "").removesuffix("B"), 1.0), unit


def _mark(header: str) -> str:
    """What stands between the columns; "" for blanks."""
    return max(("\t", ",", ";", "|", ""), key=lambda mark: header.count(mark) if mark else 1)


def _cells(row: str, mark: str, most: int = 0) -> list[str]:
    if not mark:
        return row.split(None, most - 1) if most else row.split()
    if '"' in row:
        return next(csv.reader([row], delimiter=mark), [])
    return row.split(mark)
