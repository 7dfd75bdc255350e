"""What each line of a text is worth to a question: it answers, it tells how things ended, it stands beside one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from .asked import Asked
from .notable import Notable, shape
from .page import Page
from .score import scores
from .tables import extremes

NOTABLE, ABOUT = 0.35, 0.6  # the clearest failure beside the best match; where the question is about failure
PASSED = 0.5  # what is left of a line that tells of success, where the question is about failure
EXTREME = 2.0  # a row with the most or the least of what the question names
WHERE = 0.3  # what the very end has over the other, where the question asks for the first or the last
ALIKE, SAME = 0.97, 0.7  # what each earlier line of the same shape, of the same text leaves
LEAST = 0.05
BEFORE, AFTER = 0.4, 0.6  # what a line's worth gives to the one before it and after it
REACH = 3
SPREADING = 200  # units whose worth spreads
COMPARED = 1500

_PASSED = re.compile(r"^\W*(?:\[[^\]]*\] *)?(?:PASS(?:ED)?|OK|ok|SUCCESS)\b|\.\.\. ok$|\b(?:PASSED|SUCCESS)\b")
_FIRST = re.compile(r"\b(?:first|earliest|initial(?:ly)?|oldest|begin(?:ning)?)\b")
_LAST = re.compile(r"\b(?:last|latest|final(?:ly)?|newest|recent|end)\b")
_TELLS = re.compile(r"[^\W_]{2}|<<<|>>>|===")

Worth = dict[int, float]


def by_worth(page: Page, asked: Asked, notable: Notable, *, failed: bool) -> list[int]:
    """The units that are worth showing, the most worth first; ties as the text has them."""
    about_failure = failed or asked.query.about_failure
    worth = _matched(page, asked, about_failure=about_failure)
    for unit, (score, _) in notable.items():
        worth[unit] = worth.get(unit, 0.0) + score * (ABOUT if about_failure else NOTABLE)
    worth |= dict.fromkeys(extremes(page, asked.query), EXTREME)
    sign = _prefer_place(worth, asked.query.text.lower(), len(page.units))
    best = sorted(worth.items(), key=lambda item: (-round(item[1], 9), sign * item[0]))[:COMPARED]
    pool = dict(_varied(page, best))
    _spread(page, pool)
    return sorted(pool, key=lambda unit: (-pool[unit], unit))


def _matched(page: Page, asked: Asked, *, about_failure: bool) -> Worth:
    """How well units answer, relative to the best."""
    found = scores(page, asked)
    top = max(found.values(), default=0.0) or 1.0
    worth = {unit: score / top for unit, score in found.items()}
    if about_failure:
        for unit in worth:
            if _PASSED.search(page.units[unit][:300]):
                worth[unit] *= PASSED
    return worth


def _prefer_place(worth: Worth, question: str, total: int) -> int:
    """Raise what is early or late, as the question asks for it; 1 when ties go to the earlier, -1 to the later."""
    first, last = bool(_FIRST.search(question)), bool(_LAST.search(question))
    if first != last:
        for unit in worth:
            along = unit / total
            worth[unit] *= 1 + WHERE * (along if last else 1 - along)
    return 1 if first else -1


def _varied(page: Page, best: list[tuple[int, float]]) -> Iterator[tuple[int, float]]:
    """Less worth for what repeats."""
    shapes, texts = Counter[str](), Counter[str]()
    for unit, worth in best:
        text = page.units[unit].strip()
        its = shape(text)
        yield unit, worth * max(LEAST, ALIKE ** shapes[its]) * max(2 * LEAST, SAME ** texts[text])
        shapes[its] += 1
        texts[text] += 1


def _spread(page: Page, pool: Worth) -> None:
    """Give a share of a line's worth to those beside it, up to a blank line; rules of a table are no lines."""
    units = page.units
    for unit, worth in sorted(pool.items(), key=lambda item: (-item[1], item[0]))[:SPREADING]:
        for step, share in ((-1, BEFORE), (1, AFTER)):
            left, reached = worth * share, 0
            for distance in range(1, 2 * REACH + 1):
                other = unit + step * distance
                if reached == REACH or not (0 <= other < len(units) and units[other]):
                    break
                if _TELLS.search(units[other]):
                    pool[other] = max(left, pool.get(other, 0.0))
                    left, reached = left * share, reached + 1
