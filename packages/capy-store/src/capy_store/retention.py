"""How long a source stays: scores and tiers of durable ones, time limits of the others, and what cleanup removes.

score = salience * exp(-0.045 * days since it was indexed) + 0.3 / (1 + days since it was last answered)

salience is 0.7 when all its chunks are code, 0.6 when some are, else 0.5, plus 0.02 for each use (0.2 at most). A use
is one answer that held the source; uses halve every 30 days. The second term counts only for what was ever used.
Tiers: hot from 0.7, warm from 0.4, cold from 0.15. Below that a source is evictable once less than half a use is left:
one answer keeps it for a month, ten for four.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from capy_core.database import Connection, checkpoint, translate, write
from capy_core.errors import BadInput, Busy

from . import queries, staging
from .naming import source_named
from .queries import SourceRow

if TYPE_CHECKING:
    from capy_core.config import StoreConfig

DAY = 86_400
HALF_LIFE_DAYS = 30
TIERS = ((0.7, "hot"), (0.4, "warm"), (0.15, "cold"))
_EVICTABLE = 0.15
_KEPT_USES = 0.5
_FREE_SHARE = 0.2  # of a file's pages; above it a cleanup gives them back to the disk


@dataclass(frozen=True)
class Eviction:
    """A source that a cleanup removes. reason: oversized, retention, ttl, purge or manual."""

    source_id: int
    label: str
    kind: str
    content_type: str
    reason: str
    tier: str
    score: float
    chunks: int
    bytes: int
    indexed_at: int
    accessed_at: int


@dataclass(frozen=True)
class Cleanup:
    """What a cleanup did, or would do. Bytes are the size of the file."""

    evicted: list[Eviction]
    dry_run: bool
    bytes_before: int
    bytes_after: int
    vacuumed: bool


def uses_left(row: SourceRow, now: float) -> float:
    """The uses of a source, each halved every 30 days."""
    return row.access_count * math.exp2(-_days(row.accessed_at, now) / HALF_LIFE_DAYS)


def score(row: SourceRow, now: float) -> float:
    """The retention score of a durable source, 0 to about 1.2."""
    if row.chunk_count and row.code_chunk_count == row.chunk_count:
        salience = 0.7
    else:
        salience = 0.6 if row.code_chunk_count else 0.5
    salience += min(0.2, 0.02 * uses_left(row, now))
    recency = 1 / (1 + _days(row.accessed_at, now)) if row.access_count else 0.0
    return salience * math.exp(-0.045 * _days(row.indexed_at, now)) + 0.3 * recency


def tier(row: SourceRow, config: StoreConfig, now: float) -> str:
    """hot, warm, cold, evictable for a durable source; fresh or stale for one with a time limit."""
    if row.kind != "durable":
        return "stale" if row.indexed_at < _oldest(row.kind, config, now) else "fresh"
    value = score(row, now)
    name = next((name for bound, name in TIERS if value >= bound), "evictable")
    return "cold" if name == "evictable" and uses_left(row, now) >= _KEPT_USES else name


def plan(
    db: Connection, config: StoreConfig, *, purge: str = "", label: str | None = None, now: float | None = None
) -> list[Eviction]:
    """What a cleanup would remove, in the order of the ids.

    Args:
        purge: "ephemeral" or "session": all of that kind and nothing else.
        label: this source and nothing else, whatever its worth.

    Raises:
        BadInput: `purge` is no such kind, or is given together with a label.
        NotFound: there is no source of that label.
    """
    now = time.time() if now is None else now
    if purge and label is not None:
        raise BadInput("a purge and a single source exclude each other", "ask for one of them")
    if purge not in ("", "ephemeral", "session"):
        raise BadInput(f"cannot purge {purge!r}", "purge ephemeral or session; durable sources are deleted by label")
    if label is not None:
        return [_eviction(source_named(db, label), "manual", config, now)]
    rows = queries.all_sources(db)
    if purge:
        return [_eviction(row, "purge", config, now) for row in rows if row.kind == purge]
    return [_eviction(row, reason, config, now) for row in rows if (reason := _reason(row, config, now))]


def clean(
    db: Connection,
    config: StoreConfig,
    *,
    purge: str = "",
    label: str | None = None,
    dry_run: bool = False,
    vacuum: bool = False,
    now: float | None = None,
) -> Cleanup:
    """Remove what `plan` names, then what is left of deleted text in the file: see `scrub`.

    A source that another process indexed anew in between stays. Each goes in a transaction of its own.

    Raises:
        Busy: another process held the database. Also what `plan` raises.
    """
    evictions = plan(db, config, purge=purge, label=label, now=now)
    before = queries.file_bytes(db)
    if dry_run:
        return Cleanup(evictions, True, before, before, False)
    with write(db):
        staging.sweep(db)
    evicted = [eviction for eviction in evictions if _evict(db, eviction)]
    vacuumed = scrub(db, vacuum=vacuum)
    return Cleanup(evicted, False, before, queries.file_bytes(db), vacuumed)


def prune(db: Connection, config: StoreConfig, *, now: float | None = None, wait_s: float = 5) -> int:
    """Remove sources past their time limit, at most once an hour for a database; how many. Cheap when it is not due.

    Raises:
        Busy: another process held the database for `wait_s` seconds.
    """
    now = time.time() if now is None else now
    last = queries.state(db, queries.PRUNED_AT)
    if not queries.prune_is_due(db, now):
        return 0
    with write(db, wait_s=wait_s):
        if queries.state(db, queries.PRUNED_AT) != last:  # another process is at it
            return 0
        queries.set_state(db, queries.PRUNED_AT, int(now))
        staging.sweep(db)
    expired = [_eviction(row, "ttl", config, now) for row in queries.all_sources(db) if _expired(row, config, now)]
    return sum(_evict(db, eviction) for eviction in expired)


def scrub(db: Connection, *, vacuum: bool = False) -> bool:
    """Take what is left of deleted text out of the file, and give free pages back when they are many.

    A delete leaves the words of the text in the full-text index until its parts are merged; `secure_delete` overwrites
    all else at once. Then the write-ahead log is emptied, as far as other processes let it.

    Returns:
        True when the file was rebuilt (VACUUM).
    """
    if queries.state(db, "deleted_chunks"):
        with write(db):
            queries.merge_fts(db)
            queries.set_state(db, "deleted_chunks", 0)
    free, pages = queries.free_pages(db)
    vacuumed = vacuum or free > _FREE_SHARE * pages
    if vacuumed:
        try:
            with translate():
                db.execute("VACUUM")
        except Busy:
            if vacuum:  # asked for; else it can wait for the next cleanup
                raise
            vacuumed = False
    checkpoint(db)
    return vacuumed


def note_uses(db: Connection, source_ids: Iterable[int], *, now: float | None = None) -> None:
    """Count one use of each source, inside a write transaction: what is left of the earlier ones, plus one."""
    now = time.time() if now is None else now
    for row in queries.sources_by_id(db, source_ids):
        count = math.floor(uses_left(row, now) + 0.5) + 1
        queries.update_source(db, row.id, {"access_count": count, "accessed_at": int(now)})


def _evict(db: Connection, eviction: Eviction) -> bool:
    with write(db):
        row = next(iter(queries.sources_by_id(db, [eviction.source_id])), None)
        if row is None or (row.indexed_at, row.kind) != (eviction.indexed_at, eviction.kind):
            return False
        queries.delete_source(db, row.id)
    return True


def _reason(row: SourceRow, config: StoreConfig, now: float) -> str:
    if row.bytes > config.max_source_bytes:
        return "oversized"
    if row.kind != "durable":
        return "ttl" if _expired(row, config, now) else ""
    return "retention" if score(row, now) < _EVICTABLE and uses_left(row, now) < _KEPT_USES else ""


def _expired(row: SourceRow, config: StoreConfig, now: float) -> bool:
    return row.kind != "durable" and row.indexed_at < _oldest(row.kind, config, now)


def _oldest(kind: str, config: StoreConfig, now: float) -> float:
    """The earliest time of indexing that a source of this kind may have."""
    return now - (config.ephemeral_ttl_hours * 3600 if kind == "ephemeral" else config.session_ttl_days * DAY)


def _eviction(row: SourceRow, reason: str, config: StoreConfig, now: float) -> Eviction:
    return Eviction(
        source_id=row.id,
        label=row.label,
        kind=row.kind,
        content_type=row.content_type,
        reason=reason,
        tier=tier(row, config, now),
        score=round(score(row, now), 4) if row.kind == "durable" else 0.0,
        chunks=row.chunk_count,
        bytes=row.bytes,
        indexed_at=row.indexed_at,
        accessed_at=row.accessed_at,
    )


def _days(since: int, now: float) -> float:
    return max(0.0, (now - since) / DAY)
