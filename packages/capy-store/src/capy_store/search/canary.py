"""Does the index find what is surely there? Asked before a word is called unknown.

SQLite before 3.52 reads an overwritten index block as an empty one, so a damaged index would answer "no results". The
newest chunk is the canary: one word of its text must lead to it.
"""

from __future__ import annotations

import re

from capy_core.database import Connection
from capy_core.errors import Corrupt
from capy_core.fts import blank_cjk

from .. import queries

_NEWEST = "SELECT id, body FROM chunks ORDER BY id DESC LIMIT 1"
_WORD = re.compile(r"(?<![^\W_])[A-Za-z]{3,30}(?![^\W_])")


def check(db: Connection) -> None:
    """Pass when the index holds the newest chunk, or when that has no plain word.

    Raises:
        Corrupt: it does not.
    """
    db.execute("BEGIN")  # one snapshot: another process may put in or remove a chunk meanwhile
    try:
        row = db.execute(_NEWEST).fetchone()
        word = _word(row[1]) if row else ""
        found = not word or queries.matches(db, row[0], word)
    finally:
        db.execute("ROLLBACK")
    if not found:
        raise Corrupt("the search index is damaged", "run: capy-store doctor --repair")


def _word(body: bytes) -> str:
    from zstandard import ZstdDecompressor

    text = ZstdDecompressor().decompress(body).decode("utf-8", "replace")
    match = _WORD.search(blank_cjk(text))
    return match[0] if match else ""
