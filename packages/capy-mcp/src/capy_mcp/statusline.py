"""`capy statusline`: one line for Claude Code's status bar, from a JSON object on stdin; an empty line in doubt.

It runs again and again while somebody works, so it loads little and reads little: the counts come from the file that
servers append to, and what was counted before from a note beside it. When the line is printed, a child that nobody
waits for brings the note up to date for the next time, with the number of sources.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST_BYTES = 1 << 20
_FRESH_S = 30.0
_MARKS = (".git", ".capy.toml", ".capy")


def main() -> None:
    """Entry point of `capy statusline`."""
    if sys.argv[1:] or os.isatty(0):
        from capy_core.cli import run

        from .commands.group import group

        sys.argv[1:] = ["statusline", "--help"]
        sys.exit(run(group, "capy"))
    try:
        place = _place(os.read(0, _MOST_BYTES))
        file = stats_file(place)
        os.write(1, (line(file) if file else "").encode() + b"\n")
        if file and _is_old(note_of(file)):
            _count_later(place, file)
    except Exception:  # a status bar is no place for errors
        os.write(1, b"\n")
    os._exit(0)


def line(file: str) -> str:
    """The line for a file of counts: "capy: 12.4 MB kept out, 310.0 KB returned, 42 sources".

    Raises:
        OSError: it cannot be read.
    """
    note = _note(file)
    raw, returned = _totals(_read(file, note.get("upto", 0)))
    raw, returned = raw + note.get("raw", 0), returned + note.get("returned", 0)
    parts = [f"{_size(max(0, raw - returned))} kept out", f"{_size(returned)} returned"]
    if (sources := note.get("sources")) is not None:
        parts.append(f"{sources} source{'' if sources == 1 else 's'}")
    return f"capy: {', '.join(parts)}"


def stats_file(place: str) -> str:
    """The counts of the project that a folder belongs to (see `stats.Stats.of_project`), "" when there are none.

    The nearest folder upwards that has counts, up to one that is a project.
    """
    try:
        from _sha256 import sha256  # type: ignore[import-not-found]  # hashlib would load OpenSSL: a third of the time
    except ImportError:
        from hashlib import sha256
    from capy_hook.log import state_folder

    folder, below = os.path.realpath(place), ""
    while folder != below:
        file = os.path.join(state_folder(), "stats", f"{sha256(os.fsencode(folder)).hexdigest()[:16]}.ndjson")
        if os.path.exists(file):
            return file
        if any(os.path.exists(os.path.join(folder, mark)) for mark in _MARKS):
            return ""
        folder, below = os.path.dirname(folder), folder
    return ""


def note_of(file: str) -> str:
    """Where is noted what was counted of a file of counts: {raw, returned, upto, sources}."""
    return file.removesuffix(".ndjson") + ".counted"


def _place(data: bytes) -> str:
    from capy_core.barejson import decode

    event = decode(data)
    workspace = event.get("workspace") or {}
    return str(workspace.get("project_dir") or workspace.get("current_dir") or event.get("cwd") or os.getcwd())


def _note(file: str) -> dict[str, Any]:
    from capy_core.barejson import decode

    try:
        note: dict[str, Any] = decode(_read(note_of(file), 0))
        return note if note.get("upto", 0) <= os.stat(file).st_size else {}  # else its lines were added up since
    except (OSError, ValueError):
        return {}


def _totals(data: bytes) -> tuple[int, int]:
    """Bytes of output and bytes returned, of all lines that are whole."""
    from capy_core.barejson import decode

    lines = [line for line in data.splitlines() if line[:1] == b"{" and line[-1:] == b"}"]
    try:
        items = decode(b"[" + b",".join(lines) + b"]")  # at once: faster than line by line
    except ValueError:
        items = [item for line in lines if (item := _decoded(line))]
    whole = [item for item in items if {"raw", "returned"} <= item.keys()]
    return sum(int(item["raw"]) for item in whole), sum(int(item["returned"]) for item in whole)


def _decoded(line: bytes) -> dict[str, Any]:
    from capy_core.barejson import decode

    try:
        item: dict[str, Any] = decode(line)
        return item
    except ValueError:
        return {}


def _read(file: str, start: int) -> bytes:
    handle = os.open(file, os.O_RDONLY)
    try:
        os.lseek(handle, start, os.SEEK_SET)
        return os.read(handle, 4 * _MOST_BYTES)
    finally:
        os.close(handle)


def _is_old(note: str) -> bool:
    from time import time

    try:
        return time() - os.stat(note).st_mtime > _FRESH_S
    except OSError:
        return True


def _count_later(place: str, file: str) -> None:
    """Write the note in a child that nobody waits for."""
    if os.fork():
        return
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    try:
        _count(place, file)
    finally:
        os._exit(0)


def _count(place: str, file: str) -> None:
    from pathlib import Path

    from capy_core.atomic import write_file
    from capy_core.barejson import encode

    data = _read(file, 0)
    upto = data.rfind(b"\n") + 1
    raw, returned = _totals(data[:upto])
    note: dict[str, Any] = {"raw": raw, "returned": returned, "upto": upto, "sources": _note(file).get("sources")}
    write_file(Path(note_of(file)), encode(note), mode=0o600)  # first, for what follows may fail
    write_file(Path(note_of(file)), encode({**note, "sources": _sources(place)}), mode=0o600)


def _sources(place: str) -> int | None:
    """How many sources the knowledge base holds; None where its key is a password manager's, who might ask."""
    from pathlib import Path

    from capy_core import config, keys, paths
    from capy_store.store import Store

    project = paths.project_of(Path(place))
    settings = config.load(project, lambda *_: None)
    if settings.keys.db_command and not os.environ.get("CAPY_DB_KEY"):
        return None
    database = paths.database_path(settings, project)
    with Store.open(database, keys.database_key(settings), settings.store, create=False, readonly=True) as store:
        return int(store.stats()["sources"])


def _size(count: int) -> str:
    if count < 1000:
        return f"{count} B"
    return f"{count / 1e3:.1f} KB" if count < 1e6 else f"{count / 1e6:.1f} MB"
