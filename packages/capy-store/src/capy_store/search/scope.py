"""Which sources a search looks at, as a condition inside its SQL: what is left out must not use up a cap."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from capy_core.database import Connection

_SMALL = 0.25  # of the store's chunks
_CHOSEN = """
SELECT id, chunk_count, (SELECT min(id) FROM chunks WHERE source_id = sources.id),
       CASE WHEN chunk_count > 1 THEN (SELECT max(id) FROM chunks WHERE source_id = sources.id) END
FROM sources WHERE {}
"""
# One byte for each chunk id, bound as a blob: 0.2 us a row, where a join would read the chunk's page
_WHERE = " AND f.rowid BETWEEN ? AND ? AND substr(?, f.rowid, 1) = x'01'"


@dataclass(frozen=True)
class Scope:
    """The part of the store that is searched.

    Args:
        ids: its complete sources, or None for the whole store.
        chunks: about how many chunks it has.
        where: SQL to add to a query on a full-text table called `f`; "" for the whole store.
        parameters: for `where`.
        is_small: bm25 would cost too much in it: SQLite counts every term in the whole store for that.
        is_named: its sources were asked for by label.
    """

    ids: frozenset[int] | None
    chunks: int
    where: str = ""
    parameters: tuple[object, ...] = ()
    is_small: bool = False
    is_named: bool = False

    @property
    def is_empty(self) -> bool:
        """True when the filters leave nothing to search."""
        return self.ids is not None and not self.chunks


EVERYTHING = Scope(None, 0)


def select(
    db: Connection,
    *,
    sources: Sequence[str] = (),
    kinds: Sequence[str] = (),
    content_types: Sequence[str] = (),
    since: int | None = None,
    until: int | None = None,
) -> Scope:
    """The scope of these filters; a filter that is empty or None lets everything through.

    Args:
        sources: labels. Each is one exact label if there is such a source, else a prefix of labels, else a part
            of labels; always literal.
        since, until: bounds of `indexed_at`, UTC seconds, inclusive.
    """
    clauses = ["complete = 1"]
    values: list[object] = []
    for column, wanted in (("kind", kinds), ("content_type", content_types)):
        if wanted:
            clauses.append(f"{column} IN (SELECT value FROM json_each(?))")
            values.append(json.dumps(list(wanted)))
    for condition, bound in (("indexed_at >= ?", since), ("indexed_at <= ?", until)):
        if bound is not None:
            clauses.append(condition)
            values.append(bound)
    if sources:
        clauses.append("label IN (SELECT value FROM json_each(?))")
        values.append(json.dumps([label for wanted in sources for label in labels_like(db, wanted)]))
    highest: int = db.execute("SELECT coalesce(max(id), 0) FROM chunks").fetchone()[0]
    if len(clauses) == 1:
        return Scope(None, highest)
    rows = db.execute(_CHOSEN.format(" AND ".join(clauses)), values).fetchall()
    return replace(_scope(rows, highest), is_named=bool(sources))


def labels_like(db: Connection, wanted: str) -> list[str]:
    """The labels a `--source` stands for: that label itself, else those it begins, else those that hold it."""
    for condition in ("label = ?", "substr(label, 1, length(?1)) = ?1", "instr(lower(label), lower(?)) > 0"):
        rows = db.execute(f"SELECT label FROM sources WHERE {condition} AND complete = 1", (wanted,)).fetchall()
        if rows:
            return [row[0] for row in rows]
    return []


def _scope(rows: list[tuple[int, int, int | None, int | None]], highest: int) -> Scope:
    ids = frozenset(row[0] for row in rows)
    ranges = [(first, last or first) for _, _, first, last in rows if first is not None]
    chunks = sum(row[1] for row in rows)
    if not ranges:
        return Scope(ids, 0)
    low, high = min(first for first, _ in ranges), max(last for _, last in ranges)
    mask = bytearray(high)
    # a range may hold chunks of another source (two were written in slices at once): the hits are checked again
    for first, last in ranges:
        mask[first - 1 : last] = b"\x01" * (last - first + 1)
    return Scope(ids, chunks, _WHERE, (low, high, bytes(mask)), chunks < highest * _SMALL)
