"""The SQLite driver's errors as ours. The result codes are SQLite's primary ones (sqlite.org/rescode.html)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from .errors import Busy, CapyError, Corrupt, TooLarge, Unwritable, WrongKey

_INTERRUPT = 9
_ERRORS: dict[int, tuple[type[CapyError], str, str]] = {
    3: (Unwritable, "no permission", "check the permissions of the file and its folder"),
    5: (Busy, "another process holds the database", "try again, or end the process that holds it"),
    6: (Busy, "another connection holds a table", "try again"),
    8: (Unwritable, "the database cannot be written", "check the permissions of the file and its folder"),
    10: (Unwritable, "the disk failed to read or write", "check the disk and its free space"),
    11: (Corrupt, "the database is damaged", "run capy-store doctor; restore it from a copy or rebuild it"),
    13: (Unwritable, "the disk is full", "free some space and try again; what was stored before is safe"),
    14: (Unwritable, "the database cannot be opened", "check the permissions of the file and its folder"),
    18: (TooLarge, "one value is too large for the database", "split the input"),
    26: (
        WrongKey,
        "the key does not open this database, or its first page is damaged",
        "check where the key comes from",
    ),
}


@contextmanager
def translate() -> Iterator[None]:
    """Turn the driver's errors inside the block into errors of ours; for queries outside of `write`.

    Raises:
        Busy, Corrupt, WrongKey, Unwritable, TooLarge: for what they say. Any other error of the driver (a wrong
            statement is a bug) goes through. KeyboardInterrupt: Ctrl-C came during a long statement.
    """
    try:
        yield
    except Exception as ex:
        error = translated(ex)
        if error is None:
            raise
        raise error from ex


def translated(ex: BaseException) -> CapyError | KeyboardInterrupt | None:
    """Our error for an error of the SQLite driver; None for every other exception."""
    if isinstance(ex, MemoryError):  # what SQLCipher's older builds make of a page that they cannot decrypt
        return Corrupt("a page of the database cannot be decrypted, or memory ran out", "run: capy-store doctor")
    code = getattr(ex, "sqlite_errorcode", None)
    if code is None:
        return None
    if code & 0xFF == _INTERRUPT:
        if threading.current_thread() is threading.main_thread():
            return KeyboardInterrupt()
        return Busy("the query was interrupted", "try again")
    if code & 0xFF not in _ERRORS:
        return None
    kind, message, hint = _ERRORS[code & 0xFF]
    return kind(f"{message} ({ex})", hint)


def is_locked(ex: BaseException) -> bool:
    """True for the driver's errors that say: someone else holds it now."""
    return (getattr(ex, "sqlite_errorcode", None) or 0) & 0xFF in (5, 6)
