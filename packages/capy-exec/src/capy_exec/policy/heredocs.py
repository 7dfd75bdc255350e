"""The end words and bodies of heredocs, as bash reads them."""

from __future__ import annotations

_BACKSLASH, _DOLLAR, _BACKTICK = b"\\$`"
_APOSTROPHE = ord("'")
_QUOTES = b"'\""
_ENDS = b" \t\n;&|<>()"
NO_WORD = frozenset([b"", b"\n", b";", b"&", b"|", b"<", b">", b"(", b")", b"#"])
_ODD_DOLLARS = frozenset([b"(", b"{", b"[", b"'", b'"'])


class Doubt(Exception):
    """The text at `at` may be code, or not; `row` is its row if already known."""

    def __init__(self, at: int, row: int | None = None) -> None:
        self.at = at
        self.row = row


class Pending:
    """A heredoc whose body is still to come: its number, its place in the output, its end word."""

    __slots__ = ("at", "end", "number", "quoted", "slot", "tabs")

    def __init__(self, number: int, slot: int, end: bytes, quoted: bool, tabs: bool, at: int) -> None:
        self.number = number
        self.slot = slot
        self.end = end
        self.quoted = quoted
        self.tabs = tabs
        self.at = at


def blanks(source: bytes, at: int) -> int:
    """The first place from `at` on that is no blank."""
    while source[at : at + 1] in (b" ", b"\t") or source[at : at + 2] == b"\\\n":
        at += 2 if source[at] == _BACKSLASH else 1
    return at


def end_word(source: bytes, at: int) -> tuple[bytes | None, bool, int]:
    """The end word of a heredoc that begins at `at`, whether it is quoted, and where it ends; None: not plain."""
    word = bytearray()
    quoted = False
    inside = 0  # the quotes that are open
    while at < len(source):
        char, following = source[at], source[at + 1 : at + 2]
        if not inside and char in _ENDS:
            break
        at += 1
        if char == inside:
            inside = 0
        elif char == _BACKSLASH and inside != _APOSTROPHE:
            at += 1
            if following != b"\n":
                quoted = True
                word += b"" if not inside or following in (b"$", b"`", b'"', b"\\") else b"\\"
                word += following
        elif char in _QUOTES and not inside:
            inside, quoted = char, True
        elif inside != _APOSTROPHE and (char == _BACKTICK or (char == _DOLLAR and following in _ODD_DOLLARS)):
            return None, quoted, at
        else:
            word.append(char)
    return None if inside or b"\n" in word else bytes(word), quoted, at


def is_escaped(source: bytes, start: int, at: int) -> bool:
    """Whether an odd number of backslashes, not before `start`, stands before `at`."""
    begin = at
    while begin > start and source[begin - 1] == _BACKSLASH:
        begin -= 1
    return (at - begin) % 2 == 1


def body_of(source: bytes, at: int, heredoc: Pending, nested: bool) -> tuple[list[bytes], int]:
    """The lines of a heredoc that begins at `at`, and where the code goes on. Without its end word: all that follows.

    In a substitution (`nested`) bash also takes a line for the end that begins with the end word and closes it later.
    """
    lines: list[bytes] = []
    while at < len(source):
        begin = at
        line, at = _line(source, at, joined=not heredoc.quoted)
        if heredoc.tabs:
            line = line.lstrip(b"\t")
        if line == heredoc.end:
            break
        if nested and line.startswith(heredoc.end) and b")" in line[len(heredoc.end) :]:
            at = source.find(heredoc.end, begin) + len(heredoc.end)
            if source[begin:at].lstrip(b"\t") != heredoc.end:
                raise Doubt(begin)
            break
        lines.append(line + b"\n")
    return lines, at


def _line(source: bytes, at: int, *, joined: bool) -> tuple[bytes, int]:
    """The line that begins at `at`, without its end, and where the next begins; `joined` by backslashes at its end."""
    parts: list[bytes] = []
    while True:
        end = source.find(b"\n", at)
        end = end if end >= 0 else len(source)
        line = source[at:end]
        at = min(end + 1, len(source))
        if not joined or (len(line) - len(line.rstrip(b"\\"))) % 2 == 0 or end == len(source):
            return b"".join([*parts, line]), at
        parts.append(line[:-1])
