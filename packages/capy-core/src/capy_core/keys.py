"""Where a database key comes from, and how it is handed to SQLCipher."""

from __future__ import annotations

import re

_RAW = re.compile(r"x'([0-9a-fA-F]{64})'\Z")


class Key:
    """A database key: a passphrase, or a raw 256-bit key written `x'<64 hex>'` as SQLCipher writes it.

    Never printed: `repr` and `str` show no part of it.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    @property
    def is_raw(self) -> bool:
        """True for a raw key: opening costs no PBKDF2."""
        return bool(_RAW.match(self._text))

    @property
    def pragma_value(self) -> str:
        """The quoted value for `PRAGMA key = ...` and `ATTACH ... KEY ...`."""
        if self.is_raw:
            return f'"{self._text}"'
        return "'" + self._text.replace("'", "''") + "'"

    def __repr__(self) -> str:
        return "Key(...)"
