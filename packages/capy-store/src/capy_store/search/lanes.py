"""The lanes: what SQLite can say about a question, within a budget of rows, whatever the store's size."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

from capy_core.database import Connection
from capy_core.fts import quoted

from ..schema import TRIGRAM_GROUP
from .scope import Scope

BUDGET = 2000  # rows that one ranked query may touch; the rarest terms go first
MOST_TRIGRAMS = 16
MOST_SUBSTRING_GROUPS = 24

_FIRST_UNSPACED = "\u0e00"  # Thai; see capy_core.fts
# title counts double, the parts of names less: ADR 0007
_BM25 = "bm25(chunks_fts, 2.0, 1.0, 0.7, 1.0)"
_MATCHING = "FROM chunks_fts AS f WHERE f.chunks_fts MATCH ?{where}"
_COUNT = f"SELECT count(*) FROM (SELECT 1 {_MATCHING} LIMIT ?)"
_RANK = f"""
SELECT rowid, score FROM (SELECT rowid, -{_BM25} AS score {_MATCHING} ORDER BY rowid DESC LIMIT ?)
ORDER BY score DESC, rowid DESC LIMIT ?
"""
_NEWEST = f"SELECT rowid {_MATCHING} ORDER BY rowid DESC LIMIT ?"
_CONTAINING = """
SELECT rowid FROM chunks_trigram AS f WHERE f.chunks_trigram MATCH ?{where} ORDER BY rowid DESC LIMIT ?
"""
_KINDS = """
SELECT kind, count(*) FROM sources WHERE complete = 1 AND id IN (SELECT source_id FROM chunks WHERE id IN
  (SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ? LIMIT ?)) GROUP BY kind
"""
_FETCH = """
SELECT chunks.id, source_id, chunks.title, line_start, line_end, label, kind, content_type, indexed_at, path, url, body
FROM chunks JOIN sources ON sources.id = source_id
WHERE chunks.id IN (SELECT value FROM json_each(?)) AND complete = 1
"""


@dataclass(slots=True)
class Row:
    """A chunk with what is shown of its source; its text decompressed."""

    id: int
    source_id: int
    title: str
    line_start: int
    line_end: int
    label: str
    kind: str
    content_type: str
    indexed_at: int
    path: str | None
    url: str | None
    body: str


def expression(term: str) -> str:
    """A word, a phrase or a pair of characters for MATCH. One character of an unspaced script is a beginning."""
    return quoted(term) + ("*" if len(term) == 1 and term >= _FIRST_UNSPACED else "")


def idf(count: int, chunks: int) -> float:
    """How much a term tells that `count` of `chunks` chunks hold."""
    return math.log(1 + (max(chunks - count, 0) + 0.5) / (count + 0.5))


def frequency(db: Connection, term: str, scope: Scope, most: int = BUDGET) -> int:
    """Chunks in scope that hold a term, counted to `most` + 1 at most."""
    sql = _COUNT.format(where=scope.where)
    return int(db.execute(sql, (expression(term), *scope.parameters, most + 1)).fetchone()[0])


def together(db: Connection, terms: Sequence[Sequence[str]], scope: Scope) -> bool:
    """True when one chunk in scope holds a term of each of the lists."""
    match = " AND ".join(f"({' OR '.join(map(expression, alternatives))})" for alternatives in terms)
    return bool(_newest(db, match, scope, 1))


def within_budget(counts: dict[str, int], budget: int = BUDGET) -> list[str]:
    """The rarest terms that are in the index, as many as the budget of rows allows, but one at least."""
    chosen: list[str] = []
    rows = 0
    for count, term in sorted((count, term) for term, count in counts.items() if count):
        if chosen and rows + count > budget:
            break
        chosen.append(term)
        rows += count
    return chosen


def ranked(db: Connection, counts: dict[str, int], scope: Scope, limit: int) -> dict[int, float]:
    """Chunk id -> score (more is better), the best first, of chunks that hold any of the terms.

    The score is bm25; in a small scope the terms' idf. Compared are the newest BUDGET chunks at most.

    Args:
        counts: term -> chunks in scope that hold it.
    """
    terms = within_budget(counts)
    if not terms:
        return {}
    if scope.is_small:
        return _by_idf(db, {term: counts[term] for term in terms}, scope, limit)
    match = " OR ".join(map(expression, terms))
    return dict(db.execute(_RANK.format(where=scope.where), (match, *scope.parameters, BUDGET, limit)).fetchall())


def _by_idf(db: Connection, counts: dict[str, int], scope: Scope, limit: int) -> dict[int, float]:
    scores: dict[int, float] = {}
    for term, count in counts.items():
        weight = idf(count, scope.chunks)
        for id_ in newest(db, term, scope, BUDGET):
            scores[id_] = scores.get(id_, 0.0) + weight
    return dict(sorted(scores.items(), key=lambda item: (-item[1], -item[0]))[:limit])


def newest(db: Connection, term: str, scope: Scope, limit: int) -> list[int]:
    """Ids of the newest chunks that hold a term."""
    return _newest(db, expression(term), scope, limit)


def titled(db: Connection, counts: dict[str, int], words: Sequence[str], scope: Scope, limit: int) -> list[int]:
    """Ids of the newest chunks that have all the words in their title; [] where that would take long to find out."""
    if not words or not 0 < min(counts.get(word, 0) for word in words) <= BUDGET:
        return []
    return _newest(db, f"{{title}}: ({' AND '.join(map(expression, words))})", scope, limit)


def _newest(db: Connection, match: str, scope: Scope, limit: int) -> list[int]:
    sql = _NEWEST.format(where=scope.where)
    return [row[0] for row in db.execute(sql, (match, *scope.parameters, limit))]


def containing(db: Connection, text: str, scope: Scope) -> list[int]:
    """Ids of the newest chunks that hold all triples of characters of `text`: candidates, to be verified.

    Only chunks of sources that are in the substring lane are found; [] for a text under three characters.
    """
    grams = list(dict.fromkeys(text[i : i + 3] for i in range(len(text) - 2)))
    if not grams:
        return []
    step = -(-len(grams) // MOST_TRIGRAMS)
    match = " AND ".join(map(quoted, grams[::step]))
    sql = _CONTAINING.format(where=scope.where)
    rows = db.execute(sql, (match, *scope.parameters, MOST_SUBSTRING_GROUPS))
    # a row stands for TRIGRAM_GROUP consecutive chunks and has the id of the first
    return [first + place for (first,) in rows for place in range(TRIGRAM_GROUP)]


def kinds_holding(db: Connection, terms: list[str]) -> dict[str, int]:
    """Kind -> sources of the whole store that hold any of the terms; counted over 1,000 chunks."""
    if not terms:
        return {}
    return dict(db.execute(_KINDS, (" OR ".join(map(expression, terms)), 1000)).fetchall())


def fetch(db: Connection, ids: list[int], scope: Scope) -> list[Row]:
    """The chunks of these ids that are in scope.

    Raises:
        Corrupt: a stored text is damaged.
    """
    from zstandard import ZstdDecompressor, ZstdError

    expand = ZstdDecompressor().decompress
    rows = []
    for values in db.execute(_FETCH, (json.dumps(ids),)):
        if scope.ids is None or values[1] in scope.ids:
            try:
                body = expand(values[-1]).decode("utf-8", "replace")
            except ZstdError as ex:
                from capy_core.errors import Corrupt

                raise Corrupt(f"the text of chunk {values[0]} is damaged ({ex})", "run capy-store doctor") from ex
            rows.append(Row(*values[:-1], body))  # type: ignore[call-arg]  # its length is the statement's
    return rows
