"""A question against the index: which of its words are known, which are meant, and which chunks to look at."""

from __future__ import annotations

from dataclasses import dataclass, field

from capy_core.database import Connection

from . import canary, lanes
from .doubt import is_carried
from .guesses import Guessed, corrected
from .lanes import Row, idf
from .matching import Form, lowered
from .rank import Group, Question
from .scope import Scope
from .terms import Query
from .words import synonyms

MOST_GROUPS = 32
_PART_WEIGHT = 0.5
_CORRECTED_WEIGHT = 0.9
_COMMON_SYNONYM = 500  # chunks; a synonym of more tells nothing
_VERIFIED = 15
_LOOSE = 0.5  # the weight of a synonym below which it only often means the same
_MOST_UNKNOWN = 8  # words that are not in the index and are looked into
_MOST_JOINED = 8  # words of a question that one chunk must hold when they are guessed
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
        known: the words of the question that are in the index as they were written.
        is_answerable: False when so little of the question is met that it is likely about something else.
    """

    question: Question
    counts: dict[str, int]
    related: dict[str, int] = field(default_factory=dict)
    rows: dict[int, Row] = field(default_factory=dict)
    corrected: dict[str, str] = field(default_factory=dict)
    known: tuple[str, ...] = ()
    is_answerable: bool = True


def look_up(db: Connection, query: Query, scope: Scope) -> Lookup:
    """Ask the index about every term of a question."""
    return _Reader(db, query, scope).read()


class _Reader:
    def __init__(self, db: Connection, query: Query, scope: Scope) -> None:
        self._db, self._query, self._scope = db, query, scope
        terms = (*query.words, *query.parts, *query.pairs)
        self._counts = {term: lanes.frequency(db, term, scope) for term in terms}
        known = tuple(word for word in query.words if self._counts[word])
        if len(known) < len(query.words):
            canary.check(db)
        # where too little of a question is known, it is likely about something else: guess with care; but one word
        # alone has nothing to bear it out, and who names a source expects the answer to be in it
        is_single = len(query.words) < 2 and not query.pairs
        self._lenient = is_single or scope.is_named or is_carried(query, self._counts, scope.chunks)
        self._unknown = [word for word in query.words if not self._counts[word]][:_MOST_UNKNOWN]
        self._guesses: dict[str, Guessed | None] = {}
        question = Question([], [], query.signs, query.about_failure, query.about_number)
        counts = {term: count for term, count in self._counts.items() if count}
        self._found = Lookup(question, counts, known=known)

    def read(self) -> Lookup:
        query, found = self._query, self._found
        literals = [self._literal(literal) for literal in query.literals]
        inside = {word: held for word in self._unknown if (held := self._inside(word))}
        found.is_answerable = self._lenient or bool(found.rows) or self._is_borne_out()
        if not found.is_answerable:
            return found
        groups = [self._word(word, inside.get(word, 0)) for word in query.words]
        groups += [self._term(part, _PART_WEIGHT) for part in query.parts if self._counts[part]]
        groups += [self._term(pair, 1.0) for pair in query.pairs if self._counts[pair]]
        if len(groups) > MOST_GROUPS:
            least = sorted((group.idf for group in groups), reverse=True)[MOST_GROUPS - 1]
            groups = [group for group in groups if group.idf >= least][:MOST_GROUPS]
        if not groups:  # signs alone, such as `===`
            groups = [Group(literal, [Form(literal, anywhere=True)], 1.0, "trigram") for literal in query.literals]
        found.question = Question(groups, literals, query.signs, query.about_failure, query.about_number)
        return found

    def _is_borne_out(self) -> bool:
        """Whether guesses make sense of the question: one chunk holds every word or what it may stand for.

        Where one of the words is there as written, most of them are enough.
        """
        words = self._query.words[:_MOST_JOINED]
        met = [forms for word in words if (forms := self._met_as(word))]
        enough = len(words) // 2 + 1 if self._found.known else len(words)
        return not self._query.pairs and len(met) >= enough and lanes.together(self._db, met, self._scope)

    def _met_as(self, word: str) -> list[str]:
        if self._counts[word]:
            return [word, *self._synonyms(word)]
        guess = self._guess(word)
        return [*self._synonyms(word), *([guess.word] if guess else [])]

    def _word(self, word: str, inside: int) -> Group:
        count = self._counts[word]
        group = Group(word, [Form(word)], 0.0, is_name=word in self._query.names)
        if inside:
            count, group.forms, group.lane = inside, [self._form_inside(word)], "trigram"
        elif not count and (guess := self._guess(word)):
            count, group.forms, group.lane = guess.chunks, [Form(guess.word, _CORRECTED_WEIGHT)], "fuzzy"
            self._found.corrected[word] = guess.word
            self._found.counts[guess.word] = count
        for other, (weight, number) in self._synonyms(word).items():
            group.forms.append(Form(other, weight))
            if number <= _COMMON_SYNONYM:
                self._found.related[other] = number
        # a word that is met nowhere must not outweigh those that are
        group.idf = idf(count, self._scope.chunks) if count else idf(0, self._scope.chunks) / 2
        return group

    def _synonyms(self, word: str) -> dict[str, tuple[float, int]]:
        """The synonyms that are in the index: what they count, and the chunks that hold them."""
        found = {}
        for other, weight in synonyms(word).items():
            if weight >= _LOOSE or self._lenient:
                number = lanes.frequency(self._db, other, self._scope, _COMMON_SYNONYM)
                if number:
                    found[other] = weight, number
        return found

    def _guess(self, word: str) -> Guessed | None:
        """What an unknown word was meant to be."""
        if word not in self._guesses:
            asked = word in self._unknown
            self._guesses[word] = corrected(self._db, word, self._scope, lenient=self._lenient) if asked else None
        return self._guesses[word]

    def _inside(self, word: str) -> int:
        """Look for an unknown word inside longer ones; the number of chunks that hold it."""
        return self._verified(self._form_inside(word), word) if len(word) >= 4 else 0

    def _form_inside(self, word: str) -> Form:
        return Form(word, verbatim=True, anywhere=self._lenient)

    def _term(self, term: str, weight: float) -> Group:
        unspaced = not term.isascii()
        form = Form(term, weight, anywhere=unspaced)
        return Group(term, [form], idf(self._counts[term], self._scope.chunks), "cjk" if unspaced else "porter")

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
