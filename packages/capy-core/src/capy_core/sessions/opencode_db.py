"""OpenCode's database, read without changing it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from ..errors import BadInput, Busy, CapyError, NotFound
from .events import Origin, Session
from .lines import LIMIT
from .opencode_files import Item
from .tree import Note, entries

_TABLES = frozenset(("session", "message", "part"))
_SESSIONS = """
SELECT s.id, s.parent_id, s.directory, s.title, s.time_updated,
       coalesce((SELECT sum(length(CAST(m.data AS BLOB))) FROM message m WHERE m.session_id = s.id), 0)
     + coalesce((SELECT sum(length(CAST(p.data AS BLOB))) FROM part p WHERE p.session_id = s.id), 0)
FROM session s ORDER BY s.id
"""
# what is beyond the limit is not even loaded
_DATA = "id, length(CAST(data AS BLOB)), CASE WHEN length(CAST(data AS BLOB)) <= {limit} THEN CAST(data AS BLOB) END"
_MESSAGES = f"SELECT {_DATA}, time_created FROM message WHERE session_id = ? ORDER BY time_created, id"
_PARTS = f"SELECT {_DATA}, NULL FROM part WHERE message_id = ? ORDER BY id"
_HEADER = """
SELECT id, json_object('id', id, 'title', title, 'directory', directory, 'parentID', parent_id, 'version', version),
       time_created
FROM session WHERE id = ?
"""


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


def _session(path: Path, id_: str, parent: str | None, cwd: str, title: str, updated: int, size: int) -> Session:
    agent = id_ if parent else ""
    return Session(
        "opencode", id_, path, "", size, int(updated) * 1_000_000, cwd, parent or "", agent, description=title or ""
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
            return bytes(connection.execute(_HEADER, (id_,)).fetchone()[1].encode())
        query = f"SELECT CAST(data AS BLOB) FROM {'part' if table == 'part' else 'message'} WHERE id = ?"
        return bytes(connection.execute(query, (id_,)).fetchone()[0])


class _Rows:
    def __init__(self, connection: sqlite3.Connection, session: str) -> None:
        self._connection, self._session = connection, session

    def session(self) -> Iterator[Item]:
        for id_, data, time in self._connection.execute(_HEADER, (self._session,)):
            yield Item(id_, f"session/{id_}", len(data.encode()), data.encode(), time)

    def messages(self) -> Iterator[Item]:
        return self._items(_MESSAGES, self._session, "message")

    def parts(self, message: str) -> Iterator[Item]:
        return self._items(_PARTS, message, "part")

    def _items(self, query: str, key: str, table: str) -> Iterator[Item]:
        for id_, size, data, time in self._connection.execute(query.format(limit=LIMIT), (key,)):
            yield Item(id_, f"{table}/{id_}", size, data, time)


@contextmanager
def _connected(path: Path) -> Iterator[sqlite3.Connection]:
    """A read-only connection; errors of SQLite become ours.

    A database in WAL mode needs its side files beside it: where they cannot be made (a folder that is read-only), it is
    read as a file that nobody changes.
    """
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
    name = quote(str(path.resolve()))
    for how in ("mode=ro", "mode=ro&immutable=1"):
        connection = sqlite3.connect(f"file:{name}?{how}", uri=True, timeout=5)
        try:
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()
            return connection
        except sqlite3.OperationalError as ex:
            connection.close()
            if how != "mode=ro" or "unable to open" not in str(ex):
                raise
    raise AssertionError("unreachable")
