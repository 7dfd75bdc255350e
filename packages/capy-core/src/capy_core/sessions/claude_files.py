"""Where Claude Code keeps its transcripts, and which file belongs to which session.

`<root>/<folder>/<id>.jsonl`, beside it `<id>/subagents/**/agent-<agent>.jsonl` with `.meta.json` and other files in
`<id>/`; before 2.1 a sub-agent lay beside the session as `agent-<agent>.jsonl` and named it in `sessionId` only.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from ..records import loads
from .events import Session, Sidecar
from .tree import Note, entries, files, folders, head, home_folder, sidecar, stat
from .values import Json, mapping, string

_HOST = "claude"
_AGENT = re.compile(r"agent-(.+)\.jsonl")
_IDS = re.compile(rb'"(?:parentUuid|leafUuid|isSidechain|isSnapshotUpdate)"\s*:')
_MESSAGE = re.compile(rb'"message"\s*:\s*\{')
_TYPE = re.compile(rb'"type"\s*:\s*"(?:user|assistant)"')
_LONGEST = 200  # characters of a folder's name; a longer one is cut and gets a hash
_MOST_LOOKS = 2000  # folders that are looked into to find what a name was made of


def roots() -> tuple[Path, ...]:
    """`$CLAUDE_CONFIG_DIR/projects`, else `~/.claude/projects`."""
    return (home_folder("CLAUDE_CONFIG_DIR", ".claude") / "projects",)


def recognises(path: Path, start: bytes) -> bool:
    """Whether a file's first bytes look like a transcript of this host; so does a blank file of the right name."""
    if path.suffix != ".jsonl" or path.name == "journal.jsonl":
        return False
    return not start.strip() or bool(_IDS.search(start) or (_MESSAGE.search(start) and _TYPE.search(start)))


def find(root: Path, notes: list[Note]) -> Iterator[Session]:
    """The sessions below a `projects` folder, by folder and name."""
    for project in folders(root, notes):
        yield from in_project(Path(project.path), notes)


def in_project(folder: Path, notes: list[Note]) -> Iterator[Session]:
    """The sessions of one project's folder. An old sub-agent whose session is gone comes as a session of its own."""
    listed = [entry for entry in entries(folder, notes) if entry.is_file() and entry.name.endswith(".jsonl")]
    agents = [_agent(entry, folder.name) for entry in listed if _AGENT.fullmatch(entry.name)]
    mains = [entry for entry in listed if not _AGENT.fullmatch(entry.name) and entry.name != "journal.jsonl"]
    ids = {Path(entry.name).stem for entry in mains}
    for entry in mains:
        id_ = Path(entry.name).stem
        size, mtime = stat(entry)
        nested, sidecars = _belongings(folder / id_, folder.name, notes)
        beside = [agent for agent in agents if agent.parent_id == id_]
        yield Session(
            _HOST, id_, Path(entry.path), folder.name, size, mtime, agents=(*beside, *nested), sidecars=sidecars
        )
    yield from (agent for agent in agents if agent.parent_id not in ids)


def at(paths: Iterable[Path], notes: list[Note]) -> Iterator[Session]:
    """The sessions that some files are, with what lies beside them."""
    wanted = set(paths)
    for folder in sorted({path.parent for path in wanted}):
        for session in in_project(folder, notes):
            if session.path in wanted:
                yield session


def _belongings(base: Path, folder: str, notes: list[Note]) -> tuple[list[Session], tuple[Sidecar, ...]]:
    agents, others = [], []
    for entry in files(base, notes):
        inside = Path(entry.path).relative_to(base)
        if inside.parts[0] == "subagents" and _AGENT.fullmatch(entry.name):
            agents.append(_agent(entry, folder, base.name))
        else:
            others.append(sidecar(entry, base))
    return agents, tuple(others)


def _agent(entry: os.DirEntry[str], folder: str, parent: str = "") -> Session:
    path = Path(entry.path)
    size, mtime = stat(entry)
    found = _AGENT.fullmatch(entry.name)
    meta: Json = {}
    if parent:
        with suppress(ValueError):
            meta = mapping(loads(head(path.with_suffix(".meta.json"))))
    return Session(
        _HOST,
        path.stem,
        path,
        folder,
        size,
        mtime,
        parent_id=parent or _parent_of(path),
        agent_id=found[1] if found else path.stem,
        agent_type=string(meta.get("agentType")),
        description=string(meta.get("description")),
    )


def _parent_of(path: Path) -> str:
    """The session that a sub-agent's records name."""
    for line in head(path).split(b"\n"):
        try:
            parent = string(mapping(loads(line)).get("sessionId"))
        except ValueError:
            continue
        if parent:
            return parent
    return ""


def encode(path: str) -> str:
    """The name that Claude Code gives to the folder of a project at `path` (whole only up to 200 characters).

    Every UTF-16 unit but ASCII letters and digits becomes "-".
    """
    units = len(path.encode("utf-16-le", "surrogatepass")) // 2
    name = re.sub(r"[^A-Za-z0-9]", lambda found: "-" * (1 + (found[0] > "\uffff")), path)
    return name if units <= _LONGEST else name[:_LONGEST]


def guess(name: str, top: Path = Path("/")) -> Path | None:
    """The only existing folder whose path is encoded as `name`; None when there is none, or more than one.

    The encoding cannot be reversed: the file system is asked which of the possible folders exist.
    """
    if not name.startswith("-") or len(name) > _LONGEST:
        return None
    found: list[Path] = []
    looks = _MOST_LOOKS
    below = [(top, name[1:])]
    while below and looks and len(found) < 2:
        place, rest = below.pop()
        looks -= 1
        for entry in folders(place, []):
            part = encode(entry.name)
            if part == rest:
                found.append(Path(entry.path))
            elif rest.startswith(f"{part}-"):
                below.append((Path(entry.path), rest[len(part) + 1 :]))
    return found[0] if len(found) == 1 and looks else None
