"""OpenCode's database, read without changing it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..errors import BadInput, Busy, CapyError, NotFound
from ..records import dumps
from .events import Origin, Session
from .lines import LIMIT
from .opencode_files import Item
from .tree import Note, entries, head
from .values import seconds, string

_TABLES = frozenset(("session", "message", "part"))
_SESSIONS = """
SELECT s.id, s.parent_id, s.directory, s.title, s.time_updated,
       coalesce((SELECT sum(length(CAST(m.data AS BLOB))) FROM message m WHERE m.session_id = s.id), 0)
     + coalesce((SELECT sum(length(CAST(p.data AS BLOB))) FROM part p WHERE p.session_id = s.id), 0)
FROM session s ORDER BY s.id
"""
# what is beyond the limit is not even loaded
_SIZE = "length(CAST(data AS BLOB))"
_DATA = f"id, coalesce({_SIZE}, 0), CASE WHEN {_SIZE} <= {LIMIT} THEN CAST(data AS BLOB) END"
_MESSAGES = f"SELECT {_DATA}, time_created FROM message WHERE session_id = ? ORDER BY time_created, id"
_PARTS = f"SELECT {_DATA}, NULL FROM part WHERE message_id = ? ORDER BY id"
_HEADER = "SELECT id, title, directory, parent_id, version, time_created FROM session WHERE id = ?"


def databases(root: Path, notes: list[Note]) -> list[Path]:
    """The databases in OpenCode's folder: `opencode.db`, and `opencode-<channel>.db` of other release channels."""
    names = [entry.name for entry in entries(root, notes) if entry.is_file(follow_symlinks=False)]
    return [root / name for name in names if name.startswith("opencode") and name.endswith(".db")]


def is_database(path: Path) -> bool:
    """Whether a SQLite file has the tables that hold sessions."""
    try:
        with _connected(path) as connection:
            found = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except CapyError:
        return False
    return found >= _TABLES


def sessions(path: Path, notes: list[Note]) -> list[Session]:
    """All sessions of a database, by id; a database that cannot be read is noted."""
    try:
        with _connected(path) as connection:
            rows = connection.execute(_SESSIONS).fetchall()
    except CapyError as ex:
        notes.append(Note(path, ex.message))
        return []
    return [_session(path, *row) for row in rows]


def _session(path: Path, id_: Any, parent: Any, cwd: Any, title: Any, updated: Any, size: int) -> Session:
    """A row; its columns may hold values of any type, whatever they were declared as."""
    id_, parent = str(id_), string(parent)
    changed = int((seconds(updated) or 0) * 1000) * 1_000_000
    agent = id_ if parent else ""
    return Session(
        "opencode", id_, path, "", size, changed, string(cwd), parent, agent_id=agent, description=string(title)
    )


@contextmanager
def opened(session: Session) -> Iterator[_Rows]:
    """The rows of one session.

    Raises:
        NotFound, Busy, BadInput: there is no such database, it is locked, it is damaged or of another make.
    """
    with _connected(session.path) as connection:
        yield _Rows(connection, session.id)


def raw(session: Session, origin: Origin) -> bytes:
    """The `data` of a row; of the session's row, an object of its main columns."""
    table, _, id_ = origin.source.partition("/")
    with _connected(session.path) as connection:
        if table == "session":
            return _header(connection.execute(_HEADER, (id_,)).fetchone())
        query = f"SELECT CAST(data AS BLOB) FROM {'part' if table == 'part' else 'message'} WHERE id = ?"
        return bytes(connection.execute(query, (id_,)).fetchone()[0])


class _Rows:
    def __init__(self, connection: sqlite3.Connection, session: str) -> None:
        self._connection, self._session = connection, session

    def session(self) -> Iterator[Item]:
        for row in self._connection.execute(_HEADER, (self._session,)):
            data = _header(row)
            yield Item(str(row[0]), f"session/{row[0]}", len(data), data, row[-1])

    def messages(self) -> Iterator[Item]:
        return self._items(_MESSAGES, self._session, "message")

    def parts(self, message: str) -> Iterator[Item]:
        return self._items(_PARTS, message, "part")

    def _items(self, query: str, key: str, table: str) -> Iterator[Item]:
        for id_, size, data, time in self._connection.execute(query, (key,)):
            yield Item(str(id_), f"{table}/{id_}", size, data, time)


def _header(row: tuple[Any, ...]) -> bytes:
    """A session's row as JSON: as the old storage has it."""
    id_, title, directory, parent, version = map(string, row[:-1])
    fields = {"id": id_, "title": title, "directory": directory, "parentID": parent, "version": version}
    return dumps(fields).rstrip(b"\n")


@contextmanager
def _connected(path: Path) -> Iterator[sqlite3.Connection]:
    """A read-only connection; errors of SQLite become ours."""
    if not path.is_file():
        raise NotFound(f"there is no database {path}", "its host may have moved it", path=str(path))
    try:
        with closing(_connect(path)) as connection:
            yield connection
    except sqlite3.OperationalError as ex:
        if "locked" in str(ex) or "busy" in str(ex):
            raise Busy(f"{path} is locked by another program", "try again in a moment", path=str(path)) from ex
        raise BadInput(f"cannot read {path}: {ex}", "it may be of a newer version of OpenCode", path=str(path)) from ex
    except sqlite3.DatabaseError as ex:
        raise BadInput(f"cannot read {path}: {ex}", "check it with `sqlite3 FILE 'pragma quick_check'`") from ex


def _connect(path: Path) -> sqlite3.Connection:
    """Open without changing anything, new files beside the database included.

    In WAL mode even a reader makes side files. Where the log is there, its host is at work (or was killed) and what it
    holds must be read. Where there is none, all is in the database itself, and it is read as a file that nobody
    changes; so it is where side files cannot be made.
    """
    log = path.with_name(f"{path.name}-wal")
    quiet = head(path, 20)[18:19] == b"\x02" and not (log.is_file() and log.stat().st_size)
    try:
        return _opened(path, "immutable=1" if quiet else "mode=ro")
    except sqlite3.OperationalError as ex:
        if quiet or "unable to open" not in str(ex):
            raise
    return _opened(path, "immutable=1")


def _opened(path: Path, how: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro&{how}", uri=True, timeout=5)
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection
