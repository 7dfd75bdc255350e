"""Where Codex CLI keeps its rollouts, and what their first line says.

`sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`, after some days compressed to `.jsonl.zst`. A sub-agent has a rollout
of its own, which names the thread that called it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..errors import CapyError
from ..records import loads
from .events import Session
from .opening import opened
from .tree import Note, files, home_folder, stat, status
from .values import Json, mapping, string

_HOST = "codex"
_ROLLOUT = re.compile(r"rollout-(?:\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}-)?(.+?)\.jsonl(?:\.zst)?")
_MARKS = re.compile(rb'"type"\s*:\s*"(?:session_meta|response_item|event_msg|turn_context|function_call|world_state)"')
_FIRST_LINE = 1 << 20  # bytes; it holds the model's instructions


def roots() -> tuple[Path, ...]:
    """`sessions` and `archived_sessions` below `$CODEX_HOME`, else `~/.codex`."""
    home = home_folder("CODEX_HOME", ".codex")
    return home / "sessions", home / "archived_sessions"


def recognises(path: Path, start: bytes) -> bool:
    """Whether a file's first bytes, or a compressed file's name, look like a rollout."""
    if path.suffix == ".zst":
        return _ROLLOUT.fullmatch(path.name) is not None
    return path.suffix == ".jsonl" and bool(_MARKS.search(start) or _ROLLOUT.fullmatch(path.name))


def find(root: Path, notes: list[Note]) -> Iterator[Session]:
    """The rollouts below a folder, by path. Sub-agents have rollouts of their own, with `parent_id`."""
    for entry in files(root, notes, depth=5):
        if _ROLLOUT.fullmatch(entry.name):
            yield _session(Path(entry.path), *stat(entry))


def at(paths: Iterable[Path], notes: list[Note]) -> Iterator[Session]:
    """The sessions that some files are."""
    return (_session(path, *status(path)) for path in paths)


def _session(path: Path, size: int, mtime: int) -> Session:
    found = _ROLLOUT.fullmatch(path.name)
    meta = _first(path)
    spawn = mapping(mapping(mapping(meta.get("source")).get("subagent")).get("thread_spawn"))
    child = isinstance(mapping(meta.get("source")).get("subagent"), dict | str)
    id_ = found[1] if found else path.stem
    return Session(
        _HOST,
        id_,
        path,
        path.parent.name,
        size,
        mtime,
        cwd=string(meta.get("cwd")),
        parent_id=string(meta.get("parent_thread_id")) or string(spawn.get("parent_thread_id")),
        agent_id=id_ if child else "",
        agent_type=string(meta.get("agent_role")) or string(spawn.get("agent_role")),
        description=string(meta.get("agent_nickname")) or string(spawn.get("agent_nickname")),
    )


def _first(path: Path) -> Json:
    """The payload of a rollout's first line; empty when it cannot be had."""
    try:
        with opened(path) as stream:
            first = mapping(loads(stream.readline(_FIRST_LINE)))
    except (CapyError, ValueError):
        return {}
    return mapping(first.get("payload")) or first
