"""How well each line answers: by its own words, and at a discount by those of the lines beside it."""

from __future__ import annotations

from collections import defaultdict

from .asked import Asked
from .page import Page

AROUND = 240  # characters that a line is read with, itself included
NEAR = 0.4  # what a word in a line beside counts
LITERAL = 0.3
NAMED = 0.2
LENGTH = 120  # characters; a longer line meets more by chance

Words = dict[int, float]  # index of a term -> weight


def scores(page: Page, asked: Asked) -> dict[int, float]:
    """For each unit that holds a word of the question how well it answers, about 0 to 1."""
    own: dict[int, Words] = defaultdict(dict)
    for index, term in enumerate(asked.terms):
        for unit, weight in term.met.items():
            own[unit][index] = weight
    worth = [term.idf * (1 + NAMED * term.is_name) for term in asked.terms]
    total = sum(worth) or 1.0
    found: dict[int, float] = {}
    for unit, met in own.items():
        words = _around(page, unit, own)
        for index, weight in met.items():
            if weight > words.get(index, 0.0):
                words[index] = weight
        score = sum([worth[index] * weight for index, weight in words.items()])
        found[unit] = score / (total * (0.75 + 0.25 * max(1.0, len(page.units[unit]) / LENGTH)))
    for places in asked.literals:
        for unit in places:
            found[unit] = found.get(unit, 0.0) + LITERAL
    return found


def _around(page: Page, unit: int, own: dict[int, Words]) -> Words:
    """The words of the lines beside, within `AROUND` characters."""
    around: Words = {}
    units = page.units
    room = (AROUND - len(units[unit])) / 2
    for step in (-1, 1):
        left, other = room, unit + step
        while 0 <= other < len(units) and left > 0:
            if other in own:
                for index, weight in own[other].items():
                    if weight * NEAR > around.get(index, 0.0):
                        around[index] = weight * NEAR
            left -= len(units[other]) + 1
            other += step
    return around
