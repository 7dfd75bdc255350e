"""Advice that is given once: a session's first Read, Grep and Bash.

A marker file for each session and kind, created exclusively, so that of several hooks at once only one speaks. They lie
in the user's state folder; no id becomes a name as it is, since it comes from outside and may hold anything. Where none
can be written nothing is said, rather than the same at every call.
"""

from __future__ import annotations

import os

from .log import state_folder

TIPS = {
    "Read": "Read fits files that are edited or understood as a whole (offset and limit bound it). For an answer"
    " derived from thousands of lines, capy_execute_file(path, language, code) returns only what the code prints.",
    "Grep": "Grep fits finding code to read. To count or extract from many matches, the same search inside"
    ' capy_execute(language: "shell", code) runs in a sandbox and only what it prints enters the context.',
    "Bash": "Bash fits output that is read as a whole. For facts out of large output (builds, tests, logs),"
    " capy_execute(language, code, intent) returns the matching parts; capy_batch_execute(commands, queries) runs"
    " several commands and answers questions about them in one call.",
}
_MAX_AGE_S = 7 * 24 * 3600
_MAX_SESSIONS = 2000  # looked at when pruning


def tip(tool: str, session: str, agent: str) -> str:
    """The advice for a tool at its first use in a session (each sub-agent has its own), "" ever after."""
    if tool not in TIPS or not session or not _first(session, f"{agent} {tool}"):
        return ""
    return f"<context_guidance><tip>{TIPS[tool]}</tip></context_guidance>"


def prune(session: str = "") -> None:
    """Drop the markers of one session, or without one those of all sessions that began a week ago. Never raises."""
    import time

    folder = _folder()
    if session:
        return _drop(os.path.join(folder, _name(session)), float("inf"))
    oldest = time.time() - _MAX_AGE_S
    try:
        names = os.listdir(folder)[:_MAX_SESSIONS]
    except OSError:  # nobody was ever advised
        return
    for name in names:
        _drop(os.path.join(folder, name), oldest)


def _first(session: str, kind: str) -> bool:
    folder = _folder()
    if not folder:
        return False
    place = os.path.join(folder, _name(session))
    try:
        os.makedirs(place, 0o700, exist_ok=True)
        os.close(os.open(os.path.join(place, _name(kind)), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError:
        return False
    return True


def _folder() -> str:
    state = state_folder()
    return os.path.join(state, "hook") if state else ""


def _name(text: str) -> str:
    """A file's name for any text. Ids are short, so different ones differ; `hashlib` costs more than all of this."""
    from binascii import crc32

    data = text.encode("utf-8", "surrogatepass")
    return f"{crc32(data):08x}{data[:60].hex()}"


def _drop(place: str, before: float) -> None:
    try:
        if os.path.getmtime(place) < before:
            for name in os.listdir(place):
                os.unlink(os.path.join(place, name))
            os.rmdir(place)
    except OSError:  # it is not there, or another process drops it too
        return
