"""Which units are shown, within a budget of bytes: both ends first, then by worth, each with the lines it needs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest

from .asked import Asked
from .notable import notable, shape
from .page import Page
from .records import names
from .score import scores

LARGEST = 6000
SHARE = 0.25
ROOT = 22.0  # times the square root of the size: a larger output needs relatively less
MORE = 0.5  # of a budget for each further question
HEAD, TAIL = 3, 5
ENDS = 0.3  # of the budget, at most
COMPARED = 3000
ALIKE, SAME = 0.97, 0.7  # what each earlier line of the same shape, the same text leaves of a line's worth
FLOOR = 0.05
NOTABLE, ABOUT = 0.35, 0.6  # worth of the clearest failure line beside the best match; when failure is the question
PASSED = 0.5
GAP = 10  # bytes of the mark before lines that do not follow the last

_PASSED = re.compile(r"^\W*(?:\[[^\]]*\] *)?(?:PASS(?:ED)?|OK|ok|SUCCESS)\b|\.\.\. ok$|\b(?:PASSED|SUCCESS)\b")
_TELLS = re.compile(r"[^\W_]{2}|<<<|>>>|===")


def budget_for(size: int, questions: int = 1) -> int:
    """The bytes of a reply about an output of `size` bytes."""
    one = min(LARGEST, SHARE * size, ROOT * size**0.5)
    return int(min(one * (1 + MORE * (questions - 1)), SHARE * size))


@dataclass(slots=True)
class Choice:
    """The units picked so far and why, and the bytes that are left."""

    page: Page
    left: int
    why: dict[int, str] = field(default_factory=dict)

    def add(self, unit: int, why: str) -> bool:
        """Pick a unit; False when there is no room for it."""
        if unit in self.why:
            return True
        if not 0 <= unit < len(self.page.units):
            return False
        text = self.page.units[unit]
        size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
        size += 1 if unit - 1 in self.why or unit + 1 in self.why else 1 + GAP
        if size > self.left:
            return False
        self.left -= size
        self.why[unit] = why
        return True


def choose(page: Page, asked: Sequence[Asked], budget: int, *, failed: bool) -> dict[int, str]:
    """The units to show -> why: head, match, failure, summary or tail."""
    choice = Choice(page, int(budget * ENDS))
    _both_ends(choice)
    choice.left += budget - int(budget * ENDS)
    special = notable(page)
    pools = [_by_worth(page, one, special, failed=failed) for one in asked]
    for unit in chain.from_iterable(zip_longest(*pools)):  # the questions take turns
        if unit is not None and choice.add(unit, special[unit][1] if unit in special else "match"):
            for other in _needed(page, unit):
                choice.add(other, "match")
    return choice.why


def _both_ends(choice: Choice) -> None:
    total = len(choice.page.units)
    for unit in range(total - 1, max(total - 1 - TAIL, -1), -1):
        if not choice.add(unit, "tail"):
            break
    for unit in range(min(HEAD, total)):
        if not choice.add(unit, "head"):
            break


def _by_worth(page: Page, asked: Asked, special: dict[int, tuple[float, str]], *, failed: bool) -> list[int]:
    """The units that match a question or are notable, the most worth first."""
    matched = scores(page, asked)
    top = max(matched.values(), default=0.0) or 1.0
    worth = {unit: score / top for unit, score in matched.items()}
    about_failure = failed or asked.query.about_failure
    if about_failure:
        for unit in worth:
            if _PASSED.search(page.units[unit][:300]):
                worth[unit] *= PASSED
    weight = ABOUT if about_failure else NOTABLE
    for unit, (score, _) in special.items():
        worth[unit] = worth.get(unit, 0.0) + weight * score
    best = sorted(worth.items(), key=lambda item: (-round(item[1], 9), -item[0]))[:COMPARED]
    varied = sorted(_varied(page, best), key=lambda item: (-item[1], item[0]))
    return [unit for unit, _ in varied]


def _varied(page: Page, best: list[tuple[int, float]]) -> Iterator[tuple[int, float]]:
    """Less worth for what repeats: the same line once more, or one of the same shape."""
    shapes, texts = Counter[str](), Counter[str]()
    for unit, worth in best:
        text = page.units[unit].strip()
        its = shape(text)
        yield unit, worth * max(FLOOR, ALIKE ** shapes[its]) * max(2 * FLOOR, SAME ** texts[text])
        shapes[its] += 1
        texts[text] += 1


def _needed(page: Page, unit: int) -> Iterator[int]:
    """The lines without which a unit is not understood: what names its record, and the line after it."""
    yield from names(page, unit)
    if unit + 1 < len(page.units) and _TELLS.search(page.units[unit + 1]):
        yield unit + 1
