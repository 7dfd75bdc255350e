"""From a syntax tree's nodes to the words that a program would get: quotes removed, braces expanded, doubt marked."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tree_sitter import Node

MOST_WORDS = 1000
"""Words that one brace expansion may make; `{1..9999999}` stays one word that is not known."""

_DEEPEST_BRACES = 12
_CONTAINERS = frozenset(["command_name", "concatenation", "translated_string", "variable_assignment"])
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "E": "\x1b"}
_NUMBERS = {"x": (16, 2), "u": (16, 4), "U": (16, 8)}

# Kinds of a piece of a word.
_BARE, _QUOTED, _OPEN, _SHUT = range(4)  # literal text without and with quotes; an expansion without and with quotes


class Word(str):
    """One argument. As text: what the program gets, with the source of any expansion left in place.

    Attributes:
        known: False when part of it is an expansion that only running can tell.
        glob: It has a pattern (`*`, `?`, `[`) outside quotes: the shell puts the files that fit in its place.
        splits: It has an expansion outside quotes, so it may become no word or several.
        name: The last part of it as a path, or None when that is not known.
    """

    __slots__ = ("glob", "known", "name", "splits")

    known: bool
    glob: bool
    splits: bool
    name: str | None

    def __new__(
        cls, text: str, *, known: bool = True, glob: bool = False, splits: bool = False, name: str | None = None
    ) -> Word:
        """A word of `text`; known, unless said otherwise."""
        self = super().__new__(cls, text)
        self.known = known
        self.glob = glob
        self.splits = splits
        self.name = name if name or not known or glob else text[text.rfind("/") + 1 :]
        return self


def words(nodes: Sequence[Node], source: bytes, *, marked: bool = False) -> list[Word]:
    """The words that `nodes` (which touch each other in `source`) make together: one, or more by braces.

    `marked` says that there may be marks of `lexer` in it: strings that keep their quotes.
    """
    pieces: list[tuple[str, int]] = []
    for node in nodes:
        _pieces(node, source, pieces, marked)
    if not any(kind == _BARE and "{" in text for text, kind in pieces):
        return [_word(pieces)]
    spread = _braces(_atoms(pieces), 0)
    if spread is None:
        text = "".join(text for text, _kind in pieces)
        return [Word(text, known=False, splits=True)]
    return [_word(each) for each in spread]


def ansi(text: str) -> str:
    """What `$'text'` stands for: the backslash escapes of C, octal, hexadecimal and Unicode."""
    out: list[str] = []
    at = 0
    while at < len(text):
        char = text[at]
        following = text[at + 1 : at + 2]
        at += 1
        if char != "\\" or not following:
            out.append(char)
            continue
        at += 1
        if following in _ESCAPES:
            out.append(_ESCAPES[following])
        elif following in _NUMBERS or following in "01234567":
            base, most = _NUMBERS.get(following, (8, 3))
            start = at if base == 16 else at - 1
            at = start
            while (
                at < len(text) and at - start < most and text[at] in "0123456789abcdefABCDEF"[: 22 if base == 16 else 8]
            ):
                at += 1
            out.append(_character(text[start:at], base) if at > start else "\\" + following)
        elif following == "c" and at < len(text):
            out.append(chr(ord(text[at]) & 0x1F))
            at += 1
        else:
            out.append(following if following in "\\'\"?" else "\\" + following)
    return "".join(out).split("\0", 1)[0]


def unescape(text: str, escapable: str) -> str:
    r"""`text` without the backslash before any of `escapable`, and without `\` + newline; other backslashes stay."""
    if "\\" not in text:
        return text
    out: list[str] = []
    at = 0
    while at < len(text):
        if text[at] == "\\" and at + 1 < len(text) and text[at + 1] in escapable + "\n":
            out.append(text[at + 1].replace("\n", ""))
            at += 2
        else:
            out.append(text[at])
            at += 1
    return "".join(out)


def quoted(nodes: Iterable[Node], start: int, end: int, source: bytes, escapable: str) -> list[tuple[str, bool]]:
    """Parts of text in which only expansions count (double quotes, heredocs): (text, it is an expansion).

    The literal parts are cut from `source` between the expansions, because the grammar keeps white space that stands
    between two of them in no node.
    """
    parts: list[tuple[str, bool]] = []
    for node in nodes:
        if node.is_named and node.type not in ("string_content", "heredoc_content"):
            begin = node.start_byte + _blanks(source[node.start_byte : node.end_byte])
            parts.append((unescape(_text(source[start:begin]), escapable), False))
            parts.append((_text(source[begin : node.end_byte]), True))
            start = node.end_byte
    parts.append((unescape(_text(source[start:end]), escapable), False))
    return parts


def _text(source: bytes) -> str:
    return source.decode("utf-8", "replace")


def _blanks(source: bytes) -> int:
    return len(source) - len(source.lstrip())


def _character(digits: str, base: int) -> str:
    number = int(digits, base)
    return chr(number & 0xFF if base == 8 else number) if number < 0x110000 else "\ufffd"


def _pieces(node: Node, source: bytes, out: list[tuple[str, int]], marked: bool) -> None:
    pending = [node]
    while pending:
        node = pending.pop()
        text = _text(source[node.start_byte : node.end_byte])
        if node.type in _CONTAINERS:
            pending.extend(reversed(node.children))
        elif node.type == "raw_string":
            out.append((text[1:-1], _QUOTED))
        elif node.type == "ansi_c_string":
            out.append((ansi(text[2:-1]), _QUOTED))
        elif marked and text.startswith('"\1'):
            out.append((text, _QUOTED))
        elif node.type == "string":
            if out and out[-1] == ("$", _QUOTED):  # $"translated"
                out.pop()
            parts = quoted(node.children, node.start_byte + 1, node.end_byte - 1, source, '$`"\\')
            out.extend((part, _SHUT if unknown else _QUOTED) for part, unknown in parts)
        elif text == "$":
            out.append(("$", _QUOTED))
        elif not node.child_count or node.type == "brace_expression":
            _bare(text, out)
        else:
            out.append((text, _OPEN))


def _bare(text: str, out: list[tuple[str, int]]) -> None:
    r"""Text without quotes: `\x` is a quoted x."""
    start = 0
    while (at := text.find("\\", start)) >= 0:
        out.append((text[start:at], _BARE))
        out.append((text[at + 1 : at + 2].replace("\n", ""), _QUOTED))
        start = at + 2
    out.append((text[start:], _BARE))


def _word(pieces: Sequence[tuple[str, int]]) -> Word:
    text = "".join(piece for piece, _kind in pieces)
    known = splits = True
    glob = False
    name: str | None = ""
    for piece, kind in pieces:
        if kind in (_OPEN, _SHUT):
            known = False
            name = None
        elif "/" in piece:
            name = piece[piece.rfind("/") + 1 :]
        elif name is not None:
            name += piece
        glob = glob or (kind == _BARE and any(mark in piece for mark in "*?["))
    splits = any(kind == _OPEN for _piece, kind in pieces)
    return Word(text, known=known, glob=glob, splits=splits, name=None if splits or glob else name)


def _atoms(pieces: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Pieces cut so that each bare `{`, `,` and `}` stands alone."""
    out: list[tuple[str, int]] = []
    for text, kind in pieces:
        if kind != _BARE:
            out.append((text, kind))
            continue
        start = 0
        for at, char in enumerate(text):
            if char in "{,}":
                out.extend([(text[start:at], _BARE), (char, _BARE)] if at > start else [(char, _BARE)])
                start = at + 1
        if start < len(text):
            out.append((text[start:], _BARE))
    return out


def _braces(atoms: list[tuple[str, int]], depth: int) -> list[list[tuple[str, int]]] | None:
    """Every word that the atoms stand for; None when they are too many or too deep to tell."""
    done: list[list[tuple[str, int]]] = [[]]
    at = 0
    looked = 0
    while at < len(atoms):
        choices: list[list[tuple[str, int]]] | None = [[atoms[at]]]
        following = at + 1
        if atoms[at] == ("{", _BARE):
            looked += 1
            if looked > 64 or depth > _DEEPEST_BRACES:
                return None
            found = _group(atoms, at)
            if found:
                following = found[1]
                choices = _choices(found[0], depth)
        if choices is None or len(done) * len(choices) > MOST_WORDS:
            return None
        if len(choices) == 1:
            for word in done:
                word.extend(choices[0])
        else:
            done = [word + choice for word in done for choice in choices]
        at = following
    return done


def _group(atoms: list[tuple[str, int]], start: int) -> tuple[list[list[tuple[str, int]]], int] | None:
    """The comma-separated parts of the group that opens at `start`, and where it ends; None when it is no group."""
    parts: list[list[tuple[str, int]]] = [[]]
    level = 0
    for at in range(start + 1, len(atoms)):
        atom = atoms[at]
        if atom == ("}", _BARE) and not level:
            whole = "".join(text for text, _kind in parts[0])
            return (parts, at + 1) if len(parts) > 1 or ".." in whole else None
        level += (atom == ("{", _BARE)) - (atom == ("}", _BARE))
        if atom == (",", _BARE) and not level:
            parts.append([])
        else:
            parts[-1].append(atom)
    return None


def _choices(parts: list[list[tuple[str, int]]], depth: int) -> list[list[tuple[str, int]]] | None:
    if len(parts) == 1:
        sequence = _sequence("".join(text for text, _kind in parts[0]))
        return None if sequence is None else [[(text, _BARE)] for text in sequence]
    out: list[list[tuple[str, int]]] = []
    for part in parts:
        spread = _braces(part, depth + 1)
        if spread is None or len(out) + len(spread) > MOST_WORDS:
            return None
        out.extend(spread)
    return out


def _sequence(text: str) -> list[str] | None:
    """The words of `{first..last}` and `{first..last..step}`, numbers or single letters; `{text}` itself if neither."""
    ends = text.split("..")
    letters = len(ends) in (2, 3) and all(len(end) == 1 and end.isascii() and end.isalpha() for end in ends[:2])
    try:
        first, last = (ord(end) if letters else int(end) for end in ends[:2])
        step = abs(int(ends[2])) if len(ends) == 3 else 1
    except (ValueError, IndexError):
        return ["{" + text + "}"]
    way = 1 if last >= first else -1
    numbers = range(first, last + way, way * (step or 1))
    if len(ends) > 3:
        return ["{" + text + "}"]
    if len(numbers) > MOST_WORDS:
        return None
    width = (
        max(len(end) for end in ends[:2])
        if any(end.lstrip("-").startswith("0") and len(end) > 1 for end in ends[:2])
        else 0
    )
    return [chr(number) if letters else str(number).zfill(width) for number in numbers]
