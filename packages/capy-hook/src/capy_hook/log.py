"""What a hook could not do: one line in a log, since there is nobody else to tell."""

from __future__ import annotations

import os

_MAX_BYTES = 256 * 1024


def state_folder() -> str:
    """`$XDG_STATE_HOME/capy`, else `~/.local/state/capy`, or "" when there is no home."""
    base = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):  # the XDG specification: a relative value must be ignored
        home = os.path.expanduser("~") if os.environ.get("HOME") != "" else ""
        if not os.path.isabs(home):
            return ""
        base = os.path.join(home, ".local", "state")
    return os.path.join(base, "capy")


def note(event: str, what: str) -> None:
    """Append "time, event, what" to `hook.log` in the state folder; past 256 KB it becomes `hook.log.1`.

    Never raises: a full or read-only disk loses the line.

    Args:
        event: the event's name, as on the command line.
        what: one sentence without anything of the user's commands.
    """
    import time

    try:
        folder = state_folder()
        if not folder:
            return
        os.makedirs(folder, 0o700, exist_ok=True)
        path = os.path.join(folder, "hook.log")
        line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {event[:40]!a} {' '.join(what.split())[:300]}\n"
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0), 0o600)
        try:
            size = os.fstat(handle).st_size
            os.write(handle, line.encode("utf-8", "replace"))
        finally:
            os.close(handle)
        if size > _MAX_BYTES:
            os.replace(path, f"{path}.1")
    except (OSError, ValueError):  # the last resort has none
        return
