"""Is the knowledge base sound, and can the full-text indexes be made anew from the stored text?"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from capy_core.database import Connection, integrity, open_database, translate, write
from capy_core.errors import CapyError

from . import queries, schema
from .migrations import MIGRATIONS

if TYPE_CHECKING:
    from capy_core.keys import Key

_WORD = re.compile(r"(?<!\w)[a-z]{4,20}(?!\w)")
_BIG_LOG = 64 << 20
_REBUILD = "rebuild the indexes from the stored text: capy-store doctor --repair"


@dataclass(frozen=True)
class Check:
    """One thing that was looked at. `hint` says what to do when it is not well."""

    name: str
    ok: bool
    detail: str
    hint: str = ""


def checks(path: Path, key: Key) -> Iterator[Check]:
    """Look at an existing database, deepest damage first; stops after the first check that rules the others out."""
    mode = path.stat().st_mode & 0o777
    yield _check("file mode", not mode & 0o077, f"{mode:04o}", f"run: chmod 600 {path}")
    log = Path(f"{path}-wal")
    size = log.stat().st_size if log.exists() else 0
    yield _check("write-ahead log", size <= _BIG_LOG, f"{size} bytes", "run: capy-store checkpoint")
    problems = integrity(path, key)
    yield _check("integrity", not problems, "; ".join(problems[:3]) or "ok", _advice(problems))
    try:
        db = open_database(path, key, MIGRATIONS, create=False, readonly=True)
    except CapyError as ex:
        yield Check("opens", False, ex.message, ex.hint)
        return
    try:
        yield Check("opens", True, f"schema version {MIGRATIONS[-1].version}")
        yield _guarded("full-text index", lambda: _same_ids(db))
        yield _guarded("stored text", lambda: _readable(db))
        yield _guarded("search", lambda: _finds_a_word(db))
    finally:
        db.close()


def repair(db: Connection) -> int:
    """Make the full-text indexes anew from the stored chunks, in one transaction; how many chunks.

    Raises:
        Corrupt: a stored text cannot be read; nothing was changed.
    """
    from .rows import index_texts, unpack

    total = 0
    with write(db):
        _drop_indexes(db)
        for statement in schema.FTS:
            db.execute(statement)
        for (_, trigram), chunks in groupby(_consecutive(queries.all_bodies(db)), key=lambda entry: entry[0]):
            batch = list(chunks)
            for at in range(0, len(batch), 1000):
                part = batch[at : at + 1000]
                texts = index_texts((title, unpack(body)) for _, (_, title, body) in part)
                queries.insert_texts(db, part[0][1][0], texts, trigram=bool(trigram))
                total += len(part)
        queries.set_state(db, "deleted_chunks", 0)
    return total


def _consecutive(
    rows: Iterator[tuple[int, int, str, bytes]],
) -> Iterator[tuple[tuple[int, int], tuple[int, str, bytes]]]:
    """Each chunk under a group that holds only consecutive ids of sources with the same trigram flag."""
    for number, (chunk, trigram, title, body) in enumerate(rows):
        yield (chunk - number, trigram), (chunk, title, body)


def _drop_indexes(db: Connection) -> None:
    """Remove the full-text tables. One that is too damaged for DROP TABLE is struck from the schema first."""
    import sqlcipher3.dbapi2 as driver

    for table in ("chunks_fts", "chunks_trigram"):
        try:
            db.execute(f"DROP TABLE IF EXISTS {table}")
        except driver.Error:
            db.execute("PRAGMA writable_schema = ON")
            db.execute("DELETE FROM sqlite_master WHERE type = 'table' AND name = ?", (table,))
            db.execute("PRAGMA writable_schema = RESET")
            for part in ("data", "idx", "content", "docsize", "config"):
                db.execute(f"DROP TABLE IF EXISTS {table}_{part}")


def _guarded(name: str, look: Callable[[], str]) -> Check:
    """A check that fails with the error it meets."""
    import sqlcipher3.dbapi2 as driver

    try:
        with translate():
            problem = look()
    except (CapyError, driver.Error) as ex:  # such as a table that is not there
        return Check(name, False, str(ex), _REBUILD)
    return _check(name, not problem, problem or "ok", _REBUILD)


def _check(name: str, ok: bool, detail: str, hint: str) -> Check:
    return Check(name, ok, detail, "" if ok else hint)


def _same_ids(db: Connection) -> str:
    missing, extra = queries.index_mismatch(db)
    return f"{missing} chunks are not in it, {extra} of its rows have no chunk" if missing or extra else ""


def _readable(db: Connection) -> str:
    from .rows import unpack

    for _, _, _, body in queries.all_bodies(db):
        unpack(body)
    return ""


def _finds_a_word(db: Connection) -> str:
    """Look up words of some stored chunks."""
    from .rows import unpack

    for chunk, body in queries.sample_bodies(db):
        word = _WORD.search(unpack(body))
        if word and not queries.matches(db, chunk, word[0]):
            return f"{word[0]!r} of chunk {chunk} is not found"
    return ""


def _advice(problems: list[str]) -> str:
    return (
        _REBUILD
        if all("fts5" in problem or "chunks_" in problem for problem in problems)
        else ("export what can be read (capy-store export), and import it into a new database")
    )
