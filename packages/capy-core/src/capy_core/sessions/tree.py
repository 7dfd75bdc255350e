"""Look through a host's folders: real files and folders only, in order of names, to a bounded depth.

Links are not followed: what they name lies either in the tree, and is found there, or outside, and is none of ours.
A root itself may be a link. What was passed over is noted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .events import Sidecar

DEEPEST = 8
_HEAD = 1 << 16


class Note(NamedTuple):
    """A place that was passed over, and why."""

    path: Path
    reason: str


def entries(folder: Path, notes: list[Note]) -> list[os.DirEntry[str]]:
    """A folder's real files and folders by name; an absent folder has none."""
    try:
        with os.scandir(folder) as found:
            listed = sorted(found, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as ex:
        notes.append(Note(folder, f"cannot be read: {ex.strerror or ex}"))
        return []
    real = []
    for entry in listed:
        if entry.is_symlink():
            notes.append(Note(Path(entry.path), "a symbolic link"))
        elif entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False):
            real.append(entry)
    return real


def folders(folder: Path, notes: list[Note]) -> Iterator[os.DirEntry[str]]:
    """The folders in a folder."""
    return (entry for entry in entries(folder, notes) if entry.is_dir(follow_symlinks=False))


def files(folder: Path, notes: list[Note], *, depth: int = DEEPEST) -> Iterator[os.DirEntry[str]]:
    """All files below a folder; `depth` 1 is the folder itself."""
    for entry in entries(folder, notes):
        if entry.is_file(follow_symlinks=False):
            yield entry
        elif depth > 1:
            yield from files(Path(entry.path), notes, depth=depth - 1)
        else:
            notes.append(Note(Path(entry.path), "nested too deeply"))


def stat(entry: os.DirEntry[str]) -> tuple[int, int]:
    """Size and mtime in ns; zeros for a file that has gone meanwhile."""
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return 0, 0
    return found.st_size, found.st_mtime_ns


def status(path: Path) -> tuple[int, int]:
    """Size and mtime in ns; zeros for a file that has gone meanwhile."""
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_size, found.st_mtime_ns


def sidecar(entry: os.DirEntry[str], base: Path) -> Sidecar:
    """A file as part of a session, named from the session's folder."""
    return Sidecar(Path(entry.path), Path(entry.path).relative_to(base).as_posix(), *stat(entry))


def head(path: Path, size: int = _HEAD) -> bytes:
    """A file's first bytes; nothing if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError:
        return b""


def home_folder(variable: str, fallback: str) -> Path:
    """The folder that an environment variable names, else one below the home folder."""
    named = os.environ.get(variable, "")
    return Path(named) if named else Path(os.path.expanduser("~")) / fallback
