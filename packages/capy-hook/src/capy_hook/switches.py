"""What of the hook is switched on: `[hook]` of the settings files, and `CAPY_HOOK`."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

REDIRECTS = ("network", "webfetch", "agent")
_MAX_FILE = 1024 * 1024


class Switches:
    """The settings that hold for one event.

    Attributes:
        policy: whether permission rules are checked; only the user's own file and the environment switch that off.
        allow: patterns of shell commands that are never redirected.
        redirect: which redirects are on, of `REDIRECTS`.
        guidance: whether advice and the routing block are given.
    """

    __slots__ = ("allow", "guidance", "policy", "redirect")

    def __init__(
        self,
        *,
        policy: bool = True,
        allow: tuple[str, ...] = (),
        redirect: tuple[str, ...] = REDIRECTS,
        guidance: bool = True,
    ) -> None:
        self.policy = policy
        self.allow = allow
        self.redirect = redirect
        self.guidance = guidance


def load(project: str) -> Switches:
    """The switches of a project: the user's file, then the project's two, each key over the one before.

    A project's file comes with a clone: it may switch off what is only help, never the permission check. A file that
    cannot be read, and a value of the wrong type, is left out and noted in the log.
    """
    off = Switches(policy=False, redirect=(), guidance=False)
    if os.environ.get("CAPY_HOOK", "").lower() in ("off", "0", "false"):
        return off
    merged: dict[str, object] = {}
    for file in _user_files():
        merged |= _table(file)
    if merged.get("enabled") is False:
        return off
    for file in _project_files(project):
        merged |= _table(file)
    if merged.get("enabled") is False:
        return Switches(redirect=(), guidance=False)
    return Switches(
        allow=_texts(merged.get("allow", ())),
        redirect=_texts(merged.get("redirect", REDIRECTS)),
        guidance=merged.get("guidance", True) is True,
    )


def project_of(place: str) -> str:
    """The nearest folder upwards that holds `.git`, `.capy.toml` or `.capy`, else the place itself.

    The rule of `capy_core.paths.project_of`, without the imports: the home folder and what lies above it count only for
    a place that is that very folder.
    """
    here = folder = os.path.realpath(place)
    home = os.path.realpath(os.path.expanduser("~"))
    while not any(os.path.lexists(os.path.join(folder, mark)) for mark in (".git", ".capy.toml", ".capy")):
        above = os.path.dirname(folder)
        if above in (folder, home) or home.startswith(os.path.join(above, "")):
            return here
        folder = above
    return folder


def _user_files() -> Iterator[str]:
    base = os.environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".config")
    if os.path.isabs(base):  # else there is no home
        yield os.path.join(base, "capy", "config.toml")


def _project_files(project: str) -> Iterator[str]:
    folders = [project]
    if os.path.isfile(os.path.join(project, ".git")):  # a linked worktree reads the main one's files first
        from pathlib import Path

        from capy_core.paths import main_worktree

        folders = list(dict.fromkeys((str(main_worktree(Path(project))), project)))
    for folder in folders:
        yield os.path.join(folder, ".capy", "config.toml")
        yield os.path.join(folder, ".capy.toml")


def _table(file: str) -> dict[str, object]:
    """The `[hook]` of one file with the values of the right type."""
    try:
        handle = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError):  # most often it is not there; what else is wrong, capy's other tools tell
        return {}
    try:
        data = os.read(handle, _MAX_FILE)
    except OSError:
        data = b""
    finally:
        os.close(handle)
    if b"hook" not in data:
        return {}
    from . import plain

    try:
        table: object = plain.table(data.decode("utf-8-sig"), "hook")
        if table is None:
            from capy_core.toml import parse

            table = parse(data).get("hook", {})
    except ValueError as ex:
        return _left_out(f"{file} is left out: {ex}")
    if not isinstance(table, dict):
        return _left_out(f"{file}: hook is not a table")
    good = {key: value for key, value in table.items() if key in _TYPES and _TYPES[key](value)}
    if len(good) < len(table):
        _left_out(f"{file}: left out of [hook]: {', '.join(sorted(set(table) - set(good)))}")
    return good


def _left_out(what: str) -> dict[str, object]:
    from .log import note

    note("settings", what)
    return {}


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


_TYPES = {"enabled": _is_flag, "allow": _is_texts, "redirect": _is_texts, "guidance": _is_flag}


def _texts(value: object) -> tuple[str, ...]:
    return tuple(value) if isinstance(value, list | tuple) else ()
