"""Gemini CLI's chats, `tmp/<project>/chats/session-<time>-<id>.json` or `.jsonl` -> events.

The older form is one document, written anew at every change; the newer one appends records: messages, `$set` with
changed settings, `$rewindTo` a message. A message is appended again, whole, whenever it grows; what it said before is
counted as repeated. Messages that a rewind takes back stay events: they were said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..records import loads
from .documents import pieces
from .events import Event, Kind, Mark, Media, Origin, Session
from .lines import Record, raw, records
from .once import Parts, Recent, fingerprint
from .prompts import typed
from .report import Report
from .tree import Note, entries, files, folders, head, home_folder, stat, status
from .values import Json, content, items, mapping, seconds, string

__all__ = ["at", "find", "raw", "read", "recognises", "roots"]

_HOST = "gemini"
_LISTS = frozenset(("messages", "history"))
_SHOWN = frozenset(("info", "error", "warning"))
_HEADER = ("sessionId", "projectHash", "startTime", "lastUpdated", "kind")


def roots() -> tuple[Path, ...]:
    """`.gemini/tmp` below `$GEMINI_CLI_HOME`, else below the home folder."""
    return (home_folder("GEMINI_CLI_HOME", "") / ".gemini" / "tmp",)


def recognises(path: Path, start: bytes) -> bool:
    """Whether a file's first bytes look like a chat of this host."""
    if path.suffix not in (".json", ".jsonl"):
        return False
    ours = (b'"projectHash"', b'"type":"gemini"', b'"type": "gemini"', b'"history"')
    return any(mark in start for mark in ours) and b'"parentUuid"' not in start


def find(root: Path, notes: list[Note]) -> Iterator[Session]:
    """The chats below `tmp`, by project and name; sub-agents (`chats/<session id>/<id>.jsonl`) with their session."""
    for project in folders(root, notes):
        chats, cwd = Path(project.path) / "chats", _project(Path(project.path))
        listed = [entry for entry in entries(chats, notes) if entry.name.endswith((".json", ".jsonl"))]
        nested = [entry for folder in folders(chats, []) for entry in files(Path(folder.path), notes)]
        agents = [_session(Path(e.path), project.name, cwd, *stat(e), parent=Path(e.path).parent.name) for e in nested]
        for entry in listed:
            if entry.is_file(follow_symlinks=False):
                found = _session(Path(entry.path), project.name, cwd, *stat(entry))
                mine = [agent for agent in agents if found.id.endswith(f"-{agent.parent_id[:8]}")]
                agents = [agent for agent in agents if agent not in mine]
                yield found._replace(agents=tuple(mine))
        yield from agents


def at(paths: Iterable[Path], notes: list[Note]) -> Iterator[Session]:
    """The sessions that some files are."""
    return (_session(path, path.parent.name, "", *status(path)) for path in paths)


def _session(path: Path, folder: str, cwd: str, size: int, mtime: int, parent: str = "") -> Session:
    try:
        first = mapping(loads(head(path).partition(b"\n")[0]))
    except ValueError:
        first = {}
    agent = path.stem if parent or first.get("kind") == "subagent" else ""
    return Session(_HOST, path.stem, path, folder, size, mtime, cwd=cwd, parent_id=parent, agent_id=agent)


def _project(folder: Path) -> str:
    """The project's folder: `.project_root` names it; else a name, or a hash of the path, that projects.json knows."""
    named = head(folder / ".project_root").decode("utf-8", "replace").strip()
    if named:
        return named
    try:
        known = mapping(mapping(loads(head(folder.parent.parent / "projects.json", 1 << 20))).get("projects"))
    except ValueError:
        return ""
    for path, name in known.items():
        if folder.name in (name, sha256(path.encode()).hexdigest()):
            return path
    return ""


def read(session: Session, report: Report, start: Mark | None = None) -> Iterator[Event]:
    """The events of one chat, in file order. See `registry.read`. A document is always read whole."""
    chat = _Chat(session, report)
    if not _is_document(session.path):
        for record in records(session.path, report, start):
            yield from chat.record(record)
        return
    for piece in pieces(session.path, _LISTS, Report()):
        if not piece.item:
            chat.set({piece.key: piece.value})
    for piece in pieces(session.path, _LISTS, report):
        if piece.item:
            yield from chat.message(Record(piece.value, piece.line, piece.offset, piece.length))
        elif piece.key == "summary":
            record = Record({}, piece.line, piece.offset, piece.length)
            yield Event(Kind.TITLE, chat.origin(record, {}, "summary"), "system", string(piece.value))


def _is_document(path: Path) -> bool:
    first = head(path, 1 << 20).lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")[0]
    try:
        value = loads(first)
    except ValueError:
        # pretty-printed, or one line longer than the head; a torn first line of records has a type or a header alone
        return path.suffix == ".json" or first.strip() in (b"{", b"[")
    return isinstance(value, list) or (
        isinstance(value, dict) and not _LISTS.isdisjoint(value) and path.suffix == ".json"
    )


class _Chat:
    """What must be remembered between messages."""

    def __init__(self, session: Session, report: Report) -> None:
        self._session, self._report = session, report
        self._parts = Parts()
        self._calls: Recent[str, tuple[str, int]] = Recent()
        self._id = ""

    def set(self, header: Json) -> None:
        """Take in what a header or a `$set` says."""
        self._id = string(header.get("sessionId")) or self._id

    def origin(self, record: Record, value: Json, name: str, parent: str = "") -> Origin:
        time = seconds(value.get("timestamp", value.get("ts", value.get("startTime"))))
        return Origin(
            record.offset,
            record.length,
            record.line,
            name,
            time,
            string(value.get("id")),
            parent,
            self._id or self._report.told.session_id,
            self._session.agent_id,
            self._session.cwd,
        )

    def record(self, record: Record) -> Iterator[Event]:
        """The events of a line."""
        value = record.value
        if "$rewindTo" in value:
            origin = self.origin(record, value, "$rewindTo", string(value["$rewindTo"]))
            yield Event(Kind.SYSTEM, origin, "system", detail=value)
        elif "$set" in value or ("type" not in value and any(name in value for name in _HEADER)):
            header = mapping(value.get("$set", value))
            self.set(header)
            self._report.told = self._report.told._replace(session_id=self._id)
            origin = self.origin(record, header, "$set" if "$set" in value else "header")
            summary = string(header.get("summary"))
            yield Event(Kind.TITLE if summary else Kind.SYSTEM, origin, "system", summary, detail=header)
            for message in items(header.get("messages")):
                yield from self.message(record._replace(value=message))
        else:
            yield from self.message(record)

    def message(self, record: Record) -> Iterator[Event]:
        """The events of a message: thoughts, text, calls with their results."""
        value = mapping(record.value)
        name = string(value.get("type")) or string(value.get("role"))
        origin = self.origin(record, value, name or "(no type)")
        body = value.get("content", value.get("parts"))
        if name == "user":
            made = self._prompt(body, origin)
        elif name in ("gemini", "model"):
            made = self._reply(value, body, origin)
        else:
            kind = Kind.SYSTEM if name in _SHOWN else Kind.UNKNOWN
            made = [Event(kind, origin, "system", content(body)[0] if body else "", is_error=name == "error")]
        yield from self._new(made, value)

    def _new(self, made: list[Event], value: Json) -> Iterator[Event]:
        """The events that the message, if it was there before, did not have yet."""
        for event in made:
            id_ = string(value.get("id")) or f"@{event.origin.offset}"
            part = self._parts.number(
                id_, event.kind, event.text, event.call_id or event.tool, fingerprint(event.input)
            )
            if part < 0:
                self._report.repeated += 1
            else:
                yield event._replace(part=part, message_id=id_)

    def _prompt(self, body: Any, origin: Origin) -> list[Event]:
        results = [
            self._response(block["functionResponse"], origin)
            for block in items(body)
            if _has(block, "functionResponse")
        ]
        text, media = content(body) if body else ("", ())
        if results and not text and not media:
            return results
        agent = self._session.agent_id
        if not typed(text) and not media:
            return [*results, Event(Kind.CONTEXT, origin, "user", text)]
        return [
            *results,
            Event(Kind.SUBAGENT if agent else Kind.USER, origin, "user", text, media=media, child_id=agent),
        ]

    def _reply(self, value: Json, body: Any, origin: Origin) -> list[Event]:
        model = string(value.get("model"))
        tokens = value.get("tokens")
        made = [
            Event(Kind.THINKING, origin, "assistant", _thought(thought)) for thought in items(value.get("thoughts"))
        ]
        text, media = content(body) if body else ("", ())
        if text or media:
            made.append(Event(Kind.ASSISTANT, origin, "assistant", text, media=media))
        calls = [block["functionCall"] for block in items(body) if _has(block, "functionCall")]
        for call in (*calls, *items(value.get("toolCalls"))):
            made += self._call(mapping(call), origin)
        made = made or [Event(Kind.SYSTEM, origin, "assistant")]
        return [event._replace(model=model, usage=tokens if isinstance(tokens, dict) else None) for event in made]

    def _call(self, call: Json, origin: Origin) -> list[Event]:
        """A tool's call and, once it has run, its result."""
        id_, tool, status = string(call.get("id")), string(call.get("name")), string(call.get("status"))
        made = [Event(Kind.CALL, origin, "assistant", "", tool, id_, input=call.get("args"))]
        if id_:
            self._calls.put(id_, (tool, origin.offset))
        shown = call.get("resultDisplay")
        if not call.get("result") and not shown:
            return made
        text = ""
        media: tuple[Media, ...] = ()
        for block in items(call.get("result")):
            response = mapping(mapping(block).get("functionResponse"))
            said, more = _answer(response) if response else content(block)
            text, media = f"{text}\n{said}" if text and said else text or said, media + more
        text = text or string(shown)
        failed = status in ("error", "cancelled")
        made.append(
            Event(Kind.RESULT, origin, "tool", text, tool, id_, origin.offset, None, shown, failed, media=media)
        )
        return made

    def _response(self, response: Any, origin: Origin) -> Event:
        id_ = string(mapping(response).get("id"))
        tool, at = self._calls.get(id_, (string(mapping(response).get("name")), -1))
        text, media = _answer(mapping(response))
        return Event(Kind.RESULT, origin, "tool", text, tool, id_, at, media=media)


def _has(block: Any, name: str) -> bool:
    return isinstance(block, dict) and isinstance(block.get(name), dict)


def _thought(thought: Any) -> str:
    """Subject and description, a line each."""
    if not isinstance(thought, dict):
        return string(thought)
    return "\n".join(filter(None, (string(thought.get("subject")), string(thought.get("description")))))


def _answer(response: Json) -> tuple[str, tuple[Media, ...]]:
    """What a tool answered: its output, or its error."""
    said = mapping(response.get("response"))
    return content(said.get("output", said.get("error", said.get("content", ""))))
