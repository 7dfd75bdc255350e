"""OpenCode's sessions -> events: the SQLite database of today, or the folders of small JSON files of before.

    opencode.db       session(id, parent_id, directory, title, version, ..), message(id, session_id, data),
                      part(id, message_id, data); `data` is JSON
    storage/          session/<project>/<id>.json, message/<session>/*.json, part/<message>/*.json; older: part/*.json

A message says who and when, its parts say what. Every row or file counts as a line of the session.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ..records import loads
from . import opencode_db, opencode_files
from .events import Event, Kind, Mark, Origin, Session
from .lines import LIMIT, NOT_JSON, NOT_OBJECT, TOO_LONG
from .opencode_db import is_database
from .opencode_files import Item
from .prompts import typed
from .report import Gap, Report
from .tree import Note, home_folder
from .values import Json, content, mapping, media_of, seconds, string

_BOOKKEEPING = frozenset(["step-start", "step-finish", "snapshot", "patch", "retry", "agent"])


def roots() -> tuple[Path, ...]:
    """`$XDG_DATA_HOME/opencode`, else `~/.local/share/opencode`."""
    return (home_folder("XDG_DATA_HOME", ".local/share") / "opencode",)


def recognises(path: Path, start: bytes) -> bool:
    """Whether a file is a database of this host, or a session's file in its old storage."""
    if path.suffix == ".db":
        return start.startswith(b"SQLite format 3\0") and is_database(path)
    return path.suffix == ".json" and opencode_files.is_session(path)


def find(root: Path, notes: list[Note]) -> Iterator[Session]:
    """The sessions of the databases, then those that only the old storage has; sub-agents with their session."""
    found: list[Session] = []
    for database in opencode_db.databases(root, notes):
        found += opencode_db.sessions(database, notes)
    known = {session.id for session in found}
    found += [session for session in opencode_files.sessions(root / "storage", notes) if session.id not in known]
    return _nested(found)


def at(paths: Iterable[Path], notes: list[Note]) -> Iterator[Session]:
    """The sessions that some files hold."""
    for path in paths:
        if path.suffix == ".db":
            yield from _nested(opencode_db.sessions(path, notes))
        else:
            yield from opencode_files.at(path, notes)


def read(session: Session, report: Report, start: Mark | None = None) -> Iterator[Event]:
    """The events of one session, in the order of its messages. See `registry.read`. It is always read whole."""
    store = opencode_db if session.path.suffix == ".db" else opencode_files
    teller = _Teller(session)
    with store.opened(session) as source:
        for item in source.session():
            for value, origin in _accounted(item, report, teller):
                yield from teller.header(value, origin)
        for item in source.messages():
            for value, origin in _accounted(item, report, teller):
                yield from _message(value, origin, source.parts(string(value.get("id")) or item.id), report, teller)


def raw(session: Session, origin: Origin) -> bytes:
    """The JSON of a row or file, as it is stored."""
    return opencode_db.raw(session, origin) if session.path.suffix == ".db" else opencode_files.raw(session, origin)


def _nested(found: list[Session]) -> Iterator[Session]:
    ids = {session.id for session in found}
    for session in found:
        if session.parent_id not in ids or session.parent_id == session.id:
            yield session._replace(agents=tuple(_below(session, found, {session.id})))


def _below(session: Session, found: list[Session], seen: set[str]) -> Iterator[Session]:
    """All sub-agents of a session, and theirs, in one row."""
    for child in found:
        if child.parent_id == session.id and child.id not in seen:
            seen.add(child.id)
            yield child
            yield from _below(child, found, seen)


def _accounted(item: Item, report: Report, teller: _Teller) -> Iterator[tuple[Json, Origin]]:
    """The item's object and its origin, or a gap in the report."""
    line = report.lines + 1
    report.bytes += item.size
    reason = ""
    value: Any = None
    if item.data is None:
        reason = TOO_LONG if item.size > LIMIT else item.problem or "no data"
    else:
        try:
            value = loads(item.data)
            reason = "" if isinstance(value, dict) else NOT_OBJECT
        except ValueError:
            reason = NOT_JSON
    if reason:
        report.unread(Gap(reason, line, 1, 0, item.size, source=item.source))
        return
    report.lines += 1
    report.read += 1
    report.records += 1
    yield value, teller.origin(value, item, line)


def _message(value: Json, origin: Origin, parts: Iterator[Item], report: Report, teller: _Teller) -> Iterator[Event]:
    said = False
    number = 0
    for item in parts:
        for part, at in _accounted(item, report, teller):
            for event in teller.part(part, at, value, origin):
                said = said or event.kind is not Kind.SYSTEM
                yield event._replace(message_id=origin.uuid, part=number)
                number += 1
    for event in teller.rest(value, origin, said):
        yield event._replace(message_id=origin.uuid, part=number)
        number += 1


class _Teller:
    """Makes the events of one session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._version = ""

    def origin(self, value: Json, item: Item, line: int) -> Origin:
        """An item's origin; a part's `raw` and parent are set with its message."""
        time = mapping(value.get("time"))
        moment = time.get("start", time.get("created", item.time))
        name = string(value.get("role")) or string(value.get("type")) or "(no type)"
        session = self._session
        path = value.get("path")
        cwd = string(mapping(path).get("cwd")) or (path if isinstance(path, str) else "") or session.cwd
        uuid, parent = string(value.get("id")) or item.id, string(value.get("parentID"))
        return Origin(
            0, item.size, line, name, seconds(moment), uuid, parent, session.id, session.agent_id, cwd, "",
            self._version, item.source,
        )  # fmt: skip

    def header(self, value: Json, origin: Origin) -> Iterator[Event]:
        """The session's own record: its title."""
        self._version = string(value.get("version"))
        origin = origin._replace(raw="session", version=self._version)
        yield Event(Kind.TITLE, origin, "system", string(value.get("title")), detail=value)

    def part(self, part: Json, at: Origin, message: Json, owner: Origin) -> Iterator[Event]:
        """The events of a part of a message."""
        name, role = string(part.get("type")), string(message.get("role"))
        at = at._replace(raw=f"{role}/{name}" if name else "(no type)", parent=owner.uuid, time=at.time or owner.time)
        model = string(message.get("modelID")) or string(mapping(message.get("model")).get("modelID"))
        text = string(part.get("text"))
        if name == "text":
            yield self._text(text, role, at, part.get("synthetic") is True, model)
        elif name == "reasoning":
            yield Event(Kind.THINKING, at, "assistant", text, model=model)
        elif name == "tool":
            yield from _tool(part, at, model)
        elif name == "file":
            media = media_of(part)
            kind = Kind.CONTEXT if role == "user" else Kind.ASSISTANT
            yield Event(kind, at, role, media=(media,) if media else (), model=model)
        elif name == "compaction":
            yield Event(Kind.COMPACTION, at, "system", detail=part)
        elif name == "subtask":
            yield Event(Kind.CONTEXT, at, "user", string(part.get("prompt")), detail=part)
        else:
            known = name in _BOOKKEEPING
            yield Event(
                Kind.SYSTEM if known else Kind.UNKNOWN, at, role, "" if known else content(part)[0], detail=part
            )

    def _text(self, text: str, role: str, at: Origin, synthetic: bool, model: str) -> Event:
        if role == "assistant":
            return Event(Kind.ASSISTANT, at, role, text, model=model)
        if synthetic or role != "user" or not typed(text):
            return Event(Kind.CONTEXT, at, role, text)
        agent = self._session.agent_id
        return Event(Kind.SUBAGENT if agent else Kind.USER, at, role, text, child_id=agent)

    def rest(self, message: Json, origin: Origin, said: bool) -> Iterator[Event]:
        """What a message says beside its parts: an error, the tokens; a prompt whose text is in its summary only."""
        role, usage = string(message.get("role")), message.get("tokens")
        body = string(mapping(message.get("summary")).get("body"))
        if not said and role == "user" and body:
            yield self._text(body, role, origin, False, "")
        error = mapping(message.get("error"))
        text = string(mapping(error.get("data")).get("message")) or string(error.get("name"))
        kind = Kind.SYSTEM if role in ("user", "assistant") else Kind.UNKNOWN
        tokens = usage if isinstance(usage, dict) else None
        yield Event(kind, origin, role, text, usage=tokens, is_error=bool(error), detail=message)


def _tool(part: Json, at: Origin, model: str) -> Iterator[Event]:
    """A call and, once it has run, its result."""
    state, call, tool = mapping(part.get("state")), string(part.get("callID")), string(part.get("tool"))
    yield Event(Kind.CALL, at, "assistant", "", tool, call, input=state.get("input"), model=model)
    status = string(state.get("status"))
    if status in ("pending", "running") or not state:
        return
    detail = state.get("metadata")
    text = string(state.get("output")) or string(state.get("error"))
    child = string(mapping(detail).get("sessionId")) or string(mapping(detail).get("sessionID"))
    failed = status == "error"
    yield Event(Kind.RESULT, at, "tool", text, tool, call, 0, None, detail, failed, model=model, child_id=child)
