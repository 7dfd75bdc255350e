"""The order of the candidates: SQLite's bm25, and what it cannot see - coverage, order, nearness, names, lines.

All parts of a score lie between 0 and 1. The weights were set by hand and checked on six sets of questions: ADR 0007.
A chunk of tool output does not compete as a whole but as its windows, so that a hit is the lines that answer.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field

from .lanes import Row
from .matching import Form, lowered
from .windows import windows
from .words import FAILURE_MARKS

WINDOWED = frozenset(("output", "json"))  # content types that are answered in windows

COVER, PARTIAL, ORDERED, NEAR, TITLE, NAMES, LITERAL, SIGNS, ASKS = 0.6, 0.3, 0.3, 0.2, 0.1, 0.2, 0.3, 1.4, -0.4
TITLED = 0.3  # the title has all that is asked for, and little else
FAILURE = 0.2  # for a window that tells of one, when the question is about one
NUMBER = 0.2  # for a window in which a number stands before a word of a question that asks how many
CHUNK_SHARE = 0.25  # of a window's relevance that comes from its chunk

_NEAR_CHARS = 50  # about eight words
_ADJACENT_CHARS = 2
_FAR = -(1 << 30)
_ALL = 0.999
_TOKEN = re.compile(r"[^\W_]+")
_PLACES, _PLACES_WINDOWED = 12, 32  # of one form in one chunk
_SHORT = 1500  # characters; in a longer text parts of a word are met by chance


@dataclass(slots=True)
class Group:
    """What one word of the question may be met as: itself, corrected, its synonyms.

    Args:
        lane: porter, cjk, trigram or fuzzy: how it is looked up.
        idf: how much meeting it tells.
        is_name: a capitalised word inside the question.
    """

    word: str
    forms: list[Form]
    idf: float
    lane: str = "porter"
    is_name: bool = False
    grams: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        word = self.word
        self.grams = tuple(word[i : i + 3] for i in range(len(word) - 2))


@dataclass(slots=True)
class Question:
    """What the candidates are compared with."""

    groups: list[Group]
    literals: list[Form]
    signs: tuple[str, ...]
    about_failure: bool
    about_number: bool
    weight: float = field(init=False)  # all idf together; the others: of pairs of neighbours, of names
    pair_weight: float = field(init=False)
    name_weight: float = field(init=False)

    def __post_init__(self) -> None:
        idfs = [group.idf for group in self.groups]
        self.weight = sum(idfs) or 1.0
        self.pair_weight = sum(idfs[:-1]) + sum(idfs[1:]) or 1.0
        self.name_weight = sum(group.idf for group in self.groups if group.is_name) or 1.0


Event = tuple[int, int, int, float]  # start, end, index of the group, weight of the form


@dataclass(slots=True)
class Match:
    """Where a candidate meets the question.

    Args:
        heading: the label and title.
        low: the body in lower case.
        events: in order; places in the body, those in the heading before it are negative.
        titled: for each group the weight with which the heading meets it.
    """

    row: Row
    heading: str
    low: str
    events: list[Event]
    titled: list[float]


@dataclass(slots=True)
class Ranked:
    """A part of a candidate's body, and its score."""

    match: Match
    score: float
    start: int
    end: int


@dataclass(slots=True)
class _Measure:
    relevance: float  # bm25 over the stretch, by the form's weights
    cover: float
    ordered: float
    near: float
    names: float
    title: float


def rank(question: Question, rows: list[Row], bm25: dict[int, float], window: int) -> list[Ranked]:
    """Candidates, or their windows, that meet the question; the best first.

    Ties go to what was indexed later, then to the earlier chunk and line.

    Args:
        bm25: SQLite's scores of the rows it ranked; for the others one is made from the text.
        window: the size of a window, characters.
    """
    matches = [match(question, row) for row in rows]
    average = sum(len(row.body) for row in rows) / (len(rows) or 1) or 1.0
    scores = dict(bm25)
    whole: dict[int, _Measure] = {}
    for found in matches:
        if found.row.content_type not in WINDOWED or found.row.id not in scores:
            whole[found.row.id] = measure = _measure(question, found, found.events, len(found.row.body) / average)
            scores.setdefault(found.row.id, measure.relevance)
    top = max((scores[row.id] for row in rows), default=0.0) or 1.0
    ranked = [
        Ranked(found, _score_whole(question, found, whole[found.row.id], scores[found.row.id] / top), 0, len(found.low))
        for found in matches
        if found.row.content_type not in WINDOWED
    ]
    windowed = [found for found in matches if found.row.content_type in WINDOWED]
    ranked += _rank_windows(question, windowed, scores, top, window)
    ranked.sort(key=lambda r: (-round(r.score, 9), -r.match.row.indexed_at, r.match.row.id, r.start))
    return ranked


def match(question: Question, row: Row) -> Match:
    """Look for all that the question asks for in a chunk."""
    heading = row.title if row.label in row.title else f"{row.label} {row.title}"  # a title may be a path in the source
    offset = len(heading) + 1
    text = f"{heading}\n{row.body}"
    low = lowered(text)
    most = _PLACES_WINDOWED if row.content_type in WINDOWED else _PLACES
    titled = [0.0] * len(question.groups)
    events: list[Event] = []
    for index, group in enumerate(question.groups):
        for form in group.forms:
            for start, end in form.places(text, low, most) if form.prefix in low else ():
                events.append((start - offset, end - offset, index, form.weight))
                if start < offset and form.weight > titled[index]:
                    titled[index] = form.weight
    events.sort()
    return Match(row, heading, low[offset:], events, titled)


def _measure(question: Question, found: Match, events: list[Event], length: float, is_window: bool = False) -> _Measure:
    """How a stretch of text meets the question; `length` is relative to the average.

    What the heading says holds for every window under it: a window that says it once more tells no more.
    """
    best, counts, ordered, near = _tally(found.titled, events)
    saturation = 1.2 * (0.25 + 0.75 * length)
    relevance = cover = in_order = close = names = title = 0.0
    before = 0.0
    for i, group in enumerate(question.groups):
        idf, weight = group.idf, group.idf * best[i]
        if weight:
            cover += weight
            title += idf * found.titled[i]
            count = counts[i] or int(is_window)  # met in the heading
            relevance += weight * count * 2.2 / (count + saturation)
            if group.is_name and counts[i]:
                names += idf
            if near >> i & 1:
                close += before + idf
                if ordered >> i & 1:
                    in_order += before + idf
        before = idf
    weight, pairs = question.weight, question.pair_weight
    return _Measure(
        relevance, cover / weight, in_order / pairs, close / pairs, names / question.name_weight, title / weight
    )


def _tally(titled: list[float], events: list[Event]) -> tuple[list[float], list[int], int, int]:
    """Of each group the best weight and the number of events; and two sets of bits: bit i says that group i follows,
    or stands near, group i - 1.
    """
    size = len(titled)
    best, counts, last = titled.copy(), [0] * size, [_FAR] * size
    ordered = near = 0
    for start, end, i, weight in events:
        counts[i] += 1
        if weight > best[i]:
            best[i] = weight
        last[i] = end
        if i and start - last[i - 1] <= _NEAR_CHARS:
            near |= 1 << i
            if start - last[i - 1] <= _ADJACENT_CHARS:
                ordered |= 1 << i
        if i + 1 < size and start - last[i + 1] <= _NEAR_CHARS:
            near |= 2 << i
    return best, counts, ordered, near


def _score_whole(question: Question, found: Match, measure: _Measure, relevance: float) -> float:
    score = relevance + _common(question, found, measure, 0, len(found.low))
    score += PARTIAL * _partial(question, found) / question.weight
    if question.signs:
        body, title = found.row.body, found.row.title
        score += SIGNS * sum(sign in body or sign in title for sign in question.signs) / len(question.signs)
    return score + ASKS * _asking(question, found)


def _rank_windows(
    question: Question, matches: list[Match], scores: dict[int, float], top: float, window: int
) -> Iterator[Ranked]:
    """The windows that hold something of the question. Their relevance is relative to the best of them, which gets
    that of the best chunk.
    """
    found = [
        (Ranked(m, 0.0, start, end), _measure(question, m, events, (end - start) / window, True), events)
        for m in matches
        for start, end, events in _with_events(m, window)
    ]
    best = max((measure.relevance for _, measure, _ in found), default=0.0) or 1.0
    best_chunk = max((scores[m.row.id] for m in matches), default=0.0) / top
    for part, measure, events in found:
        m = part.match
        relevance = (1 - CHUNK_SHARE) * best_chunk * measure.relevance / best + CHUNK_SHARE * scores[m.row.id] / top
        score = relevance + _common(question, m, measure, part.start, part.end)
        if question.about_failure and any(map(m.low[part.start : part.end].__contains__, FAILURE_MARKS)):
            score += FAILURE
        if question.about_number and any(_is_counted(m.low, e[0]) for e in events):
            score += NUMBER
        part.score = score
        yield part


def _is_counted(low: str, start: int) -> bool:
    """True for a word after a number: `21 errors`."""
    at = start - 1
    return at > 0 and low[at] == " " and low[at - 1].isdigit()


def _with_events(found: Match, window: int) -> Iterator[tuple[int, int, list[Event]]]:
    """The windows of a chunk that meet the question: start, end, events."""
    spans, events = windows(found.row.body, window), found.events
    first, count = bisect_left(events, (0,)), len(events)
    if first == count and spans:  # the title alone meets it: the chunk's beginning stands for it
        yield *spans[0], []
    for start, end in spans:
        last = first
        while last < count and events[last][0] < end:
            last += 1
        if last > first:
            yield start, end, events[first:last]
        first = last


def _common(question: Question, found: Match, measure: _Measure, start: int, end: int) -> float:
    score = COVER * measure.cover + ORDERED * measure.ordered + NEAR * measure.near
    score += NAMES * measure.names + TITLE * measure.title
    if measure.title > _ALL:
        score += TITLED * min(1.0, len(question.groups) / (len(_TOKEN.findall(found.heading)) or 1))
    if question.literals:
        held = sum(_holds(form, found, start, end) for form in question.literals)
        score += LITERAL * held / len(question.literals)
    return score


def _holds(form: Form, found: Match, start: int, end: int) -> bool:
    body, heading = found.row.body[start:end], found.heading
    return bool(form.places(body, found.low[start:end], 1) or form.places(heading, lowered(heading), 1))


def _partial(question: Question, found: Match) -> float:
    """For words that a short text does not hold, the share of their letter triples that it does."""
    text = found.low
    if len(text) > _SHORT:
        return 0.0
    met = {event[2] for event in found.events}
    total = 0.0
    for i, group in enumerate(question.groups):
        if group.grams and i not in met and not found.titled[i]:
            total += group.idf * len([1 for gram in group.grams if gram in text]) / len(group.grams)
    return total


def _asking(question: Question, found: Match) -> float:
    """How much of the question is met in a question that ends the text: who asks does not answer."""
    text = found.row.body.rstrip()
    if not text.endswith("?"):
        return 0.0
    begin = max(text.rfind(mark, 0, -1) for mark in (". ", "! ", "? ", "\n")) + 1
    groups = {event[2] for event in found.events if event[0] >= begin}
    return sum(question.groups[i].idf for i in groups) / question.weight
