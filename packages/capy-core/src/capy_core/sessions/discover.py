"""Find sessions: where each host keeps them, or below any folder; and say which project one belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, islice
from pathlib import Path
from typing import NamedTuple

from ..errors import NotFound
from .claude_files import guess
from .events import Session
from .registry import HOSTS, read, reader
from .tree import Note, files, head

_MOST_EVENTS = 200  # that are read to find where a session ran


class Project(NamedTuple):
    """The project's folder, and how it is known.

    `how`: "recorded" by the host; "guessed" from the name of the host's folder, which several projects may share;
    "unknown", then `path` is the host's own name for it.
    """

    path: str
    how: str


def find(
    hosts: Iterable[str] = tuple(HOSTS), *, roots: Mapping[str, Path] | None = None, notes: list[Note] | None = None
) -> Iterator[Session]:
    """The sessions of this machine, by host, folder and name, each once; nothing but their heads is read.

    Args:
        roots: other places than the hosts' default ones, by host.
        notes: filled with places that were passed over: links, folders that cannot be read or are nested too deeply.
    """
    notes = notes if notes is not None else []
    for host in hosts:
        module = reader(host)
        places = (roots[host],) if roots and host in roots else module.roots()
        for root in dict.fromkeys(place.resolve() for place in places):
            yield from module.find(root, notes)


def at(path: Path, *, notes: list[Note] | None = None) -> Iterator[Session]:
    """The sessions that a file holds, or that lie anywhere below a folder; the host is told from the content.

    Args:
        notes: as above, and files that no reader recognises.

    Raises:
        NotFound: there is no such path.
    """
    notes = notes if notes is not None else []
    if not path.exists():
        raise NotFound(f"there is no file or folder {path}", "check the path", path=str(path))
    path = path.resolve()
    listed = [path] if path.is_file() else [Path(entry.path) for entry in files(path, notes, depth=12)]
    listed.sort(key=lambda file: (len(file.parts), file))  # sessions before what lies in folders of theirs
    claimed: set[Path] = set()
    for _, group in groupby(listed, key=lambda file: file.parent):
        by_host: dict[str, list[Path]] = {}
        for file in group:
            if file not in claimed and (host := _host(file)):
                by_host.setdefault(host, []).append(file)
        for host, paths in by_host.items():
            for session in reader(host).at(paths, notes):
                claimed |= {session.path, *(agent.path for agent in session.agents)}
                claimed |= {sidecar.path for sidecar in session.sidecars}
                yield session
    notes += [Note(file, "no session of a known host") for file in listed if file not in claimed]


def project(session: Session) -> Project:
    """The project of a session: the folder that its records name first, not the name of the host's folder.

    Raises:
        As `registry.read`, where the records have to be looked at.
    """
    if session.cwd:
        return Project(session.cwd, "recorded")
    for event in islice(read(session), _MOST_EVENTS):
        if event.origin.cwd:
            return Project(event.origin.cwd, "recorded")
    guessed = guess(session.folder) if session.host == "claude" else None
    return Project(str(guessed), "guessed") if guessed else Project(session.folder, "unknown")


def _host(path: Path) -> str:
    start = head(path)
    return next((host for host in HOSTS if reader(host).recognises(path, start)), "")
