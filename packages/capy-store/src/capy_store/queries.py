"""All SQL of the writing side: sources and their chunks in, out, counted, removed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from capy_core.database import Connection

from .schema import TRIGRAM_GROUP

if TYPE_CHECKING:
    from .rows import Slice, Texts

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
# `bodies`: JSON, the place and length in `text` of the bodies of each group of chunks, which lie there side by side
INSERT_TRIGRAM = f"""
INSERT INTO chunks_trigram(rowid, body)
SELECT :first + {TRIGRAM_GROUP} * key, CAST(substr(:text, value ->> 0, value ->> 1) AS TEXT) FROM json_each(:bodies)
"""


PRUNED_AT = "pruned_at"  # in `state`


class SourceRow(NamedTuple):
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


class ChunkRow(NamedTuple):
    """One row of `chunks`; `body` is compressed."""

    id: int
    title: str
    line_start: int
    line_end: int
    is_code: int
    body: bytes


def source_by_label(db: Connection, label: str) -> SourceRow | None:
    """The complete source of that label."""
    row = db.execute(f"{SELECT_SOURCE} WHERE label = ? AND complete = 1", (label,)).fetchone()
    return SourceRow(*row) if row else None


def all_sources(db: Connection) -> list[SourceRow]:
    """The complete sources in the order of their ids."""
    return [SourceRow(*row) for row in db.execute(f"{SELECT_SOURCE} WHERE complete = 1 ORDER BY id")]


def sources_by_id(db: Connection, ids: Iterable[int]) -> list[SourceRow]:
    """The sources of these ids that there are."""
    wanted = f"[{','.join(map(str, ids))}]"
    where = "WHERE id IN (SELECT value FROM json_each(?)) AND complete = 1"
    return [SourceRow(*row) for row in db.execute(f"{SELECT_SOURCE} {where}", (wanted,))]


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
    db.execute(INSERT_CHUNKS, {"first": first, "source": source_id, "bodies": rows.bodies, "rows": rows.rows})
    insert_texts(db, first, rows.texts, trigram=trigram)


def insert_texts(db: Connection, first: int, texts: Texts, *, trigram: bool) -> None:
    """Add chunks with ascending ids from `first` on to the full-text indexes, inside a transaction."""
    db.execute(INSERT_FTS, {"first": first, "text": texts.text, "rows": texts.places})
    if trigram:
        db.execute(INSERT_TRIGRAM, {"first": first, "text": texts.text, "bodies": texts.bodies})


def incomplete_sources(db: Connection) -> list[SourceRow]:
    """The staging rows of bulk sources, of living and dead writers."""
    return [SourceRow(*row) for row in db.execute(f"{SELECT_SOURCE} WHERE complete = 0")]


def delete_source(db: Connection, source_id: int) -> None:
    """Remove a source and its chunks, inside a transaction. Needs no old text: FTS5 writes tombstones."""
    count = db.execute("SELECT count(*) FROM chunks WHERE source_id = ?", (source_id,)).fetchone()[0]
    if count:
        set_state(db, "deleted_chunks", state(db, "deleted_chunks") + count)
    chunks = "SELECT id FROM chunks WHERE source_id = ?"
    db.execute(f"DELETE FROM chunks_fts WHERE rowid IN ({chunks})", (source_id,))
    if db.execute("SELECT trigram FROM sources WHERE id = ?", (source_id,)).fetchone() == (1,):
        db.execute(f"DELETE FROM chunks_trigram WHERE rowid IN ({chunks})", (source_id,))
    db.execute("DELETE FROM chunks WHERE source_id = ?", (source_id,))
    db.execute("DELETE FROM sources WHERE id = ?", (source_id,))


def chunk_rows(db: Connection, source_id: int) -> Iterator[ChunkRow]:
    """The chunks of a source, in order."""
    rows = db.execute(
        "SELECT id, title, line_start, line_end, is_code, body FROM chunks WHERE source_id = ? ORDER BY id",
        (source_id,),
    )
    return (ChunkRow(*row) for row in rows)


def state(db: Connection, name: str) -> int:
    """A fact of the store itself; 0 when it was never set."""
    row = db.execute("SELECT value FROM state WHERE name = ?", (name,)).fetchone()
    return int(row[0]) if row else 0


def set_state(db: Connection, name: str, value: int) -> None:
    db.execute("INSERT INTO state VALUES(?, ?) ON CONFLICT(name) DO UPDATE SET value = excluded.value", (name, value))


def prune_is_due(db: Connection, now: float) -> bool:
    """True when expired sources were last looked for more than an hour ago, or by a clock that was ahead."""
    return not 0 <= now - state(db, PRUNED_AT) < 3600


def merge_fts(db: Connection) -> None:
    """Merge all parts of the full-text indexes into one, which drops what is left of deleted rows."""
    for table in ("chunks_fts", "chunks_trigram"):
        db.execute(f"INSERT INTO {table}({table}) VALUES('optimize')")


def free_pages(db: Connection) -> tuple[int, int]:
    """How many pages of the file are free, and how many there are."""
    return (
        int(db.execute("PRAGMA freelist_count").fetchone()[0]),
        int(db.execute("PRAGMA page_count").fetchone()[0]),
    )


def file_bytes(db: Connection) -> int:
    """The size of the database, without its write-ahead log."""
    return int(db.execute("PRAGMA page_count").fetchone()[0]) * int(db.execute("PRAGMA page_size").fetchone()[0])


def all_bodies(db: Connection) -> Iterator[tuple[int, int, str, bytes]]:
    """Every chunk in the order of the ids: id, whether its source is in the trigram lane, title, compressed body."""
    rows: Iterator[tuple[int, int, str, bytes]] = db.execute(
        "SELECT c.id, s.trigram, c.title, c.body FROM chunks c JOIN sources s ON s.id = c.source_id ORDER BY c.id"
    )
    return rows


def sample_bodies(db: Connection, count: int = 5) -> list[tuple[int, bytes]]:
    """Some chunks, spread over the store: id and compressed body."""
    last = db.execute("SELECT coalesce(max(id), 0) FROM chunks").fetchone()[0]
    sql = "SELECT id, body FROM chunks WHERE id >= ? ORDER BY id LIMIT 1"
    return [row for part in range(count) for row in db.execute(sql, (1 + part * last // count,))]


def matches(db: Connection, chunk: int, word: str) -> bool:
    """True when the full-text index finds a plain word in a chunk."""
    sql = "SELECT 1 FROM chunks_fts WHERE chunks_fts MATCH ? AND rowid = ?"
    return db.execute(sql, (f'"{word}"', chunk)).fetchone() is not None


def index_mismatch(db: Connection) -> tuple[int, int]:
    """How many chunks the full-text indexes lack, and how many of their rows have no chunk."""
    chunks, indexed = "SELECT id FROM chunks", "SELECT id FROM chunks_fts_docsize"
    groups = "SELECT id FROM chunks_trigram_docsize"
    in_lane = "SELECT c.id FROM chunks c JOIN sources s ON s.id = c.source_id WHERE s.trigram = 1"
    steps = ", ".join(f"({step})" for step in range(TRIGRAM_GROUP))
    led = f"SELECT id + column1 FROM chunks_trigram_docsize, (VALUES {steps})"
    missing = extra = 0
    for lacking in (f"{chunks} EXCEPT {indexed}", f"{in_lane} EXCEPT {led}"):
        missing += db.execute(f"SELECT count(*) FROM ({lacking})").fetchone()[0]
    for orphans in (f"{indexed} EXCEPT {chunks}", f"{groups} EXCEPT {in_lane}"):
        extra += db.execute(f"SELECT count(*) FROM ({orphans})").fetchone()[0]
    return missing, extra


def table_bytes(db: Connection) -> dict[str, int]:
    """The bytes of content in the text and index tables."""
    lengths = {
        "chunks": "SELECT sum(octet_length(title) + octet_length(body)) FROM chunks",
        "chunks_fts": "SELECT sum(octet_length(block)) FROM chunks_fts_data",
        "chunks_trigram": "SELECT sum(octet_length(block)) FROM chunks_trigram_data",
    }
    return {table: int(db.execute(sql).fetchone()[0] or 0) for table, sql in lengths.items()}
