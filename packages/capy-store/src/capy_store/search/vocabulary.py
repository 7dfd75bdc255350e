"""Typing errors: indexed words that a word which is not in the index may have been meant to be.

The index's words are stems, in order, so that those with the same beginning are read without a scan of the rest.
"""

from __future__ import annotations

import json
import string
from dataclasses import dataclass

from capy_core.database import Connection
from capy_core.porter import stem

_MOST_ROWS = 20_000
_MOST_GUESSES = 8
_SHORTEST_START = 5  # letters of a word whose ending is mistyped that must be a stem
_TWO_EDITS_FROM = 8  # letters
_REPLACE_FROM = 5  # in a word of four letters another letter makes another word
_KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_RANGES = """
SELECT term, doc FROM json_each(?) CROSS JOIN temp.terms
WHERE term >= value ->> 0 AND term < value ->> 1 AND length(term) BETWEEN ? AND ? LIMIT ?
"""
_STARTS = "SELECT term FROM json_each(?) CROSS JOIN temp.terms WHERE term = value"


@dataclass(frozen=True)
class Guess:
    """An indexed stem near the unknown word's. `word` is a word that has this stem."""

    word: str

    def distance(self, wrong: str, surface: str, *, lenient: bool) -> int | None:
        """The edits between the unknown word and a written form of this one; None when they are too many.

        Edits are counted as optimal string alignment: insert, drop, replace a letter, or swap two neighbours. One is
        allowed; two when lenient, from eight letters on, and after the same first letter.
        """
        from rapidfuzz.distance import OSA

        most = 2 if lenient and len(wrong) >= _TWO_EDITS_FROM and wrong[0] == surface[0] else 1
        distance = OSA.distance(wrong, surface, score_cutoff=most)
        if distance > most or (len(wrong) < _REPLACE_FROM and _is_replacement(wrong, surface)):
            return None
        return distance


def nearest(db: Connection, word: str, *, lenient: bool) -> list[Guess]:
    """Indexed stems that `word` (lower case, not indexed) may have been meant to be, the likeliest first.

    Words with digits and those under four letters are never corrected. Ties go to the longer common beginning, then
    the more frequent, then the alphabet. Edits among the first two letters are looked for when no stem that begins
    alike is near. Last come the stems that the word begins with: what follows may be a mistyped ending, which leaves a
    word its whole length, far from any stem (`permutaion`).
    """
    wrong = stem(word)
    if len(word) < 4 or len(wrong) < 3 or not word.isalpha() or not word.isascii():
        return []
    _open_terms(db)
    most = 2 if lenient and len(word) >= _TWO_EDITS_FROM else 1
    # a mistyped word may have another ending, and then its stem is further off than the word: `acces`
    forms = {word, wrong}
    near = _near(db, forms, [_range(wrong[:2])], most) or _near(db, forms, _other_beginnings(wrong), 1)
    order = sorted((distance, -_common(wrong, term), -count, term) for term, (distance, count) in near.items())
    guesses = [spelled(term) for *_, term in order[:_MOST_GUESSES]]
    return [Guess(guess) for guess in dict.fromkeys((*guesses, *_begun(db, word)))]


def spelled(stem_: str) -> str:
    """A word whose stem is `stem_`: a stem's own stem may be another, as `databas` gives `databa`."""
    for ending in ("", "e", "s", "ed", "ing", "ion", "er"):
        if stem(stem_ + ending) == stem_:
            return stem_ + ending
    return stem_[:-1] + "y" if stem(stem_[:-1] + "y") == stem_ else stem_


def _begun(db: Connection, word: str) -> list[str]:
    """Words whose stem is a beginning of `word`, the longest first."""
    starts = json.dumps([word[:end] for end in range(len(word) - 1, _SHORTEST_START - 1, -1)])
    return [spelled(term) for (term,) in db.execute(_STARTS, (starts,))]


def _open_terms(db: Connection) -> None:
    """The index's words as a table of this connection. It is no file's, but `query_only` forbids it all the same."""
    (query_only,) = db.execute("PRAGMA query_only").fetchone()
    db.execute("PRAGMA query_only = OFF")
    try:
        db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.terms USING fts5vocab(main, chunks_fts, row)")
    finally:
        db.execute(f"PRAGMA query_only = {query_only}")


def _near(db: Connection, forms: set[str], ranges: list[tuple[str, str]], most: int) -> dict[str, tuple[int, int]]:
    """Term -> its distance from the nearest of the forms, and the chunks that hold it."""
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    shortest, longest = min(map(len, forms)) - most, max(map(len, forms)) + most
    parameters = (json.dumps(ranges), shortest, longest, _MOST_ROWS)
    counts: dict[str, int] = dict(db.execute(_RANGES, parameters).fetchall())
    terms = [term for term in counts if term.isalpha()]
    near: dict[str, tuple[int, int]] = {}
    for form in forms:
        for term, distance, _ in process.extract(form, terms, scorer=OSA.distance, score_cutoff=most, limit=None):
            near[term] = min(near.get(term, (distance, 0))[0], distance), counts[term]
    return near


def _other_beginnings(word: str) -> list[tuple[str, str]]:
    """Ranges for one edit among the first two letters: swapped, one too many, one missing, the next key hit.

    Each costs 0.1 ms. A missing first letter needs none: the rest of the word is found inside the word.
    """
    first, second, rest = word[0], word[1], word[2:4]
    beginnings = {second + first + rest, first + rest[:1] + second + rest[1:], word[1:5], first + word[2:5]}
    beginnings |= {key + second + rest for key in _next_keys(first)} | {
        first + key + rest for key in _next_keys(second)
    }
    beginnings |= {first + letter + word[1:3] for letter in string.ascii_lowercase}
    return [_range(beginning) for beginning in sorted(beginnings)]


def _next_keys(letter: str) -> set[str]:
    row = next(number for number, keys in enumerate(_KEYBOARD) if letter in keys)
    at = _KEYBOARD[row].index(letter)
    around = [(row, at - 1), (row, at + 1), (row - 1, at), (row - 1, at + 1), (row + 1, at - 1), (row + 1, at)]
    return {_KEYBOARD[r][c] for r, c in around if 0 <= r < 3 and 0 <= c < len(_KEYBOARD[r])}


def _range(beginning: str) -> tuple[str, str]:
    return beginning, beginning[:-1] + chr(ord(beginning[-1]) + 1)


def _common(a: str, b: str) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _is_replacement(a: str, b: str) -> bool:
    return len(a) == len(b) and sorted(a) != sorted(b)
