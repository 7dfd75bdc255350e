"""Sources out of one store and into another, without loss: capy.document/1 with chunks, kind, times and use.

An exported record holds the chunks as they are stored, so that importing cuts nothing anew, and under `store` the facts
that a fresh indexing would make up: times, use, and the hashes that tell whether the text changed since.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from capy_core.errors import BadInput
from capy_core.records import Record

from . import queries
from .incoming import document_from
from .naming import source_named
from .rows import chunk_of

if TYPE_CHECKING:
    from capy_core.database import Connection

    from .documents import IndexResult
    from .indexing import Indexer
    from .queries import SourceRow

_TIMES = ("created_at", "indexed_at", "accessed_at")
_HASHES = ("hash", "raw_hash")
_NUMBERS = ("access_count", "redactions")


def exported(db: Connection, labels: list[str] | None = None) -> Iterator[Record]:
    """A record for each source, or for those of the given labels, oldest first.

    Raises:
        NotFound: a label has no source; nothing was given out then.
    """
    rows = queries.all_sources(db) if labels is None else [source_named(db, label) for label in labels]
    return (_record(db, row) for row in rows)


def imported(indexer: Indexer, record: Record, line: int = 0, *, replace: bool = False) -> IndexResult:
    """Store an exported record, or any capy.document/1. What is in the store and newer stays ("unchanged").

    Args:
        replace: let the record win even if the stored source is newer.

    Raises:
        BadInput: it is no such record. Also what `Indexer.index` raises.
    """
    document = document_from(record, line)
    facts = record.get("store")
    restored = _restored(facts, line) if facts is not None else {}
    return indexer.index(document, restored=restored, keep_newer=not replace)


def _record(db: Connection, row: SourceRow) -> Record:
    chunks = [chunk_of(chunk) for chunk in queries.chunk_rows(db, row.id)]
    # a short secret could be guessed from the hash of the text that still held it
    hashes = _HASHES if not row.redactions else ("hash",)
    record = {
        **document_record(row),
        "chunks": [{**chunk._asdict(), "content": chunk.body} for chunk in chunks],
        "store": {
            **{name: timestamp(getattr(row, name)) for name in _TIMES},
            **{name: getattr(row, name).hex() for name in hashes},
            **{name: getattr(row, name) for name in _NUMBERS},
            "recipe": row.recipe,
        },
    }
    for chunk in record["chunks"]:
        del chunk["body"]
    return record


def document_record(row: SourceRow) -> Record:
    """The capy.document/1 record of a source, but for its text."""
    record = {
        "schema": "capy.document/1",
        "label": row.label,
        "title": row.title,
        "kind": row.kind,
        "content_type": row.content_type,
        "path": row.path,
        "url": row.url,
        "meta": json.loads(row.meta),
    }
    return {name: value for name, value in record.items() if value is not None}


def _restored(facts: Any, line: int) -> dict[str, Any]:
    """The fields of a source that an exported record brings along."""
    try:
        values: dict[str, Any] = {name: seconds(facts[name]) for name in _TIMES if name in facts}
        values |= {name: bytes.fromhex(facts[name]) for name in _HASHES if name in facts}
        for name in _NUMBERS:
            value = facts.get(name, 0)
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise ValueError(f"{name} is {value!r}")
            values[name] = value
        if "recipe" in facts:
            values["recipe"] = str(facts["recipe"])
    except (TypeError, ValueError, AttributeError, KeyError) as ex:
        raise BadInput(
            f"'store' on line {line} is not as capy-store export writes it ({ex})",
            "leave it out, or export again",
            line=line,
        ) from ex
    return values


def timestamp(value: int) -> str:
    """UTC seconds as ISO 8601."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(value))


def seconds(text: str) -> int:
    """ISO 8601 as UTC seconds; a time without a zone is UTC.

    Raises:
        ValueError: it is no such time.
    """
    from datetime import UTC, datetime

    value = datetime.fromisoformat(text)
    return int((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp())
