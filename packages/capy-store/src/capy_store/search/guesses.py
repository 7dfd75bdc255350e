"""What a word that is not in the index was meant to be, as it is written in the store."""

from __future__ import annotations

from typing import NamedTuple

from capy_core.database import Connection

from . import lanes
from .matching import Form, lowered
from .scope import EVERYTHING, Scope
from .vocabulary import Guess, nearest

_ENOUGH = 3  # guesses to compare when one of them will do


class Guessed(NamedTuple):
    """A word as the store writes it, and how many chunks in scope hold it."""

    word: str
    chunks: int


def corrected(db: Connection, word: str, scope: Scope, *, lenient: bool) -> Guessed | None:
    """The word nearest to an unknown one; None when none is near.

    Args:
        lenient: as for `vocabulary.nearest`.
    """
    if scope.ids is not None and lanes.frequency(db, word, EVERYTHING, 0):
        return None  # it is no typing error: other sources hold it
    return _nearest_as_written(db, word, nearest(db, word, lenient=lenient), scope, lenient)


def _nearest_as_written(db: Connection, word: str, guesses: list[Guess], scope: Scope, lenient: bool) -> Guessed | None:
    """The guess whose written form is nearest. The index holds stems, in which different words look alike."""
    best = None
    for number, guess in enumerate(guesses):
        if best and number >= _ENOUGH:
            break
        count = lanes.frequency(db, guess.word, scope)
        ids = lanes.newest(db, guess.word, scope, 3) if count else []
        form = Form(guess.word)
        for row in lanes.fetch(db, ids, scope):
            text = f"{row.title}\n{row.body}"
            low = lowered(text)
            for start, end in form.places(text, low, 12):
                surface = low[start:end]
                distance = guess.distance(word, surface, lenient=lenient)
                if distance is not None and (best is None or (distance, -count, surface) < best):
                    best = (distance, -count, surface)
    return Guessed(best[2], -best[1]) if best else None
