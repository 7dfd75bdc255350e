"""The error tree. The class says the stable code and the exit status; the instance says where.

    CapyError
      UsageError       2   the command line is wrong
      NotFound         3   a named thing (source, file, runtime) does not exist
      BadInput         4   the input cannot be used as it is
        TooLarge       4   the input is larger than a limit
        BadConfig      4   a configuration file cannot be used
      Busy             5   another process holds the database
      DatabaseError    6   the database cannot be used with this key
        NoKey          6   no key was found
        WrongKey       6   the key does not open it (or the file is damaged)
        Unencrypted    6   it is a plaintext SQLite file
        Corrupt        6   it opens, but its content is damaged
        TooNew         6   a newer program wrote it
        Unwritable     6   the file or its folder cannot be made, read or written (permissions, read-only or full disk)
      Refused          7   a policy forbids it
      SystemFailure    1   the operating system would not do it; what was asked for is incomplete

Libraries raise these; only `capy_core.cli.run` prints them and exits.
"""

from __future__ import annotations

from typing import Any


class CapyError(Exception):
    """Base of every error that a user can act on.

    Args:
        message: what happened and why, one sentence, without a final full stop.
        hint: what to do next, or "" when there is nothing to add.
        details: extra JSON-ready fields for the `capy.error/1` record (`line`, `path`, `limit`, ...).
    """

    code = "error"
    exit_code = 1

    def __init__(self, message: str, hint: str = "", **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details

    def record(self) -> dict[str, Any]:
        """The `capy.error/1` record of this error."""
        return {"schema": "capy.error/1", "code": self.code, "message": self.message, "hint": self.hint, **self.details}


class UsageError(CapyError):
    """The command line is wrong."""

    code, exit_code = "usage", 2


class NotFound(CapyError):
    """A named thing does not exist."""

    code, exit_code = "not_found", 3


class BadInput(CapyError):
    """The input cannot be used as it is."""

    code, exit_code = "bad_input", 4


class TooLarge(BadInput):
    """The input is larger than a limit."""

    code = "too_large"


class BadConfig(BadInput):
    """A configuration file cannot be used."""

    code = "bad_config"


class Busy(CapyError):
    """Another process holds the database."""

    code, exit_code = "busy", 5


class DatabaseError(CapyError):
    """The database cannot be used with this key."""

    code, exit_code = "database", 6


class NoKey(DatabaseError):
    """No key was found."""

    code = "no_key"


class WrongKey(DatabaseError):
    """The key does not open this database."""

    code = "wrong_key"


class Unencrypted(DatabaseError):
    """The database is a plaintext SQLite file."""

    code = "unencrypted"


class Corrupt(DatabaseError):
    """The database opens, but its content is damaged."""

    code = "corrupt"


class TooNew(DatabaseError):
    """A newer program wrote this database."""

    code = "too_new"


class Unwritable(DatabaseError):
    """The file or its folder cannot be made, read or written: permissions, a read-only or a full disk."""

    code = "unwritable"


class Refused(CapyError):
    """A policy forbids it."""

    code, exit_code = "refused", 7


class SystemFailure(CapyError):
    """The operating system would not do it: no space, no permission, too many open files."""

    code, exit_code = "system", 1
