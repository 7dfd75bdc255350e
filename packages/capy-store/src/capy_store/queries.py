"""All SQL of the writing side: sources and their chunks in, out, counted, removed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from capy_core.database import Connection

if TYPE_CHECKING:
    from .rows import Slice

_SOURCE_FIELDS = (
    "label, kind, content_type, title, hash, raw_hash, recipe, bytes, lines, redactions, chunk_count,"
    " code_chunk_count, trigram, complete, created_at, indexed_at, accessed_at, access_count, path, file_size,"
    " file_mtime_ns, file_ctime_ns, url, meta"
)
_NAMES = tuple(_SOURCE_FIELDS.replace(" ", "").split(","))

INSERT_SOURCE = f"INSERT INTO sources({_SOURCE_FIELDS}) VALUES({', '.join(':' + name for name in _NAMES)}) RETURNING id"
SELECT_SOURCE = f"SELECT id, {_SOURCE_FIELDS} FROM sources"

# One statement a slice, so that the interpreter lock is free while SQLite works. `rows`: JSON, one array a chunk.
INSERT_CHUNKS = """
INSERT INTO chunks(id, source_id, title, line_start, line_end, is_code, body)
SELECT :first + key, :source, value ->> 0, value ->> 1, value ->> 2, value ->> 3,
       substr(:bodies, value ->> 4, value ->> 5)
FROM json_each(:rows)
"""
# `rows`: JSON, for each chunk the places and lengths of title, body, part, cjk in the blob `text`
INSERT_FTS = """
INSERT INTO chunks_fts(rowid, title, body, part, cjk)
SELECT :first + key, CAST(substr(:text, value ->> 0, value ->> 1) AS TEXT),
       CAST(substr(:text, value ->> 2, value ->> 3) AS TEXT), CAST(substr(:text, value ->> 4, value ->> 5) AS TEXT),
       CAST(substr(:text, value ->> 6, value ->> 7) AS TEXT)
FROM json_each(:rows)
"""
INSERT_TRIGRAM = """
INSERT INTO chunks_trigram(rowid, body)
SELECT :first + key, CAST(substr(:text, value ->> 2, value ->> 3) AS TEXT) FROM json_each(:rows)
"""


@dataclass(frozen=True)
class SourceRow:
    """One row of `sources`; times are UTC seconds."""

    id: int
    label: str
    kind: str
    content_type: str
    title: str
    hash: bytes
    raw_hash: bytes
    recipe: str
    bytes: int
    lines: int
    redactions: int
    chunk_count: int
    code_chunk_count: int
    trigram: int
    complete: int
    created_at: int
    indexed_at: int
    accessed_at: int
    access_count: int
    path: str | None
    file_size: int | None
    file_mtime_ns: int | None
    file_ctime_ns: int | None
    url: str | None
    meta: str


def source_by_label(db: Connection, label: str) -> SourceRow | None:
    """The complete source of that label."""
    row = db.execute(f"{SELECT_SOURCE} WHERE label = ? AND complete = 1", (label,)).fetchone()
    return SourceRow(*row) if row else None


def insert_source(db: Connection, values: dict[str, Any]) -> int:
    """A new row of `sources`; `values` holds every field but the id."""
    return int(db.execute(INSERT_SOURCE, values).fetchone()[0])


def update_source(db: Connection, source_id: int, values: dict[str, Any]) -> None:
    """Set the given fields of a source."""
    fields = ", ".join(f"{name} = :{name}" for name in values)
    db.execute(f"UPDATE sources SET {fields} WHERE id = :id", {**values, "id": source_id})


def insert_slice(db: Connection, source_id: int, rows: Slice, *, trigram: bool) -> None:
    """Add packed chunks to a source, inside a transaction."""
    first = db.execute("SELECT coalesce(max(id), 0) + 1 FROM chunks").fetchone()[0]
    db.execute(INSERT_CHUNKS, {"first": first, "source": source_id, "bodies": rows.bodies, "rows": rows.rows.decode()})
    texts = {"first": first, "text": rows.text, "rows": rows.places.decode()}
    db.execute(INSERT_FTS, texts)
    if trigram:
        db.execute(INSERT_TRIGRAM, texts)


def incomplete_sources(db: Connection) -> list[SourceRow]:
    """The staging rows of bulk sources, of living and dead writers."""
    return [SourceRow(*row) for row in db.execute(f"{SELECT_SOURCE} WHERE complete = 0")]


def delete_source(db: Connection, source_id: int) -> None:
    """Remove a source and its chunks, inside a transaction. Needs no old text: FTS5 writes tombstones."""
    chunks = "SELECT id FROM chunks WHERE source_id = ?"
    db.execute(f"DELETE FROM chunks_fts WHERE rowid IN ({chunks})", (source_id,))
    if db.execute("SELECT trigram FROM sources WHERE id = ?", (source_id,)).fetchone() == (1,):
        db.execute(f"DELETE FROM chunks_trigram WHERE rowid IN ({chunks})", (source_id,))
    db.execute("DELETE FROM chunks WHERE source_id = ?", (source_id,))
    db.execute("DELETE FROM sources WHERE id = ?", (source_id,))
