"""What the store holds, as records: sources, their text and chunks, counts, bytes."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from capy_core.database import Connection
from capy_core.records import Record

from . import queries
from .documents import KINDS
from .freshness import file_state
from .naming import source_named
from .queries import SourceRow
from .retention import tier, uses_left
from .rows import chunk_of
from .transfer import document_record, timestamp

if TYPE_CHECKING:
    from capy_core.config import StoreConfig

_LARGEST = 15


def sources(
    db: Connection, config: StoreConfig, *, prefix: str = "", kind: str = "", stale: bool = False
) -> Iterator[Record]:
    """A capy.source/1 record for each source, oldest first. `stale`: only those whose file changed or is gone."""
    now = time.time()
    for row in queries.all_sources(db):
        if row.label.startswith(prefix) and kind in ("", row.kind):
            state = file_state(row)
            if state or not stale:
                yield {**describe(row, config, now), **({"stale": state} if state else {})}


def describe(row: SourceRow, config: StoreConfig, now: float) -> Record:
    """The capy.source/1 record of a source."""
    record = {
        "schema": "capy.source/1",
        "label": row.label,
        "source_id": row.id,
        "kind": row.kind,
        "content_type": row.content_type,
        "title": row.title,
        "chunks": row.chunk_count,
        "code_chunks": row.code_chunk_count,
        "bytes": row.bytes,
        "lines": row.lines,
        "redactions": row.redactions,
        "trigram": bool(row.trigram),
        "tier": tier(row, config, now),
        "uses": round(uses_left(row, now), 2),
        "created_at": timestamp(row.created_at),
        "indexed_at": timestamp(row.indexed_at),
        "accessed_at": timestamp(row.accessed_at),
        "path": row.path,
        "url": row.url,
        "meta": json.loads(row.meta),
    }
    return {name: value for name, value in record.items() if value is not None}


def document(db: Connection, label: str) -> Record:
    """A capy.document/1 record with the stored text whole.

    Raises:
        NotFound: there is no such source.
    """
    row = source_named(db, label)
    text = "".join(chunk_of(chunk).body for chunk in queries.chunk_rows(db, row.id))
    return {**document_record(row), "content": text}


def chunks(db: Connection, label: str) -> Iterator[Record]:
    """A capy.chunk/1 record for each chunk of a source, in order.

    Raises:
        NotFound: there is no such source.
    """
    row = source_named(db, label)
    for stored in queries.chunk_rows(db, row.id):
        chunk = chunk_of(stored)
        yield {
            "schema": "capy.chunk/1",
            "label": row.label,
            "chunk": stored.id,
            "title": chunk.title,
            "content": chunk.body,
            "line_start": chunk.line_start,
            "line_end": chunk.line_end,
            "is_code": chunk.is_code,
        }


def stats(db: Connection, config: StoreConfig) -> Record:
    """A capy.stats/1 record: how much there is, by kind and by tier."""
    now = time.time()
    rows = list(queries.all_sources(db))
    by_kind = {kind: [row for row in rows if row.kind == kind] for kind in KINDS}
    return {
        "schema": "capy.stats/1",
        **_sum(rows),
        "redactions": sum(row.redactions for row in rows),
        "kinds": {kind: _sum(of_kind) for kind, of_kind in by_kind.items() if of_kind},
        "tiers": dict(Counter(tier(row, config, now) for row in rows)),
        "file_bytes": queries.file_bytes(db),
    }


def sizes(db: Connection) -> Record:
    """A capy.dbsize/1 record: where the bytes of the file are. Those of a table are its content's, without overhead."""
    free, pages = queries.free_pages(db)
    rows = list(queries.all_sources(db))
    largest = sorted(rows, key=lambda row: row.bytes, reverse=True)[:_LARGEST]
    return {
        "schema": "capy.dbsize/1",
        "file_bytes": queries.file_bytes(db),
        "pages": pages,
        "free_pages": free,
        "page_size": queries.file_bytes(db) // pages if pages else 0,
        "tables": queries.table_bytes(db),
        "kinds": {kind: sum(row.bytes for row in rows if row.kind == kind) for kind in KINDS},
        "largest": [{"label": row.label, "bytes": row.bytes, "chunks": row.chunk_count} for row in largest],
    }


def _sum(rows: list[SourceRow]) -> dict[str, int]:
    return {
        "sources": len(rows),
        "chunks": sum(row.chunk_count for row in rows),
        "bytes": sum(row.bytes for row in rows),
    }
