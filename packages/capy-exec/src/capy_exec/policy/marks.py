"""What `lexer` takes out of shell code, and the code with marks in its place."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from capy_exec.policy.words import Word

HEREDOC, HERESTRING, OPEN_BOTH, GLOB, BACKTICKS = "heredoc", "<<<", "<>", "glob", "backticks"
"""Kinds of what is taken out."""

_BEFORE = {GLOB: "", BACKTICKS: "$("}  # what stands before a mark; `)` stands behind one for backticks
_TRIGGERS = (b"<<", b"<>", b"}<", b"}>", b"!(", b"@(", b"?(", b"*(", b"+(")


class Item:
    """One thing taken out: its `kind`, its `source`, its `text` (a heredoc's, or the code in backticks)."""

    __slots__ = ("body", "kind", "source", "text")

    def __init__(self, kind: str, source: bytes, text: Word | None = None) -> None:
        self.kind = kind
        self.source = source
        self.text = text
        self.body = b""


class Lifted:
    """Code with marks.

    Attributes:
        source: The code, in UTF-8.
        items: What the marks stand for, by their numbers.
        doubt: The line from which on the code cannot be told from text, or None. If there is one, nothing is marked.
    """

    __slots__ = ("_pieces", "doubt", "items", "source")

    def __init__(self, pieces: list[tuple[bytes, int]], items: list[Item], doubt: int | None = None) -> None:
        self._pieces = pieces
        self.source = b"".join([piece for piece, _row in pieces])
        self.items = items
        self.doubt = doubt

    def line(self, row: int) -> int:
        """The line (from 1) of the code as it was that has become `row` (from 0) of `source`."""
        passed = 0
        line = 1
        for piece, start in self._pieces:
            rows = piece.count(b"\n")
            line = start + min(row - passed, rows) + 1
            if passed + rows >= row:
                break
            passed += rows
        return line

    def restore(self, text: str) -> tuple[str, bool]:
        """A part of `source` as it stood before, and whether it has a pattern."""
        out: list[str] = []
        bodies = ""
        glob = False
        start = 0
        while (at := text.find('"\1', start)) >= 0:
            end = text.find("\1", at + 2)
            item = self.items[int(text[at + 2 : end])]
            glob = glob or item.kind == GLOB
            before = text[start:at].removesuffix(_BEFORE.get(item.kind, "<"))
            bodies = _add(before, bodies, out)
            out.append(decoded(item.source))
            bodies += decoded(item.body)
            start = _mark_end(text, end + 1) + (item.kind == BACKTICKS)
        bodies = _add(text[start:], bodies, out)
        return "".join([*out, "\n" + bodies if bodies else ""]), glob


def lift(source: bytes) -> Lifted:
    """Mark heredocs and the like in `source` (UTF-8, lines ended by newlines). Nothing is raised."""
    plain = b"<" not in source and b">" not in source and b"(" not in source and b"`" not in source
    last = -1 if plain else last_trigger(source)
    if last < 0:
        return Lifted([(source, 0)], [])
    from capy_exec.policy.lexer import lexed

    return lexed(source, last)


def last_trigger(source: bytes) -> int:
    """Where the last text stands in `source` that may have to be taken out; -1 without any."""
    last = max([source.rfind(trigger) for trigger in _TRIGGERS])
    return max(last, source.rfind(b"`")) if has_backticks(source) else last


def has_backticks(source: bytes) -> bool:
    """Whether there are more than one pair, which the grammar takes for one with a blank between, or an empty one."""
    return source.count(b"`") > 2 or b"``" in source


def _add(text: str, bodies: str, out: list[str]) -> str:
    """Add `text` to `out`, the bodies of heredocs behind the end of its first line; the bodies that are left."""
    head, newline, rest = text.partition("\n")
    out.append(head + newline + bodies + rest if newline else head)
    return "" if newline else bodies


def _mark_end(text: str, at: int) -> int:
    """Where the mark ends whose number ends at `at`: there may be others inside."""
    level = 1
    while level:
        shut = text.find('\1"', at)
        if shut < 0:
            return len(text)
        opened = text.find('"\1', at, shut)
        level += 1 if opened >= 0 else -1
        at = text.find("\1", opened + 2) + 1 if opened >= 0 else shut + 2
    return at


def decoded(source: bytes) -> str:
    return source.decode("utf-8", "replace")
