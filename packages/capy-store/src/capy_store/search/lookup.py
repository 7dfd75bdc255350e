"""A question against the index: which of its words are known, which are meant, and which chunks to look at."""

from __future__ import annotations

from dataclasses import dataclass, field

from capy_core.database import Connection

from . import canary, lanes
from .lanes import Row, idf
from .matching import Form, lowered
from .rank import Group, Question
from .scope import EVERYTHING, Scope
from .terms import Query
from .vocabulary import Guess, nearest
from .words import synonyms

MOST_GROUPS = 32
_PART_WEIGHT = 0.5
_CORRECTED_WEIGHT = 0.9
_COMMON_SYNONYM = 500  # chunks; a synonym of more tells nothing
_VERIFIED = 15
_LOOSE = 0.5  # the weight of a synonym below which it only often means the same
_MOST_UNKNOWN = 8  # words that are not in the index and are looked into
_WHOLE_SUBSTRING = 6  # letters; a shorter one must stand at an end of its word


@dataclass(slots=True)
class Lookup:
    """What the index knows of a question.

    Args:
        question: for ranking.
        counts: term -> chunks that hold it, for the words, phrases and pairs to search by.
        related: the same for synonyms.
        rows: chunks that hold an unknown word inside a longer one, by id.
        corrected: word of the question -> word that was searched in its place.
    """

    question: Question
    counts: dict[str, int]
    related: dict[str, int] = field(default_factory=dict)
    rows: dict[int, Row] = field(default_factory=dict)
    corrected: dict[str, str] = field(default_factory=dict)


def look_up(db: Connection, query: Query, scope: Scope) -> Lookup:
    """Ask the index about every term of a question."""
    return _Reader(db, query, scope).read()


class _Reader:
    def __init__(self, db: Connection, query: Query, scope: Scope) -> None:
        self._db, self._query, self._scope = db, query, scope
        terms = (*query.words, *query.parts, *query.pairs)
        self._counts = {term: lanes.frequency(db, term, scope) for term in terms}
        self._unknown = 0
        if not all(self._counts[word] for word in query.words):
            canary.check(db)
        # where no word of several is known, the question is likely about something else: guess with care;
        # but who names a source expects the answer to be in it
        known = any(self._counts[word] for word in query.words)
        self._lenient = known or len(query.words) == 1 or scope.is_named
        question = Question([], [], query.signs, query.about_failure)
        self._found = Lookup(question, {term: count for term, count in self._counts.items() if count})

    def read(self) -> Lookup:
        query, found = self._query, self._found
        groups = [self._word(word) for word in query.words]
        groups += [self._term(part, _PART_WEIGHT) for part in query.parts if self._counts[part]]
        groups += [self._term(pair, 1.0) for pair in query.pairs if self._counts[pair]]
        if len(groups) > MOST_GROUPS:
            least = sorted((group.idf for group in groups), reverse=True)[MOST_GROUPS - 1]
            groups = [group for group in groups if group.idf >= least][:MOST_GROUPS]
        literals = [self._literal(literal) for literal in query.literals]
        if not groups:  # signs alone, such as `===`
            groups = [Group(literal, [Form(literal, anywhere=True)], 1.0, "trigram") for literal in query.literals]
        found.question = Question(groups, literals, query.signs, query.about_failure)
        return found

    def _word(self, word: str) -> Group:
        count = self._counts[word]
        group = Group(word, [Form(word)], 0.0, is_name=word in self._query.names)
        if not count and self._unknown < _MOST_UNKNOWN:
            self._unknown += 1
            count = self._inside(word, group) or self._corrected(word, group)
        for other, weight in synonyms(word).items():
            if weight < _LOOSE and not self._lenient:
                continue
            number = lanes.frequency(self._db, other, self._scope, _COMMON_SYNONYM)
            if number:
                group.forms.append(Form(other, weight))
                if number <= _COMMON_SYNONYM:
                    self._found.related[other] = number
        # a word that is met nowhere must not outweigh those that are
        group.idf = idf(count, self._scope.chunks) if count else idf(0, self._scope.chunks) / 2
        return group

    def _term(self, term: str, weight: float) -> Group:
        unspaced = not term.isascii()
        form = Form(term, weight, anywhere=unspaced)
        return Group(term, [form], idf(self._counts[term], self._scope.chunks), "cjk" if unspaced else "porter")

    def _inside(self, word: str, group: Group) -> int:
        """Look for an unknown word inside longer ones; the number of chunks that hold it."""
        if len(word) < 4:
            return 0
        form = Form(word, verbatim=True, anywhere=self._lenient)
        held = self._verified(form, word)
        if held:
            group.forms, group.lane = [form], "trigram"
        return held

    def _verified(self, form: Form, text: str) -> int:
        ids = lanes.containing(self._db, text, self._scope)
        rows = lanes.fetch(self._db, ids, self._scope) if ids else []
        held = 0
        for row in sorted(rows, key=lambda row: -row.id):
            low = lowered(row.body)
            if any(_is_fair(low, start, end) for start, end in form.places(row.body, low, 12)):
                held += 1
                if held <= _VERIFIED:
                    self._found.rows[row.id] = row
        return held

    def _corrected(self, word: str, group: Group) -> int:
        """Take an unknown word for the known one nearest to it; the number of chunks that hold that."""
        if self._scope.ids is not None and lanes.frequency(self._db, word, EVERYTHING, 0):
            return 0  # it is no typing error: other sources hold it
        guess = self._best_guess(word, nearest(self._db, word, lenient=self._lenient))
        if guess is None:
            return 0
        surface, count = guess
        group.forms, group.lane = [Form(surface, _CORRECTED_WEIGHT)], "fuzzy"
        self._found.corrected[word] = surface
        self._found.counts[surface] = count
        return count

    def _best_guess(self, word: str, guesses: list[Guess]) -> tuple[str, int] | None:
        """The guess whose written form is nearest. The index holds stems, in which different words look alike."""
        best = None
        for guess in guesses:
            count = lanes.frequency(self._db, guess.word, self._scope)
            ids = lanes.newest(self._db, guess.word, self._scope, 3) if count else []
            form = Form(guess.word)
            for row in lanes.fetch(self._db, ids, self._scope):
                text = f"{row.title}\n{row.body}"
                low = lowered(text)
                for start, end in form.places(text, low, 12):
                    surface = low[start:end]
                    distance = guess.distance(word, surface, lenient=self._lenient)
                    if distance is not None and (best is None or (distance, -count, surface) < best):
                        best = (distance, -count, surface)
        return (best[2], -best[1]) if best else None

    def _literal(self, literal: str) -> Form:
        """A name or phrase to be met verbatim; looked for as a substring where the words alone cannot find it."""
        form = Form(literal)
        pieces = [piece for piece in self._query.words if piece in literal]
        count = lanes.frequency(self._db, literal, self._scope) if len(pieces) > 1 else 0
        if count:
            self._found.counts[literal] = count
        elif not self._query.words or len(pieces) > 1 or 0 < max(map(len, pieces), default=0) < 3:
            self._verified(Form(literal, anywhere=True), literal)
        return form


def _is_fair(low: str, start: int, end: int) -> bool:
    """A short word in the middle of a longer one is chance (`helm` in `overwhelming`), not a find."""
    if end - start >= _WHOLE_SUBSTRING or not low[start].isalnum():
        return True
    return start == 0 or not low[start - 1].isalnum() or end == len(low) or not low[end].isalnum()
