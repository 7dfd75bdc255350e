"""Slices of rows into the tables.

A text of up to 2 MB is one transaction. A longer one is written slice by slice under a staging label that no reader
sees; a last transaction gives it its name and removes what had the name before. A killed writer leaves staging rows
only, and the next writer removes them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from capy_core.database import Connection, write

from . import queries, staging
from .indexing import refresh, result_of
from .origin import Origin, same_chunks
from .queries import SourceRow

if TYPE_CHECKING:
    from .documents import IndexResult
    from .pipeline import Reading
    from .rows import Slice

T = TypeVar("T")

# Between the slices of a bulk source: other writers look for the lock every 0.1 s at most, and must get a turn.
# The next slice is made meanwhile, so the pause costs little.
_GAP_S = 0.02


@dataclass
class Job:
    """One document on its way into the store. `size`: of the raw text, None while it is not known."""

    origin: Origin
    reading: Reading
    raw_hash: Callable[[], bytes]
    size: int | None
    restored: dict[str, Any] = field(default_factory=dict)
    keep_newer: bool = False
    trigram: bool = False
    chunks: int = 0
    code_chunks: int = 0


class Writer:
    """Puts jobs into one open database."""

    def __init__(self, db: Connection, trigram_max_bytes: int) -> None:
        self._db = db
        self._trigram_max = trigram_max_bytes

    def put(self, job: Job) -> IndexResult:
        """Write a document, or find that its text is there already.

        Raises:
            Busy: another process held the database. What the reading raises goes through; nothing stays then.
        """
        job.trigram = job.size is not None and job.size <= self._trigram_max
        slices = job.reading.slices()
        first, second = next(slices, None), next(slices, None)
        if second is None:
            return self._put_whole(job, first)
        assert first is not None
        return self._put_staged(job, chain((first, second), slices))

    def _put_whole(self, job: Job, rows: Slice | None) -> IndexResult:
        """In one transaction, with all that can be computed done before the lock is taken."""
        with write(self._db):
            source_id = self._stage(job)
            if rows is not None:
                self._add(job, source_id, rows)
            return self._finish(job, source_id)

    def _put_staged(self, job: Job, slices: Iterable[Slice]) -> IndexResult:
        """In a transaction a slice, the next one made meanwhile. An unusable text leaves nothing."""
        with write(self._db):
            source_id = self._stage(job)
        try:
            _one_behind(partial(self._add_alone, job, source_id), slices)
            with write(self._db):
                return self._finish(job, source_id)
        except BaseException:
            with write(self._db):
                queries.delete_source(self._db, source_id)
            raise

    def _stage(self, job: Job) -> int:
        """A source that nobody sees yet."""
        staging.sweep(self._db)
        values = {**_values(job, None), "label": staging.new_label(), "complete": 0, "trigram": int(job.trigram)}
        return queries.insert_source(self._db, values)

    def _add(self, job: Job, source_id: int, rows: Slice) -> None:
        queries.insert_slice(self._db, source_id, rows, trigram=job.trigram)
        job.chunks += rows.chunks
        job.code_chunks += rows.code_chunks

    def _add_alone(self, job: Job, source_id: int, rows: Slice) -> None:
        with write(self._db):
            self._add(job, source_id, rows)
        time.sleep(_GAP_S)

    def _finish(self, job: Job, source_id: int) -> IndexResult:
        """Give the staged source its name, unless the one that has it holds the same text already."""
        old = queries.source_by_label(self._db, job.origin.label)
        values = _values(job, old)
        if old is not None and job.keep_newer and old.indexed_at > values["indexed_at"]:
            queries.delete_source(self._db, source_id)
            return result_of(old, "unchanged")
        if old is not None and old.hash == values["hash"] and same_chunks(old.recipe, values["recipe"]):
            queries.delete_source(self._db, source_id)
            changes = {"raw_hash": values["raw_hash"], "recipe": values["recipe"]}
            return refresh(self._db, old, {**job.origin.facts(), **changes})
        if old is not None:
            queries.delete_source(self._db, old.id)
        queries.update_source(self._db, source_id, values)
        return result_of(SourceRow(id=source_id, **values), "replaced" if old else "indexed")


def _values(job: Job, old: SourceRow | None) -> dict[str, Any]:
    """The fields of the source's row; what `old` has under the same label and does not depend on the text stays."""
    now = int(time.time())
    reading = job.reading
    return {
        **job.origin.facts(),
        "label": job.origin.label,
        "content_type": reading.content_type,
        "title": job.origin.title,
        "hash": reading.hash,
        "raw_hash": job.raw_hash(),
        "recipe": job.origin.recipe,
        "bytes": reading.bytes,
        "lines": reading.lines,
        "redactions": reading.redactions,
        "chunk_count": job.chunks,
        "code_chunk_count": job.code_chunks,
        "trigram": int(job.trigram and job.chunks > 0),
        "complete": 1,
        "created_at": old.created_at if old else now,
        "indexed_at": now,
        "accessed_at": old.accessed_at if old else now,
        "access_count": old.access_count if old else 0,
        **job.restored,
    }


def _one_behind(put: Callable[[T], None], items: Iterable[T]) -> None:
    """Put each item in a thread while the next one is made here: SQLite lets the interpreter go meanwhile.

    The thread has ended when this returns or raises.
    """
    from concurrent.futures import Future, ThreadPoolExecutor

    pending: Future[None] | None = None
    with ThreadPoolExecutor(1) as pool:
        for item in items:
            if pending is not None:
                pending.result()
            pending = pool.submit(put, item)
    if pending is not None:
        pending.result()
