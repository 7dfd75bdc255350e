"""A question against one text: which of its words are there, which are meant, and where all of them stand."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from math import log

from ..search.matching import Form
from ..search.terms import Query, parse
from ..search.words import synonyms
from .page import Page

PART, CORRECTED, INSIDE = 0.5, 0.9, 0.7  # what is met counts less than the word itself
PHRASE = 0.5  # two words that follow each other, beside what they count alone
COMMON = 0.2  # of the units; a synonym that is met in more tells nothing
_MOST_PLACES = 20_000  # of one form; what is met more often tells little
_MOST_UNKNOWN = 8  # words that are not in the text and are looked into
_LETTERS = 4  # at least, of a word that is looked into
_TWO_EDITS_FROM = 8  # letters
_NOT = frozenset(("no", "non", "not", "without"))

Met = dict[int, float]  # unit -> weight of the best form that it holds


@dataclass(slots=True)
class Term:
    """A word of the question that the text holds. `idf`: how much meeting it tells."""

    word: str
    met: Met
    idf: float
    is_name: bool = False


@dataclass(slots=True)
class Asked:
    """A question as the text knows it.

    Args:
        literals: where its quoted phrases and names stand verbatim.
        corrected: word of the question -> word that was taken for it.
    """

    query: Query
    terms: list[Term]
    literals: list[Met]
    corrected: dict[str, str] = field(default_factory=dict)


def look_up(page: Page, question: str) -> Asked:
    """Look in the text for all that a question asks for."""
    return _Reader(page, parse(question)).read()


def wanted(question: str) -> set[str]:
    """What a line must hold, in lower case, to meet a word of the question or a synonym."""
    query = parse(question)
    words = [*query.words, *query.parts, *(other for word in query.words for other in synonyms(word))]
    return {*(Form(word).prefix for word in words), *query.pairs, *query.literals}


class _Reader:
    def __init__(self, page: Page, query: Query) -> None:
        self._page, self._query = page, query
        self._unknown = 0
        self._corrected: dict[str, str] = {}

    def read(self) -> Asked:
        query = self._query
        words = {word: self._word(word) for word in query.words}
        terms = [self._term(word, met) for word, met in words.items()]
        terms += [self._term(part, self._met(Form(part, PART))) for part in query.parts]
        terms += [self._term(pair, self._met(Form(pair, anywhere=True))) for pair in query.pairs]
        terms += [self._term(f"{a} {b}", met, PHRASE) for a, b, met in self._phrases(words)]
        literals = [self._met(Form(literal, anywhere=True)) for literal in query.literals]
        return Asked(query, [term for term in terms if term.met], literals, self._corrected)

    def _term(self, word: str, met: Met, weight: float = 1.0) -> Term:
        total, count = len(self._page.units), len(met)
        idf = log(1 + (total - count + 0.5) / (count + 0.5))
        return Term(word, met, idf * weight, word in self._query.names)

    def _word(self, word: str) -> Met:
        met = self._met(Form(word))
        if not met and self._unknown < _MOST_UNKNOWN and len(word) >= _LETTERS:
            self._unknown += 1
            met = self._met(Form(word, INSIDE, anywhere=True)) or self._nearest(word)
        most = COMMON * len(self._page.units) + 5
        for other, weight in synonyms(word).items():
            found = self._met(Form(other, weight))
            if len(found) <= most:
                for unit, its in found.items():
                    met[unit] = max(its, met.get(unit, 0.0))
        return met

    def _met(self, form: Form) -> Met:
        page = self._page
        if form.prefix not in page.low:
            return {}
        places = form.places(page.text, page.low, _MOST_PLACES, 4 * _MOST_PLACES)
        return dict.fromkeys([page.at(start) for start, _ in places], form.weight)

    def _phrases(self, words: dict[str, Met]) -> list[tuple[str, str, Met]]:
        """Pairs of the question's words that stand together in the text too: `not found` in `not-found`."""
        found = []
        for a, b in pairwise(re.findall(r"[^\W_]+", self._query.text.lower())):
            units = words.get(b)
            if not units or not (a in _NOT or words.get(a)):
                continue
            pattern = re.compile(rf"(?<![^\W_]){_any_ending(a)}[\W_]{{1,3}}{_any_ending(b)}(?![^\W_])")
            held = [unit for unit in units if pattern.search(self._page.units[unit].lower())]
            found.append((a, b, dict.fromkeys(held, 1.0)))
        return found

    def _nearest(self, word: str) -> Met:
        """Where a word stands that the unknown one may have been meant to be."""
        if not word.isalpha() or not word.isascii():
            return {}
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        most = 2 if len(word) >= _TWO_EDITS_FROM else 1
        # alike, the first two swapped, the second missing or one too many, the first missing
        beginnings = {word[:2], word[1] + word[0], word[0] + word[2], word[1:3]}
        known = [found for start in sorted(beginnings) for found in set(re.findall(rf"{start}[a-z]+", self._page.low))]
        near = process.extract(word, known, scorer=OSA.distance, score_cutoff=most, limit=9)
        for _, candidate in sorted((distance, found) for found, distance, _ in near):
            if candidate[0] == word[0] or OSA.distance(word, candidate) == 1:
                met = self._met(Form(candidate, CORRECTED))
                if met:
                    self._corrected[word] = candidate
                    return met
        return {}


def _any_ending(word: str) -> str:
    """A pattern for the word in its inflections."""
    prefix = Form(word).prefix
    return re.escape(word) if len(prefix) < _LETTERS else re.escape(prefix) + r"[^\W_]{0,4}"
