"""Which units are shown, within a budget of bytes: both ends first, then by worth, each with what it needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, takewhile, zip_longest

from .asked import Asked
from .notable import notable
from .page import Page
from .records import names
from .worth import by_worth

LARGEST = 6000
SMALLEST = 1000  # a text that is not larger comes whole
SHARE = 0.4
# times the square root of the text's size when packed: a larger text needs relatively less, and one that repeats itself
# little (prose, code) relatively more
ROOT = 44.0
_PACKED = 1 << 20  # characters that are enough to tell
MORE = 0.5  # of a budget for each further question
HEAD, TAIL = 3, 5
ENDS = 0.3  # of the budget, at most
ANNOUNCED = 4  # lines that go along with one that ends in a colon


def budget_for(text: str, questions: int = 1) -> int:
    """The bytes to show of a text, for so many questions about it."""
    import zlib

    data = text[:_PACKED].encode("utf-8", "surrogatepass")
    share = SHARE * (len(data) if len(text) <= _PACKED else len(text))
    one = min(LARGEST, share, ROOT * len(zlib.compress(data, 1)) ** 0.5)
    return int(max(SMALLEST, min(one * (1 + MORE * (questions - 1)), share)))


def gap(line: int) -> str:
    """The mark before a line that does not follow the last one shown."""
    return f"[l. {line}]"


def choose(page: Page, asked: Sequence[Asked], budget: int, *, failed: bool) -> dict[int, str]:
    """The units to show -> why: match, failure, summary, head, tail, or context."""
    special = notable(page)
    choice = _Choice(page, budget, len(gap(page.lines[-1])) + 1)
    if len(page.text) > budget or not choice.add_all(range(len(page.units)), "context"):
        choice = _Choice(page, int(budget * ENDS), choice.gap)
        choice.add_ends()
        choice.left += budget - int(budget * ENDS)
        pools = [by_worth(page, one, special, failed=failed) for one in asked]
        for unit in chain.from_iterable(zip_longest(*pools)):  # the questions take turns
            if unit is not None and choice.add(unit, "context"):
                for other in _needed(page, unit):
                    choice.add(other, "context")
    matched = set().union(*(term.met for one in asked for term in one.terms))
    for unit, place in choice.why.items():
        choice.why[unit] = special[unit][1] if unit in special else "match" if unit in matched else place
    return choice.why


@dataclass(slots=True)
class _Choice:
    """The units picked so far and why, the bytes that are left, and those that a gap costs."""

    page: Page
    left: int
    gap: int
    why: dict[int, str] = field(default_factory=dict)

    def add(self, unit: int, why: str) -> bool:
        """Pick a unit; False when there is no room for it."""
        if unit in self.why:
            return True
        text = self.page.units[unit]
        size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
        joined = (unit - 1 in self.why and self.page.follows(unit)) or (
            unit + 1 in self.why and self.page.follows(unit + 1)
        )
        size += 1 if joined else 1 + self.gap
        if size > self.left:
            return False
        self.left -= size
        self.why[unit] = why
        return True

    def add_ends(self) -> None:
        """Pick the last and the first units, as long as there is room."""
        total = len(self.page.units)
        tail = range(total - 1, max(total - 1 - TAIL, -1), -1)
        self.add_all(tail, "tail")
        self.add_all(range(min(HEAD, total)), "head")

    def add_all(self, units: Iterable[int], why: str) -> bool:
        """Pick units until there is no room; False when there was none for all."""
        return all(self.add(unit, why) for unit in units)


def _needed(page: Page, unit: int) -> Iterator[int]:
    """The lines without which a unit is not understood: what names its record, what it announces."""
    yield from names(page, unit)
    if page.units[unit].endswith(":"):
        following = range(unit + 1, min(unit + 1 + ANNOUNCED, len(page.units)))
        yield from takewhile(lambda other: page.units[other], following)
