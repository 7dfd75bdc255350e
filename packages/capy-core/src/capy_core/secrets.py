"""Secret redaction: the values of secrets become a marker, key names stay. The rules are data: redaction.toml.

What is decided at a place of the text depends only on a bounded window around it (secret_scan), so a stream gives the
same result however it is split. Why it is built this way: docs/adr/0005-redaction.md.
"""

from __future__ import annotations

from typing import Any

from .secret_rules import RULES_VERSION
from .secret_scan import BLOCK, CONTEXT, LOOKAHEAD, MARKER, Progress, Span, View, merged, scan

__all__ = [
    "BLOCK", "MARKER", "RULES_VERSION", "StreamRedactor",
    "redact", "redact_bytes", "redact_counted", "redact_values",
]  # fmt: skip

_STEP = 1 << 20


def redact(text: str) -> str:
    """The text with the values of secrets replaced; key names stay.

    Idempotent; linear in the text's length. Lone surrogates and NULs pass through.
    """
    return redact_counted(text)[0]


def redact_counted(text: str) -> tuple[str, int]:
    """The redacted text and how many places were replaced."""
    redactor = StreamRedactor()
    parts = [redactor.feed(text[i : i + _STEP]) for i in range(0, len(text), _STEP)]
    parts.append(redactor.finish())
    return "".join(parts), redactor.count


def redact_bytes(data: bytes) -> bytes:
    """The same for bytes that may not be UTF-8: what is not valid passes through as it is."""
    return redact(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def redact_values(value: Any, name: str = "") -> Any:
    """The same for every text in a value made of dicts, lists and the like, names included.

    A text under a name that tells a secret (`{"password": "..."}`) is one, whatever it looks like.
    """
    if isinstance(value, str):
        clean = redact(value)
        named = name and not clean.startswith(MARKER) and redact(f'{name}: "{clean}"').startswith(f'{name}: "{MARKER}')
        return MARKER if named else clean
    if isinstance(value, dict):
        return {redact(key): redact_values(item, key) for key, item in value.items()}
    return [redact_values(item, name) for item in value] if isinstance(value, list | tuple) else value


class StreamRedactor:
    """Redact text that comes in pieces, within bounded memory.

    The pieces given out, joined, are exactly `redact` of the pieces put in, joined. They end at line ends, except
    inside lines longer than LOOKAHEAD and before a block that is still open: that is held back until it closes or is
    BLOCK characters long.
    """

    def __init__(self) -> None:
        self.count = 0
        """Places replaced in what was given out."""
        self._text = ""  # some context that was given out, then all that was not
        self._given = 0  # index in _text: what is before it was given out
        self._decided = 0  # index in _text: secrets that start before it are in _found
        self._found: list[Span] = []
        self._progress = Progress()
        self._waiting: list[str] = []
        self._waiting_size = 0
        self._patience = 0  # characters to wait for before looking at an open block again

    def feed(self, text: str) -> str:
        """Take a piece, give out what is decided by now (often "")."""
        self._waiting.append(text)
        self._waiting_size += len(text)
        if self._waiting_size < self._patience or ("\n" not in text and self._waiting_size < LOOKAHEAD):
            return ""
        return self._advance(final=False)

    def finish(self) -> str:
        """Give out the rest. The redactor is used up."""
        return self._advance(final=True)

    def _advance(self, final: bool) -> str:
        self._text += "".join(self._waiting)
        self._waiting, self._waiting_size = [], 0
        size = len(self._text)
        end = size if final else max(self._text.rfind("\n", self._decided) + 1, size - LOOKAHEAD, self._decided)
        found, decided = scan(View(self._text), self._decided, end, final, self._progress)
        self._patience = 0 if decided == end else (size - decided) // 4
        self._decided = decided
        return self._give_out(merged([*self._found, *found]))

    def _give_out(self, found: list[Span]) -> str:
        text, at, end = self._text, self._given, self._decided
        parts = []
        done = 0
        for start, stop, marker in found:
            if stop > end:  # it is not complete: what comes next may lengthen it
                end = min(end, start)
                break
            parts += [text[at:start], marker]
            at = stop
            done += 1
        parts.append(text[at:end])
        self.count += done
        cut = max(0, end - CONTEXT)
        self._text = text[cut:]
        self._given, self._decided = end - cut, self._decided - cut
        self._progress.shift(cut)
        self._found = [(start - cut, stop - cut, marker) for start, stop, marker in found[done:]]
        return "".join(parts)
