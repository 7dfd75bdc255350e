"""A question -> the hits that answer it: parse, look up, retrieve, rank, choose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from capy_core.database import Connection, translate
from capy_core.errors import UsageError

from .. import queries
from ..documents import CONTENT_TYPES, KINDS, Hit, SearchResult
from . import lanes, scope, terms
from .lanes import Row
from .lookup import Lookup, look_up
from .rank import WINDOWED, Question, Ranked, rank
from .scope import Scope
from .snippet import snippet
from .terms import Query
from .windows import size_for

MOST_HITS = 1000
CANDIDATES = 30  # at least; three for each hit that is asked for
_RELATED = 15  # candidates by synonyms alone
_TITLED = 5  # candidates whose title has all the words
_SAME_SOURCE = 0.02  # taken from a score for each better hit of its source past the second


def answer(
    db: Connection,
    query: str,
    *,
    limit: int = 10,
    sources: Sequence[str] = (),
    kinds: Sequence[str] = (),
    content_types: Sequence[str] = (),
    since: int | None = None,
    until: int | None = None,
    window: int = 0,
) -> SearchResult:
    """The chunks that answer a question; of tool output and JSON, the windows of lines. Reads only.

    Args:
        query: any text. What is in double quotes, and names such as `src/main.py`, count more when met verbatim.
        limit: hits at most; taken as 1 to MOST_HITS.
        sources: only these; see `scope.select`.
        kinds, content_types: only these; empty: all.
        since, until: bounds of the time of indexing, UTC seconds, inclusive.
        window: characters of a window; 0: 900, and fewer where more than 10 hits are wanted.

    Returns:
        No hits when nothing matches, or so little that the question is likely about something else (`doubt`); `notes`
        then say whether the words or the filters are the reason.

    Raises:
        UsageError: the query is blank or has no character to search for; an unknown kind or content type.
        Corrupt: the index or a stored text is damaged.
        Busy: another process holds the database exclusively.
    """
    _check(kinds, KINDS, "kind")
    _check(content_types, CONTENT_TYPES, "content type")
    asked = terms.parse(query)
    if asked.is_blank:
        raise UsageError("the query holds nothing to search for", "give at least one word or name")
    with translate():
        where = scope.select(db, sources=sources, kinds=kinds, content_types=content_types, since=since, until=until)
        if where.is_empty:
            return SearchResult(query, [], {}, _reasons(db, asked, where))
        found = look_up(db, asked, where)
        limit = max(1, min(limit, MOST_HITS))
        chosen: list[Ranked] = []
        if found.is_answerable:
            rows, scores, notes = _candidates(db, asked, found, where, limit)
            chosen = _choose(rank(found.question, rows, scores, window or size_for(limit)), limit)
        else:
            notes = _too_little(found)
        if asked.cut:
            notes.append("the query is long: only a part of its words was used")
        if not chosen:
            notes += _reasons(db, asked, where)
        return SearchResult(query, _hits(db, found, chosen), found.corrected, notes)


def _check(given: Sequence[str], known: Sequence[str], what: str) -> None:
    for name in given:
        if name not in known:
            raise UsageError(f"no {what} {name!r}", f"it is one of {', '.join(known)}")


def _candidates(
    db: Connection, asked: Query, found: Lookup, where: Scope, limit: int
) -> tuple[list[Row], dict[int, float], list[str]]:
    """The chunks to compare, SQLite's scores of them, and notes about limits that were reached."""
    best = lanes.ranked(db, found.counts, where, max(CANDIDATES, 3 * limit))
    related = {term: count for term, count in found.related.items() if term not in found.counts}
    more = lanes.ranked(db, related, where, _RELATED)
    named = lanes.titled(db, found.counts, asked.words, where, _TITLED)
    ids = [id_ for id_ in dict.fromkeys((*best, *more, *named)) if id_ not in found.rows]
    rows = [*lanes.fetch(db, ids, where), *found.rows.values()]
    notes = []
    if min(found.counts.values(), default=0) > lanes.BUDGET:
        notes.append(f"every word of the query is common: only the newest {lanes.BUDGET:,} chunks were compared")
    return rows, {} if where.is_small else best, notes


def _choose(ranked: list[Ranked], limit: int) -> list[Ranked]:
    """The best, with a small preference for sources that were not named yet; windows that touch become one hit."""
    seen: Counter[int] = Counter()
    for r in ranked:
        source = r.match.row.source_id
        r.score -= _SAME_SOURCE * max(0, seen[source] - 1)
        seen[source] += 1
    if len(seen) > 1:
        ranked.sort(key=lambda r: -round(r.score, 9))
    chosen: list[Ranked] = []
    for r in ranked:
        if _joined(chosen, r):
            continue
        if len(chosen) == limit:
            break
        chosen.append(r)
    return chosen


def _joined(chosen: list[Ranked], new: Ranked) -> bool:
    """Add a window to the hit that it touches, if there is one."""
    if new.match.row.content_type not in WINDOWED:
        return False
    for hit in chosen:
        if hit.match is new.match and (hit.end == new.start or new.end == hit.start):
            hit.start, hit.end = min(hit.start, new.start), max(hit.end, new.end)
            return True
    return False


def _hits(db: Connection, found: Lookup, chosen: list[Ranked]) -> list[Hit]:
    hits = [_hit(found.question, hit) for hit in chosen]
    with_file = {hit.source_id for hit in hits if hit.path is not None}
    if not with_file:
        return hits
    from ..freshness import file_state

    states = {row.id: file_state(row) for row in queries.sources_by_id(db, with_file)}
    return [replace(hit, stale=states.get(hit.source_id, "")) for hit in hits]


def _hit(question: Question, hit: Ranked) -> Hit:
    row = hit.match.row
    content = row.body[hit.start : hit.end]
    line = row.line_start + _newlines(row.body, hit.start + _blank(content)) - _newlines(row.body, _blank(row.body))
    content = content.strip("\r\n")
    return Hit(
        label=row.label,
        title=row.title,
        content=content,
        snippet=snippet(question, hit),
        score=round(hit.score, 4),
        layers=_layers(question, hit),
        line_start=line,
        line_end=line + content.count("\n"),
        kind=row.kind,
        content_type=row.content_type,
        chunk=row.id,
        source_id=row.source_id,
        indexed_at=row.indexed_at,
        path=row.path,
        url=row.url,
    )


def _blank(text: str) -> int:
    """How many characters stand before the first line that has something on it."""
    return len(text) - len(text.lstrip("\r\n"))


def _newlines(text: str, end: int) -> int:
    return text.count("\n", 0, end)


def _layers(question: Question, hit: Ranked) -> tuple[str, ...]:
    """The lanes that the hit's words were met by, in the order of the words."""
    text = hit.match.row.body
    met = {i for i, weight in enumerate(hit.match.titled) if weight}
    inside: set[int] = set()
    for start, _, i, _ in hit.match.events:
        if hit.start <= start < hit.end:
            (inside if start and text[start - 1].isalnum() else met).add(i)
    layers = [question.groups[i].lane for i in sorted(met)]
    for i in sorted(inside - met):
        lane = question.groups[i].lane
        layers.append("part" if lane == "porter" else lane)
    return tuple(dict.fromkeys(layers)) or ("porter",)


def _too_little(found: Lookup) -> list[str]:
    """Why a question is not answered of which one word is met."""
    if not found.known:
        return []
    word = found.known[0]
    return [
        f"of the query's words only {word!r} is here, in {found.counts[word]:,} chunks: search it alone to see them"
    ]


def _reasons(db: Connection, asked: Query, where: Scope) -> list[str]:
    """Why there are no hits, where there are filters: is it the filters, or the words?"""
    if where.ids is None:
        return []
    notes = [f"0 of {len(where.ids)} sources that pass the filters hold the words"]
    if not where.ids:
        notes = ["no source passes the filters"]
    kinds = lanes.kinds_holding(db, [*asked.words, *asked.pairs])
    if kinds:
        counts = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        notes.append(f"without the filters, sources that hold some of the words: {counts}")
    return notes
