"""What a session is read into: sessions, and the events in them. Nothing here knows a host.

All classes are tuples with names: small, and nobody can change them on the way.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple


class Kind(StrEnum):
    """What an event is. A prompt is what a human typed; text that a program put in the user's place is CONTEXT."""

    USER = "user"
    ASSISTANT = "assistant"
    THINKING = "thinking"
    CALL = "tool_call"
    RESULT = "tool_result"
    SUBAGENT = "sub_agent"  # a task or message for a sub-agent; `child_id` says which
    CONTEXT = "context"
    SUMMARY = "summary"  # of a conversation: written at a compaction, or as a recap
    COMPACTION = "compaction"  # the place where the host cut its context
    TITLE = "title"
    SYSTEM = "system"  # the host's bookkeeping: progress, hooks, settings, attachments
    UNKNOWN = "unknown"  # of a kind that this reader does not know; `origin` says where its JSON lies


class Origin(NamedTuple):
    """The record that an event was read from. All events of one record share one Origin.

    Attributes:
        offset, length: bytes; this slice of `source` is the record's JSON. For a compressed file: of its content.
        line: the number of the line it begins on, from 1. Rows and files of a storage of many parts count as lines.
        raw: the host's name for it, "assistant", "system/turn_duration", "event_msg/token_count".
        time: seconds since 1970 (UTC), None where it is absent or unreadable. Not monotonic: order by position.
        uuid, parent: the record's own id and that of the record it follows. Ids repeat, and may name nothing in this
            file: treat such a record as a root. The parent of a compaction is the last record before it.
        session_id: as recorded; one file may hold several. The file is the identity, not this.
        agent_id: the sub-agent whose transcript this is part of, "" for the main one.
        cwd, branch, version: folder, git branch and program version, where recorded. They change within a session.
        source: "" for the session's own file, else the path of another file, or "message/<id>", "part/<id>" for a row.
    """

    offset: int
    length: int
    line: int
    raw: str
    time: float | None = None
    uuid: str = ""
    parent: str = ""
    session_id: str = ""
    agent_id: str = ""
    cwd: str = ""
    branch: str = ""
    version: str = ""
    source: str = ""


class Media(NamedTuple):
    """An image, PDF or other file in a message. Its base64 stays out of `text`: `size` counts its characters."""

    kind: str
    media_type: str
    size: int
    name: str = ""


class Event(NamedTuple):
    """One thing that happened in a session.

    Attributes:
        text: what was said or printed, verbatim and whole. It is the string that parsing made, not a copy; drop the
            event and it is gone. Empty for most SYSTEM events, whose JSON is reachable by `origin`.
        tool: the tool's name, of a CALL and of the RESULT of a call seen earlier in the file.
        call_id: links calls, results and progress. "" where the host records none.
        call_at: of a RESULT, the byte offset of its call's record, -1 when the call is not in this file.
        input: the call's arguments, parsed; a str when they are no JSON.
        detail: the host's structured form of it (Claude's toolUseResult, an attachment, a compaction's figures), as
            recorded, so of any JSON type; may hold base64.
        is_error: a RESULT that the host marks as failed, or an error shown as the assistant's text.
        message_id, part: parts of one message share the id and count from 0, though other events may lie between.
        usage: tokens as recorded with this part. Hosts repeat it on every part: the last one of a message counts.
        child_id: the sub-agent that a call, result or task speaks of.
    """

    kind: Kind
    origin: Origin
    role: str
    text: str = ""
    tool: str = ""
    call_id: str = ""
    call_at: int = -1
    input: Any = None
    detail: Any = None
    is_error: bool = False
    message_id: str = ""
    part: int = 0
    model: str = ""
    usage: dict[str, Any] | None = None
    media: tuple[Media, ...] = ()
    child_id: str = ""


class Sidecar(NamedTuple):
    """A file that belongs to a session and is no transcript. `name` is relative to the session's folder, with `/`."""

    path: Path
    name: str
    size: int
    mtime_ns: int


class Session(NamedTuple):
    """A transcript on disk: a session, or a sub-agent's (`agent_id` is set).

    Attributes:
        id: the session's identity: the file's name, or the row's id in a database of many sessions.
        path: the file; for OpenCode's old storage the session's own small file, for its new one the database.
        folder: the host's name for the project, which several projects may share. Never a project's name.
        size, mtime_ns: of the file and, in a storage of many files or rows, of the session's part of it.
        cwd: the project's folder where finding the session already told it, else "". See `discover.project`.
        parent_id: the session that called this one, as recorded.
        agents: transcripts of its sub-agents, by name. sidecars: all other files of the session, by name.
    """

    host: str
    id: str
    path: Path
    folder: str
    size: int
    mtime_ns: int
    cwd: str = ""
    parent_id: str = ""
    agent_id: str = ""
    agent_type: str = ""
    description: str = ""
    agents: tuple[Session, ...] = ()
    sidecars: tuple[Sidecar, ...] = ()


class Mark(NamedTuple):
    """Where a reading ended, to go on from there when the file has grown. JSON-ready.

    What the file says once, at its top, travels along; links to calls before the mark do not.
    """

    offset: int = 0
    line: int = 1
    session_id: str = ""
    cwd: str = ""
    branch: str = ""
    version: str = ""
    model: str = ""
