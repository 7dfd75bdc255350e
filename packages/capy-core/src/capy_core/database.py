"""One opener for every encrypted SQLite file: the store's and the vault's.

All work on such a file goes through SQLite. Never `open()` it while this process holds a connection to it: closing
that handle drops SQLite's POSIX locks, and another process may then take the file apart.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .dberrors import is_locked, translate, translated
from .dbfiles import file_errors, file_size, folder_lock, identity, move_aside
from .errors import Busy, CapyError, Corrupt, NotFound, TooNew, Unencrypted, Unwritable, WrongKey

if TYPE_CHECKING:
    from .config import Warn
    from .keys import Key

__all__ = [
    "Connection",
    "Migration",
    "checkpoint",
    "close",
    "connect",
    "integrity",
    "open_database",
    "translate",
    "translated",
    "write",
]

Connection = Any  # sqlcipher3.dbapi2.Connection, which ships no types

_SMALLEST = 512  # bytes; no database is smaller, so what is smaller is garbage and no mistyped key
_READ_WAIT_MS = 5000
_WRITE_WAIT_S = 30.0
_BIG_WAL = 4 * 1024 * 1024
_OPERATIONS = 100_000  # between two looks for Ctrl-C: about 2 ms of work, and no cost that can be measured


@dataclass(frozen=True)
class Migration:
    """One step of a schema. `apply` runs inside a transaction that also records the step."""

    version: int
    name: str
    apply: Callable[[Connection], None]


def open_database(
    path: Path,
    key: Key,
    migrations: Sequence[Migration],
    *,
    create: bool = True,
    readonly: bool = False,
    warn: Warn | None = None,
) -> Connection:
    """Open an encrypted database and bring it to the newest schema. Autocommit: use `write` for transactions.

    A missing file is created (0600, its folders 0700). A file of 1 to 511 bytes is moved aside to
    `<name>.corrupt.<UTC time>` and made anew; any larger file that the key does not open is left alone.

    Args:
        create: False: a missing file is an error.
        readonly: never write, neither file nor folder need be writable; the schema must be the newest already.
        warn: called with code, message, hint when a file was moved aside (`database_recreated`).

    Raises:
        NotFound, WrongKey, Unencrypted, Corrupt, TooNew, Busy, Unwritable.
    """
    if readonly:
        return _open_readonly(path, key, migrations)
    if file_size(path) < _SMALLEST:
        if not create:
            _refuse_small(path)
        return _create(path, key, migrations, warn)
    return _prepare(connect(path, key), path, migrations)


@contextmanager
def write(db: Connection, *, wait_s: float = _WRITE_WAIT_S) -> Iterator[Connection]:
    """A write transaction: BEGIN IMMEDIATE, retried with jitter until `wait_s`, then COMMIT or ROLLBACK.

    Raises:
        Busy: another process held the lock for longer.
        Corrupt, Unwritable: see `translate`; what the body raises itself goes through.
    """
    with translate():
        # SQLite's own waiting is unfair: with eight writers one may starve for seconds
        db.execute("PRAGMA busy_timeout = 0")
        try:
            _patiently(db, "BEGIN IMMEDIATE", wait_s)
        finally:
            db.execute(f"PRAGMA busy_timeout = {_READ_WAIT_MS}")
        try:
            yield db
            db.execute("COMMIT")
        except BaseException:
            with suppress(Exception):  # SQLite may have rolled back already; the first error is the one to tell
                if db.in_transaction:
                    db.execute("ROLLBACK")
            raise


def checkpoint(db: Connection) -> bool:
    """Move the write-ahead log into the main file and empty it, waiting up to 5 s for others.

    Returns:
        True when another process that reads or writes kept it from being emptied.
    """
    with translate():
        return bool(db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])


def close(db: Connection) -> None:
    """Close a connection; a large write-ahead log is emptied first. (SQLite itself does that for the last one.)"""
    import sqlcipher3.dbapi2 as driver

    with suppress(driver.Error, OSError):
        log = Path(db.execute("PRAGMA database_list").fetchone()[2] + "-wal")
        if log.exists() and log.stat().st_size > _BIG_WAL:
            db.execute("PRAGMA busy_timeout = 0")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


def integrity(path: Path, key: Key) -> list[str]:
    """What is wrong with a database, in SQLite's words; [] for a healthy one. Takes time in proportion to its size.

    Every page's HMAC (`cipher_integrity_check`), then `integrity_check`, which looks into FTS5 tables too. On a
    connection of its own: on one that has read an FTS5 table before another wrote, SQLite reports corruption that
    is not there.

    Raises:
        NotFound, WrongKey, Unencrypted, Busy, Unwritable.
    """
    if file_size(path) < _SMALLEST:
        _refuse_small(path)
    # A page that another process is just writing reads like a broken one: look again while nobody can write
    return _problems(path, key, alone=False) and _problems(path, key, alone=True)


def _problems(path: Path, key: Key, *, alone: bool) -> list[str]:
    import sqlcipher3.dbapi2 as driver

    found: list[str] = []
    try:
        db = connect(path, key)
    except Corrupt as ex:
        return [ex.message]
    try:
        if alone:
            _patiently(db, "BEGIN IMMEDIATE", _WRITE_WAIT_S)
        found += [row[0] for row in db.execute("PRAGMA cipher_integrity_check")]
        found += [row[0] for row in db.execute("PRAGMA integrity_check(20)") if row[0] != "ok"]
    except driver.DatabaseError as ex:
        error = translated(ex)
        if isinstance(error, Busy | Unwritable | KeyboardInterrupt):
            raise error from ex
        found.append(str(ex))  # too damaged for the check itself
    except MemoryError:  # what it read as a size was none
        found.append("a table is too damaged to be checked")
    finally:
        db.close()
    return found


def _create(path: Path, key: Key, migrations: Sequence[Migration], warn: Warn | None) -> Connection:
    from .paths import make_private

    make_private(path.parent)
    with file_errors(path), folder_lock(path.parent):
        size = file_size(path)
        if size >= _SMALLEST:  # another process made it while we waited
            return _prepare(connect(path, key), path, migrations)
        if size > 0:
            aside = move_aside(path, "corrupt")
            if warn is not None:
                message = f"{path} held {size} bytes and no database; it was moved to {aside.name} and made anew"
                warn("database_recreated", message, "delete the old file when you have looked at it")
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))  # SQLite gives the sidecars the same mode
        return _prepare(connect(path, key), path, migrations)


def connect(path: Path, key: Key | None, *, options: str = "mode=rw") -> Connection:
    """A bare connection to an existing file that has read its first page; `open_database` makes it ready for use.

    Args:
        key: None for a plaintext file.
        options: of SQLite's URI.

    Raises:
        WrongKey, Unencrypted, Corrupt, Busy, Unwritable.
    """
    import sqlcipher3.dbapi2 as driver

    while True:
        before = identity(path)
        try:
            db = _connect_once(path, key, options)
        except driver.Error as ex:
            if identity(path) == before:
                raise _open_error(ex, path, key) from ex
            continue
        if identity(path) == before:
            return db
        db.close()  # replaced (by rekey) while we opened it: what we hold is the old file


def _connect_once(path: Path, key: Key | None, options: str) -> Connection:
    import sqlcipher3.dbapi2 as driver

    uri = f"file://{_percent(path.absolute())}?{options}"
    db = driver.connect(uri, uri=True, isolation_level=None, timeout=_READ_WAIT_MS / 1000, check_same_thread=False)
    try:
        # SQLCipher would log to stderr; the error we raise says what there is to say
        db.execute("PRAGMA cipher_log_level = NONE")
        if key is not None:
            db.execute(f"PRAGMA key = {key.pragma_value}")
        db.execute("PRAGMA user_version").fetchone()
        # Ctrl-C reaches Python between two calls of this; it does nothing else
        db.set_progress_handler(_go_on, _OPERATIONS)
        return db
    except BaseException:
        db.close()
        raise


def _prepare(db: Connection, path: Path, migrations: Sequence[Migration]) -> Connection:
    """Settings and schema for a connection that will write; closes it on failure."""
    try:
        with translate():
            _check_version(db, path, migrations)
            _patiently(db, "PRAGMA journal_mode = WAL", _READ_WAIT_MS / 1000)
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute("PRAGMA secure_delete = ON")
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        _migrate(db, path, migrations)
        db.execute("PRAGMA foreign_keys = ON")  # after the steps: one that rebuilds a table needs it off
        return db
    except BaseException:
        db.close()
        raise


def _migrate(db: Connection, path: Path, migrations: Sequence[Migration]) -> None:
    done = _version(db)
    for step in sorted(migrations, key=lambda step: step.version):
        if step.version <= done:
            continue
        with write(db):
            done = _check_version(db, path, migrations)  # another process may have been faster
            if step.version > done:
                db.execute("CREATE TABLE IF NOT EXISTS migrations(name TEXT PRIMARY KEY, applied_at INTEGER NOT NULL)")
                step.apply(db)
                db.execute("INSERT INTO migrations VALUES(?, ?)", (step.name, int(time.time())))
                db.execute(f"PRAGMA user_version = {step.version:d}")


def _check_version(db: Connection, path: Path, migrations: Sequence[Migration]) -> int:
    version, newest = _version(db), max((step.version for step in migrations), default=0)
    if version > newest:
        raise TooNew(
            f"{path} has schema version {version}, and this program knows versions up to {newest}",
            "update capy; the file was not changed",
            path=str(path),
            version=version,
            known=newest,
        )
    return version


def _version(db: Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _open_readonly(path: Path, key: Key, migrations: Sequence[Migration]) -> Connection:
    if file_size(path) < _SMALLEST:
        _refuse_small(path)
    log = Path(f"{path}-wal")
    try:
        db = connect(path, key, options="mode=ro")
    except Unwritable:
        # A folder that cannot be written has no room for the log's index. Without a log none is needed
        if log.exists() and log.stat().st_size:
            raise
        db = connect(path, key, options="mode=ro&immutable=1")
    try:
        with translate():
            version = _check_version(db, path, migrations)
            newest = max((step.version for step in migrations), default=0)
            if version < newest:
                message = f"{path} has schema version {version}, which has to be brought to {newest} first"
                raise Unwritable(message, "open it once where it can be written")
            db.execute("PRAGMA query_only = ON")
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return db
    except BaseException:
        db.close()
        raise


def _patiently(db: Connection, statement: str, wait_s: float) -> None:
    """Run a statement, and again with jitter while the file is locked.

    Raises:
        Busy: it was locked for longer than `wait_s`.
    """
    deadline, pause = time.monotonic() + wait_s, 0.002
    while True:
        try:
            db.execute(statement)
            return
        except Exception as ex:
            if not is_locked(ex):
                raise
            if time.monotonic() > deadline:
                hint = "try again, or end the process that holds it"
                raise Busy(f"the database stayed locked for {wait_s:.0f} s", hint) from ex
            time.sleep(random.uniform(0.001, pause))
            pause = min(pause * 2, 0.1)


def _open_error(ex: Exception, path: Path, key: Key | None) -> BaseException:
    error = translated(ex) or ex
    if isinstance(error, WrongKey) and key is not None and _is_plaintext(path):
        return Unencrypted(f"{path} is not encrypted", "encrypt it: capy-store encrypt", path=str(path))
    if isinstance(error, WrongKey) and key is None:
        return WrongKey(f"{path} is encrypted, or no database", "name its present key", path=str(path))
    if isinstance(error, CapyError):
        return type(error)(f"{path}: {error.message}", error.hint, path=str(path))
    return error


def _is_plaintext(path: Path) -> bool:
    """True when SQLite reads the file's header without a key."""
    import sqlcipher3.dbapi2 as driver

    try:
        _connect_once(path, None, "mode=ro").close()
    except driver.Error:
        return False
    return True


def _refuse_small(path: Path) -> None:
    size = file_size(path)
    if size:
        raise Corrupt(f"{path} is not a database: it holds {size} bytes", "restore it from a copy", path=str(path))
    raise NotFound(f"there is no database at {path}", "index something first, or correct the path", path=str(path))


def _percent(path: Path) -> str:
    from urllib.parse import quote_from_bytes

    return quote_from_bytes(os.fsencode(path))


def _go_on() -> int:
    return 0
