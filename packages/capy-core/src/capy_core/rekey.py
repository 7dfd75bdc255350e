"""Put a database under another key: copy, verify, swap. At every instant one whole file is in its place.

Encrypted to encrypted goes through SQLite's backup API, page by page. SQLCipher cannot do that from plaintext (an
encrypted page has room for its HMAC), so there `sqlcipher_export` writes every table and index anew; FTS5's own
tables travel as the tables they are. The result opens with SQLCipher 4's default settings.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from .atomic import sync_folder
from .database import Connection, connect, integrity
from .dberrors import translate, translated
from .dbfiles import folder_lock, free_name
from .errors import Busy, Corrupt, NotFound, Unwritable
from .keys import Key


@dataclass(frozen=True)
class RekeyResult:
    """What was done: the size of the new file in bytes, and where the old one is kept (None: removed)."""

    size: int
    backup: Path | None


def rekey(path: Path, old: Key | None, new: Key, *, keep_backup: bool = False) -> RekeyResult:
    """Replace a database by its copy under `new`, after the copy was read back and compared.

    Args:
        old: its present key; None when it is plaintext.
        keep_backup: keep the old file, under its old key or in plaintext, as `<name>.bak.<UTC time>`. Otherwise it is
            overwritten with zeros and removed, as well as a disk allows (flash memory and snapshots keep old blocks).

    Raises:
        NotFound: there is no such file.
        WrongKey, Unencrypted: `old` does not open it.
        Busy: another connection has it open; nothing was changed.
        Corrupt: the copy differs from the original, which stays in place.
        Unwritable: no permission or no space for the copy (as large as the original).
    """
    path = Path(os.path.realpath(path))  # a link stays a link
    if not path.is_file():
        raise NotFound(f"there is no database at {path}", "correct the path", path=str(path))
    copy = path.with_name(f"{path.name}.rekey.tmp")
    with folder_lock(path.parent):
        _remove(copy)  # what a killed run left; nobody else is here while we hold the lock
        try:
            with _alone(path, old) as db:
                _copy(db, copy, old, new)
                _verify(db, copy, new)
                return _swap(path, copy, keep_backup=keep_backup)
        except OSError as ex:
            hint = "free some space or fix the permissions; the old file was not changed"
            raise Unwritable(f"cannot rekey {path}: {ex.strerror or ex}", hint, path=str(path)) from ex
        finally:
            _remove(copy)


@contextmanager
def _alone(path: Path, key: Key | None) -> Iterator[Connection]:
    """A connection that holds the file against every other one, with no write-ahead log beside it.

    Raises:
        Busy: another connection has it open.
    """
    db = connect(path, key)
    try:
        with translate():
            # An idle connection in WAL mode keeps a shared lock, so this finds all that have ever read the file
            db.execute("PRAGMA journal_mode = DELETE")
            db.execute("PRAGMA locking_mode = EXCLUSIVE")
            db.execute("BEGIN EXCLUSIVE")
            db.execute("COMMIT")  # keeps the lock; nothing was written, so no journal lies beside the file at the swap
            if db.execute("PRAGMA journal_mode").fetchone()[0] != "delete":
                raise Busy(f"another process opened {path}", "end it and try again", path=str(path))
        yield db
    finally:
        db.close()


def _copy(db: Connection, copy: Path, old: Key | None, new: Key) -> None:
    import sqlcipher3.dbapi2 as driver

    os.close(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        if old is None:
            _export(db, copy, new)
        else:
            target = connect(copy, new)
            try:
                db.backup(target)
            finally:
                target.close()
    except driver.Error as ex:
        # both ways give a text without a result code
        hint = "free some space; the old file was not changed"
        raise translated(ex) or Unwritable(f"the copy could not be written: {ex}", hint) from ex


def _export(db: Connection, copy: Path, new: Key) -> None:
    db.execute("ATTACH ? AS copy KEY ?", (os.fspath(copy), new.reveal()))
    db.execute("SELECT sqlcipher_export('copy')").fetchone()
    for name in ("user_version", "application_id"):
        value = db.execute(f"PRAGMA main.{name}").fetchone()[0]
        db.execute(f"PRAGMA copy.{name} = {value:d}")
    db.execute("DETACH copy")


def _verify(db: Connection, copy: Path, new: Key) -> None:
    """Compare the copy, opened anew, with the original.

    Raises:
        Corrupt: they differ, or the copy is damaged.
    """
    problems = integrity(copy, new)
    other = connect(copy, new)
    try:
        if not problems and _facts(db) != _facts(other):
            problems = ["tables or row counts differ"]
    finally:
        other.close()
    if problems:
        hint = "the old file was not changed; run capy-store doctor"
        raise Corrupt(f"the copy under the new key is not sound: {problems[0]}", hint, problems=problems)


def _facts(db: Connection) -> tuple[int, list[tuple[str, ...]], list[tuple[str, int]]]:
    """Schema version, schema, and the number of rows of every ordinary table."""
    with translate():
        schema = db.execute(
            "SELECT type, name, tbl_name, coalesce(sql, '') FROM main.sqlite_master ORDER BY 1, 2"
        ).fetchall()
        tables = [
            name for kind, name, _, sql in schema if kind == "table" and not sql.upper().startswith("CREATE VIRTUAL")
        ]
        counts = [(name, db.execute(f"SELECT count(*) FROM main.{_quoted(name)}").fetchone()[0]) for name in tables]
        return db.execute("PRAGMA main.user_version").fetchone()[0], schema, counts


def _swap(path: Path, copy: Path, *, keep_backup: bool) -> RekeyResult:
    """Put the copy in the original's place by one rename; the caller still holds the original's lock."""
    backup = free_name(path, "bak") if keep_backup else None
    if backup is not None:
        os.link(path, backup)
    # SQLite's lock falls when this handle is closed (see the module `database`): the file is out of reach by then
    with path.open("r+b") as original:
        facts = os.fstat(original.fileno())
        copy.chmod(facts.st_mode & 0o7777)
        if (facts.st_uid, facts.st_gid) != (os.geteuid(), os.getegid()):
            with suppress(PermissionError):
                os.chown(copy, facts.st_uid, facts.st_gid)
        with copy.open("rb") as stream:
            os.fsync(stream.fileno())
        os.replace(copy, path)
        sync_folder(path.parent)
        if os.fstat(original.fileno()).st_nlink == 0:  # no backup, and no hard link of the user's own
            _overwrite(original, facts.st_size)
    return RekeyResult(path.stat().st_size, backup)


def _overwrite(stream: BinaryIO, size: int) -> None:
    """Write zeros over a removed file, as well as the disk allows."""
    block = bytes(1024 * 1024)
    with suppress(OSError):
        for start in range(0, size, len(block)):
            stream.write(block[: size - start])
        stream.flush()
        os.fsync(stream.fileno())


def _remove(copy: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        Path(f"{copy}{suffix}").unlink(missing_ok=True)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
