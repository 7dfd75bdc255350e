"""Secret redaction: the values of secrets become a marker, key names stay. The rules are data: redaction.toml.

How it stays linear and fast. The text is looked at as bytes of one per character (what is not Latin-1 becomes "?"), so
that positions agree with the text's own. Cheap literal searches find *anchors*: words such as "password" in the
lower-cased text, and long runs of letters and digits, in which tokens live. Only at an anchor is a pattern tried.

What is decided at an anchor depends on nothing but the CONTEXT characters before it and the LOOKAHEAD characters after
it, or the rest of its line if that is shorter (a block: BLOCK characters). So a stream gives the same result however
it is split: an anchor is decided as soon as all it may look at is there. See docs/adr/0005-redaction.md.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

MARKER = "[REDACTED_SECRET]"
PRIVATE_MARKER = "[REDACTED]"

BLOCK = 262_144
"""Longest private-key or <private> block that is seen as one, in characters; also the most a stream holds back."""

LOOKAHEAD = 16_384
CONTEXT = 256
RUN = 15

_RULES_FILE = Path(__file__).with_name("redaction.toml")
_STEP = 1 << 20

RULES_VERSION: str = hashlib.sha256(_RULES_FILE.read_bytes()).hexdigest()[:12]
"""Changes whenever the rules do; kept beside documents so that they are indexed anew."""

Span = tuple[int, int, str]


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


class StreamRedactor:
    """Redact text that comes in pieces, within bounded memory.

    The pieces given out, joined, are exactly `redact` of the pieces put in, joined. They end at line ends, except
    inside lines longer than LOOKAHEAD. An unclosed block is held back until it closes or is BLOCK characters long.
    """

    def __init__(self) -> None:
        self.count = 0
        """Places replaced in what was given out."""
        self._text = ""  # some context that was given out, then all that was not
        self._given = 0  # index in _text: what is before it was given out
        self._decided = 0  # index in _text: secrets that start before it are in _found
        self._found: list[Span] = []
        self._resume = [0] * (len(_rules().phrases) + len(_rules().names) + 1)
        self._unclosed = 0  # index in _text: no end of a <private> block before it
        self._waiting: list[str] = []
        self._waiting_size = 0
        self._patience = 0  # characters to wait for before looking at an unclosed block again

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
        text, start = self._text, self._decided
        end = len(text) if final else max(text.rfind("\n", start) + 1, len(text) - 2 * LOOKAHEAD, start)
        view = _View(text)
        blocks, end, self._unclosed = _blocks(view, start, end, final, self._unclosed)
        self._patience = 0 if end == len(text) else (len(text) - end) // 4
        found = [*self._found, *blocks, *_tokens(view, start, end, self._resume)]
        found += _phrases(view, start, end, self._resume)
        found += _names(view, start, end, self._resume)
        self._decided = end
        return self._give_out(_merged(found))

    def _give_out(self, found: list[Span]) -> str:
        text, at, end = self._text, self._given, self._decided
        parts = []
        while found and found[0][0] < end:
            if found[0][1] > end:  # what comes next may lengthen it
                end = found[0][0]
                break
            start, stop, marker = found.pop(0)
            parts += [text[at:start], marker]
            at = stop
            self.count += 1
        parts.append(text[at:end])
        cut = max(0, end - CONTEXT)
        self._text = text[cut:]
        self._given, self._decided = end - cut, self._decided - cut
        self._unclosed = max(0, self._unclosed - cut)
        self._resume = [max(0, position - cut) for position in self._resume]
        self._found = [(start - cut, stop - cut, marker) for start, stop, marker in found]
        return "".join(parts)


class _View:
    """A text as bytes: one byte a character, as it is and in lower case."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.exact = text.encode("latin-1", "replace")
        self.lower = self.exact.lower()

    def beside_marker(self, start: int, end: int) -> bool:
        """True when a marker touches [start, end): it stands for what was glued there, so nothing new begins or ends.

        Without this a second pass could find what the first did not: `AKIA...` was part of a longer word before.
        """
        before, after = self.exact[max(0, start - 16) : start], self.exact[end : end + 9]
        return before.endswith((b"REDACTED_SECRET]", b"[REDACTED]")) or after == b"[REDACTED"


def _merged(found: list[Span]) -> list[Span]:
    """Spans in order, those that overlap made one; a private block's marker wins."""
    merged: list[Span] = []
    for start, end, marker in sorted(found):
        if merged and start < merged[-1][1]:
            first, last, kept = merged[-1]
            merged[-1] = (first, max(last, end), PRIVATE_MARKER if PRIVATE_MARKER in (kept, marker) else kept)
        else:
            merged.append((start, end, marker))
    return merged


# --- rules ---------------------------------------------------------------------------------------------------------

_LEFT = rb"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"  # nothing glued to the left, but for the letter of an escaped \n
_QUOTE = rb"""\\{0,7}["'`]"""
_AFTER_NAME = (
    rb"(?P<close>(?:" + _QUOTE + rb")?[\])*]{0,3}(?:\[\d{0,5}\])?)(?P<sep>"
    rb"[ \t]{0,4}:[ \t]{0,4}[&a-z_][\w.\[\] |&?<>*]{0,48}?=(?=[ \t]{0,4}[bfrux]{0,2}" + _QUOTE + rb")[ \t]{0,4}"
    rb"|[ \t]{0,8}(?:=>|:=|[:=])(?![=~>:])\*{0,2}[ \t]{0,8}"
    rb"|>|[ \t]{1,8}(?=\S))"
)


@dataclass(frozen=True)
class _Phrase:
    pattern: re.Pattern[bytes]
    judge: str


@dataclass(frozen=True)
class _Name:
    pattern: re.Pattern[bytes]
    before: re.Pattern[bytes] | None
    not_before: re.Pattern[bytes] | None
    judge: str


@dataclass(frozen=True)
class _Rules:
    token_start: re.Pattern[bytes]
    token_kinds: re.Pattern[bytes]
    tokens: list[bytes]
    phrases: list[_Phrase]
    names: list[_Name]
    harmless_start: re.Pattern[str]
    harmless: re.Pattern[str]


@cache
def _rules() -> _Rules:
    import tomllib

    data = tomllib.loads(_RULES_FILE.read_text(encoding="utf-8"))
    tokens, values = data["token"], data["values"]
    words = "|".join(values["words"])
    return _Rules(
        token_start=_any_start([start for token in tokens for start in token["start"]]),
        token_kinds=re.compile("|".join(f"({'|'.join(token['start'])})" for token in tokens).encode()),
        tokens=[(_LEFT if token.get("word") else b"") + b"(?:" + token["regex"].encode() + b")" for token in tokens],
        phrases=[_Phrase(re.compile(rule["regex"].encode()), rule["judge"]) for rule in data["phrase"]],
        names=[_name_rule(rule) for rule in data["name"]],
        harmless_start=re.compile("|".join(values["starts"]), re.IGNORECASE),
        harmless=re.compile("|".join([*values["whole"], f"(?:{words})[!?;,.:|)*\\]]*"]), re.IGNORECASE),
    )


def _any_start(starts: list[str]) -> re.Pattern[bytes]:
    """One pattern for all, branched by first character: three times as fast as a flat list of alternatives."""
    firsts = dict.fromkeys(start[0] for start in starts)
    branches = ((first, "|".join(start[1:] for start in starts if start[0] == first)) for first in firsts)
    return re.compile("|".join(f"{first}(?:{rests})" for first, rests in branches).encode())


def _name_rule(rule: dict[str, str]) -> _Name:
    def at_the_end(pattern: str | None) -> re.Pattern[bytes] | None:
        return re.compile(rb"(?:" + pattern.encode() + rb")\Z") if pattern else None

    pattern = rule["anchor"].encode() + rule["suffix"].encode() + _AFTER_NAME
    before, not_before = at_the_end(rule.get("before")), at_the_end(rule.get("not_before"))
    return _Name(re.compile(pattern), before, not_before, rule["judge"])


@cache
def _token_pattern(index: int) -> re.Pattern[bytes]:
    return re.compile(_rules().tokens[index])


# --- blocks --------------------------------------------------------------------------------------------------------

_OPEN, _CLOSE = b"<private>", b"</private>"
_KEY_BEGIN = re.compile(rb"-----begin [a-z0-9 ]{0,40}private key(?: block)?-----")
_KEY_END = re.compile(rb"-----end [a-z0-9 ]{0,40}private key(?: block)?-----")
_KEY_BODY = re.compile(rb"""[\w+/=\s\\"'`,:.|>#*]*+(?:-(?!----)[\w+/=\s\\"'`,:.|>#*]*+)*+""")
_GAP = rb"""(?:\s|\\{1,8}[nr]|["'`+,>|#*\\]){0,16}+"""
_KEY_LINES = re.compile(  # a key without its end: long lines of base64, and a short last one
    rb"(?:" + _GAP + rb"(?:(?:proc-type|dek-info|version|comment|hash): [^\r\n\\]{0,99}|[a-z0-9+/=]{16,}+))++"
    rb"(?:" + _GAP + rb"""(?=[a-z+/]{0,15}[0-9+/=])[a-z0-9+/=]{1,15}(?=[\s\\"'`]|\Z))?"""
)


def _blocks(view: _View, start: int, end: int, final: bool, unclosed: int) -> tuple[list[Span], int, int]:
    """Blocks that open in [start, end), the end moved back to the first that cannot be decided yet, and `unclosed`."""
    found: list[Span] = []
    end = _key_blocks(view, start, end, final, found)
    size, at = len(view.lower), view.lower.find(_OPEN, start, end + len(_OPEN) - 1)
    while at >= 0:
        limit = at + BLOCK
        close = view.lower.find(_CLOSE, max(at, unclosed), limit)
        if close >= 0:
            found.append((at, close + len(_CLOSE), PRIVATE_MARKER))
            at = close
        else:
            unclosed = max(unclosed, min(size, limit) - len(_CLOSE) + 1)
            if not final and size < limit:
                return found, at, unclosed
        at = view.lower.find(_OPEN, at + 1, end + len(_OPEN) - 1)
    return found, end, unclosed


def _key_blocks(view: _View, start: int, end: int, final: bool, found: list[Span]) -> int:
    for begin in _KEY_BEGIN.finditer(view.lower, start, min(len(view.lower), end + 80)):
        if begin.start() >= end:
            break
        head, limit = begin.end(), begin.end() + BLOCK
        body = _KEY_BODY.match(view.lower, head, limit)
        stop = body.end() if body else head
        if not final and len(view.lower) < min(stop, limit) + 80 and len(view.lower) < limit + 80:
            return begin.start()
        text = view.exact[head:stop]
        if _KEY_END.match(view.lower, stop):
            secret = re.search(rb"[A-Za-z0-9+/=]{16}", text) or not re.search(rb"\s", text.strip())
            if secret and re.search(rb"[A-Za-z0-9]", text):
                found.append((head, stop, MARKER))
        elif lines := _KEY_LINES.match(view.lower, head, limit):
            found.append((head, lines.end(), MARKER))
    return end


# --- tokens --------------------------------------------------------------------------------------------------------

_WORD = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
_IN_RUN = bytes(119 if byte in _WORD else 32 for byte in range(256))  # "w" and " "
_A_RUN = b"w" * RUN


def _tokens(view: _View, start: int, end: int, resume: list[int]) -> Iterator[Span]:
    exact, runs, rules = view.exact, view.exact.translate(_IN_RUN), _rules()
    run = runs.find(_A_RUN, max(0, start - RUN + 1))
    while 0 <= run < end + RUN:
        stop = runs.find(b" ", run + RUN)
        stop = len(runs) if stop < 0 else stop
        at = max(start, run - RUN, resume[-1])
        while at < min(stop, end) and (anchor := rules.token_start.search(exact, at, stop + 1)):
            at = anchor.start()
            if at >= min(stop, end):
                break
            kind = rules.token_kinds.match(exact, at)
            token = _token_pattern((kind.lastindex or 1) - 1).match(exact, at) if kind else None
            if token and not view.beside_marker(*token.span()):
                first, last = token.span(token.lastindex or 0)
                yield first, last, MARKER
                resume[-1] = at = last
            else:
                at += 1
        run = runs.find(_A_RUN, stop)


# --- phrases and names ---------------------------------------------------------------------------------------------


def _phrases(view: _View, start: int, end: int, resume: list[int]) -> Iterator[Span]:
    for index, rule in enumerate(_rules().phrases):
        for match in rule.pattern.finditer(view.lower, start, min(len(view.lower), end + LOOKAHEAD)):
            if match.start() >= end:
                break
            first, last = match.span("secret")
            if match.start() < resume[index] or view.beside_marker(match.start(), last):
                continue
            if _judge(rule.judge, view.text[first:last]):
                yield first, last, MARKER
                resume[index] = last


_NAME_CHARACTERS = b"abcdefghijklmnopqrstuvwxyz0123456789_.-"
_QUOTED = re.compile(
    rb"""[bfruxBFRUX]{0,2}(?P<quote>\\{0,7}["'`])"""
    rb"""(?P<value>(?:(?!(?P=quote))(?:\\{3}["'`]|\\.|[^\\\r\n])){1,3500}+)(?P<end>(?P=quote))?"""
)
_BARE = re.compile(rb"""(?:[^\s"'`\\,;&)\]}<>]|\\(?![nrtu"'`\\/]))(?:[^\s"'`\\,;&)\]}<]|\\(?![nrtu"'`\\/])){0,8000}+""")
_BARE_LINE = re.compile(
    rb"""(?:[^\s"'`\\,;&)\]}<]|\\(?![nrtu"'`\\/])"""
    rb"""|["'`,;&)\]}<](?![\s"'`,;)\]}/\\]|\Z|[\w.-]{1,40}[=:])){1,8000}+"""
)
_LINE_REST = re.compile(rb"[ \t]*(?:\r?\n|\\[nr]|\Z)")
_NEXT_PAIR = re.compile(rb"&|;[ ]?[\w ]{1,40}=")


@dataclass
class _Place:
    """Where a key name stands."""

    prefix: bytes  # what stands to the left of the anchor in the same word, lower case
    start: int  # of the whole name
    left: bytes  # the byte before it, or b""
    line_start: bool
    upper: bool
    sep: bytes


def _names(view: _View, start: int, end: int, resume: list[int]) -> Iterator[Span]:
    offset = len(_rules().phrases)
    for index, rule in enumerate(_rules().names, offset):
        for match in rule.pattern.finditer(view.lower, start, min(len(view.lower), end + 512)):
            if match.start() >= end:
                break
            if match.start() >= resume[index] and (span := _named_value(view, rule, match)):
                yield *span, MARKER
                resume[index] = span[1]


def _named_value(view: _View, rule: _Name, match: re.Match[bytes]) -> tuple[int, int] | None:
    at = match.end()
    if _rules().harmless_start.match(view.text, at):
        return None
    place = _place(view, match)
    if rule.before and not rule.before.search(place.prefix):
        return None
    if rule.not_before and rule.not_before.search(place.prefix):
        return None
    quoted = _QUOTED.match(view.exact, at)
    if not _separated(view, place, rule, quoted):
        return None
    if quoted:
        first, last = quoted.span("value")
        value = view.text[first:last]
        sure = bool(quoted["end"]) or not any(map(str.isspace, value))
        if not sure:  # cut off: what follows on the line is not known to belong to it
            value = value.split(None, 1)[0] if value[0].strip() else ""
            last = first + len(value)
    else:
        line = place.sep == b"=" and (place.upper or place.line_start)
        bare = (_BARE_LINE if line else _BARE).match(view.exact, at)
        if not bare:
            return None
        first, last = bare.span()
        value = view.text[first:last]
        whole = place.line_start and _LINE_REST.match(view.exact, last) is not None
        sure = (line and (place.upper or (whole and not _same_word(value)))) or place.left in (b"?", b"&", b";")
        sure = sure or place.sep == b">" or len(value) > _LONG or _NEXT_PAIR.match(view.exact, last) is not None
    if view.beside_marker(place.start, last):
        return None
    loose = "passphrase" in view.text[match.start() : match.end()].lower()
    return (first, last) if _judge(rule.judge, value, sure, bool(quoted), loose) else None


def _place(view: _View, match: re.Match[bytes]) -> _Place:
    at = match.start()
    head = view.lower[max(0, at - 64) : at]
    start = at - len(head) + len(head.rstrip(_NAME_CHARACTERS))
    escaped = view.lower[start - 1 : start + 1] in (b"\\n", b"\\r", b"\\t") and start < at + 1
    if escaped:
        start += 1
    line = view.lower[max(0, at - 200) : start]
    before = line.rpartition(b"\n")
    line_start = escaped or ((bool(before[1]) or at <= 200) and before[2].strip() in (b"", b"export", b"set", b"env"))
    name = view.exact[start : match.start("close")]
    left = view.lower[start - 1 : start] if start else b""
    return _Place(view.lower[start:at], start, left, line_start, name.isupper(), match["sep"])


def _separated(view: _View, place: _Place, rule: _Name, quoted: re.Match[bytes] | None) -> bool:
    """False when what stands between name and text does not make the text the name's value."""
    if place.sep == b">":
        return place.left == b"<"
    if place.sep.strip():
        return True
    if place.prefix.startswith(b"--"):
        return True
    if rule.judge != "password":
        return False
    if quoted:
        return place.upper and quoted["end"] is not None
    return re.search(rb"login[ \t]+\S{1,80}[ \t]+\Z", view.lower[max(0, place.start - 120) : place.start]) is not None


# --- values --------------------------------------------------------------------------------------------------------

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*(?:(?:\.|->|::|\?\.)\w+)*[!?;,.:]*")
_PIECES = re.compile(r"[^\W_]+")
_HUMPS = re.compile(r"[^\W\d_a-z]+(?![a-z])|[^\W\d_a-z]?[a-z]+|\d+")
_LONG = 256  # no name and no path is as long; it also bounds what is spent on values that are no secrets
_SYMBOLS = frozenset("$!@=+%^#~*&")


def _judge(judge: str, value: str, sure: bool = False, quoted: bool = False, loose: bool = False) -> bool:
    """True when the value of a key name is a secret.

    Args:
        judge: "any", "header", "password" or "random".
        value: what stands there.
        sure: it is certainly a value (quoted, in a .env line, in a query), so it need not look like one.
        quoted: it stood in quotes.
        loose: words with spaces are fine.
    """
    rules = _rules()
    if "[REDACTED" in value or rules.harmless_start.match(value) or rules.harmless.fullmatch(value):
        return False
    if not any(map(str.isalnum, value)):
        return False
    if judge == "any":
        return True
    if judge == "header":
        return _coded(value)
    if any(map(str.isspace, value)):
        return judge == "password" and (loose or any(_mixed(word) for word in value.split()))
    if value[0] in "/~." and not _random(value):  # a path
        return False
    if judge == "password":
        return sure or _like_a_password(value)
    return _random(value) or (
        sure and not quoted and len(value) >= 8 and not (_IDENTIFIER.fullmatch(value) and "." in value)
    )


def _like_a_password(value: str) -> bool:
    if value.isdigit():
        return len(value) >= 4
    if _IDENTIFIER.fullmatch(value):
        return _mixed(value) and len(value) >= 5 and "." not in value
    return True


def _mixed(word: str) -> bool:
    return any(map(str.isdigit, word)) and any(map(str.isalpha, word))


def _same_word(value: str) -> bool:
    """`password=password`, `password=db_pass`: a variable handed on."""
    return re.search(r"pass|pwd|pw\b|secret|token|key", value, re.IGNORECASE) is not None or "." in value


def _coded(value: str) -> bool:
    """True for what follows "Bearer" or "Basic" unless it is a plain word or a placeholder."""
    if len(value) >= 20 or any(map(str.isdigit, value)) or not value.replace("_", "").isalpha():
        return True
    return not (value.islower() or value.isupper() or value.istitle())


def _random(value: str) -> bool:
    """True for what nobody would choose as a word: `identifier_like` and `k8s` are words, `x8Kq0...` is not."""
    if len(value) < 8:
        return False
    if any(not _wordy(piece) for piece in _PIECES.findall(value)):
        return True
    return any(map(str.isdigit, value)) and not _SYMBOLS.isdisjoint(value[:-1])


def _wordy(piece: str) -> bool:
    humps = _HUMPS.findall(piece)
    if not humps:
        return True
    digits = [hump for hump in humps if hump.isdigit()]
    if len(digits) > 1 and len(piece) >= 8:
        return False
    longest = max(map(len, humps))
    return longest < 20 and len(piece) >= 2.2 * len(humps) - 2 and all(len(number) <= 4 for number in digits)
