"""Read a part's file, work out what it becomes, and write it: whole or not at all, with a copy of what was there.

The copy lies beside the file as `NAME.capy-backup`. It is made once, when the file is first changed, and goes when the
file is again what the copy holds; a file that somebody else changed meanwhile keeps its copy.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from capy_core.atomic import write_file
from capy_core.errors import BadInput, Busy

from .command import is_ours
from .marked import MARKER
from .plan import SERVER_COMMAND, Part

_BOM = "\ufeff"
_SUFFIX = ".capy-backup"


class Change(NamedTuple):
    """What happens to one file; None for a file that does not exist, before or after."""

    part: Part
    before: bytes | None
    after: bytes | None
    is_putting: bool

    @property
    def action(self) -> str:
        """ "created", "changed", "removed" (the whole file) or "unchanged"."""
        if self.before == self.after:
            return "unchanged"
        if self.before is None:
            return "created"
        return "removed" if self.after is None else "changed"


Pending = Mapping[Path, bytes | None]  # what files become by changes that are planned and not carried out


def putting(part: Part, pending: Pending | None = None) -> Change:
    """The change that puts a part in.

    Raises:
        BadInput: the file cannot be understood; it stays as it is.
    """
    before = _now(part.path, pending)
    try:
        bom, text = _decoded(before)
        return Change(part, before, (bom + part.editor.put(text)).encode(), True)
    except BadInput as ex:
        raise _located(ex, part.path) from ex


def taking(part: Part, pending: Pending | None = None) -> Change:
    """The change that takes a part out.

    Raises:
        BadInput: the file cannot be understood; it stays as it is.
    """
    before = _now(part.path, pending)
    if before is None:
        return Change(part, None, None, False)
    try:
        bom, text = _decoded(before)
        rest = part.editor.take(text or "")
    except BadInput as ex:
        raise _located(ex, part.path) from ex
    return Change(part, before, None if rest is None else (bom + rest).encode(), False)


def carry_out(change: Change) -> None:
    """Write the file, or remove it with the folders that it leaves empty. Symbolic links stay.

    Raises:
        Busy: the file changed since it was read.
        Unwritable: it cannot be written.
    """
    path = change.part.path
    if change.action == "unchanged":
        return
    if _read(path) != change.before:
        raise Busy(f"{path} was changed by another program just now", "try again")
    backup = path.with_name(path.name + _SUFFIX)
    if change.after is None:
        Path(os.path.realpath(path)).unlink()
        _remove_empty(path.parent, change.part.base)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if change.is_putting and change.before is not None and not backup.exists() and _is_foreign(_text(change.before)):
        write_file(backup, change.before, mode=path.stat().st_mode & 0o7777)
    write_file(path, change.after, mode=change.part.editor.mode if change.before is None else None)
    if not change.is_putting and _read(backup) == change.after:
        backup.unlink()


def diff(change: Change) -> str:
    """A unified diff, "" when nothing changes."""
    from difflib import unified_diff

    old, new = (_text(data).splitlines(keepends=True) for data in (change.before, change.after))
    names = [str(change.part.path) if data is not None else "/dev/null" for data in (change.before, change.after)]
    lines = unified_diff(old, new, names[0], names[1])
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _is_foreign(text: str) -> bool:
    """True when nothing of ours stands in a file, from this part or another: the file as it was before capy."""
    return not (is_ours(text) or SERVER_COMMAND in text or MARKER in text)


def _now(path: Path, pending: Pending | None) -> bytes | None:
    return pending[path] if pending and path in pending else _read(path)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace").removeprefix(_BOM)


def _decoded(data: bytes | None) -> tuple[str, str | None]:
    """The byte order mark, or "", and the text behind it."""
    if data is None:
        return "", None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as ex:
        raise BadInput("it is not UTF-8", "save it as UTF-8") from ex
    bom = _BOM if text.startswith(_BOM) else ""
    return bom, text.removeprefix(_BOM)


def _located(ex: BadInput, path: Path) -> BadInput:
    return BadInput(f"{path}: {ex.message}", f"{ex.hint}; nothing was written", path=str(path), **ex.details)


def _remove_empty(folder: Path, base: Path) -> None:
    with suppress(OSError):  # not empty
        while folder != base and base in folder.parents:
            folder.rmdir()
            folder = folder.parent
