"""Find the secrets in a text: blocks, tokens, phrases, values of key names.

How it stays linear and fast. The text is looked at as bytes, one a character (what is not Latin-1 becomes "?"), so that
positions agree with the text's own. Cheap literal searches find *anchors*: words such as "password" in the
lower-cased text, and long runs of letters and digits, in which tokens live. Only at an anchor is a pattern tried.

What is decided at an anchor depends on nothing but the CONTEXT characters before it and the LOOKAHEAD characters after
it, or the rest of its line if that is shorter (a block: BLOCK characters).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile
from typing import NamedTuple

from .secret_rules import QUOTE, Name, compiled, rules
from .secret_values import LONG, handed_on, is_mixed, is_secret, is_word

MARKER = "[REDACTED_SECRET]"
PRIVATE_MARKER = "[REDACTED]"

BLOCK = 262_144
"""Longest private-key or <private> block that is seen as one, in characters; also the most a stream holds back."""

LOOKAHEAD = 16_384
CONTEXT = 256
RUN = 20

Span = tuple[int, int, str]
"""Start and end of what is replaced, and the marker."""


class View:
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


class Progress:
    """What the scan of a text's beginning leaves for the scan of the rest."""

    def __init__(self) -> None:
        self.resume = [0] * rules().size
        """For each search: where its last secret ended; anchors before that are part of it."""
        self.unclosed = 0
        """No <private> block ends before this."""

    def shift(self, cut: int) -> None:
        """The first `cut` characters are gone."""
        self.resume = [max(0, position - cut) for position in self.resume]
        self.unclosed = max(0, self.unclosed - cut)


def scan(view: View, start: int, end: int, final: bool, progress: Progress) -> tuple[list[Span], int]:
    """The secrets that start in [start, end), in no order, and where an open block makes it stop (else `end`).

    Args:
        view: the text, with CONTEXT characters before `start` if there are any.
        start: first place to look at.
        end: last place to look at; unless `final`, a newline or LOOKAHEAD characters lie between it and the text's end.
        final: the text is complete.
        progress: of the scan up to `start`; changed to that up to the returned end.
    """
    found, end = _keys(view, start, end, final)
    private, end = _private(view, start, end, final, progress)
    found += private
    found += _tokens(view, start, end, progress.resume)
    found += _phrases(view, start, end, progress.resume)
    found += _names(view, start, end, progress.resume)
    return found, end


def merged(found: list[Span]) -> list[Span]:
    """Spans in order, those that overlap made one; a private block's marker wins."""
    result: list[Span] = []
    for start, end, marker in sorted(found):
        if result and start < result[-1][1]:
            first, last, kept = result[-1]
            result[-1] = (first, max(last, end), PRIVATE_MARKER if PRIVATE_MARKER in (kept, marker) else kept)
        else:
            result.append((start, end, marker))
    return result


# --- blocks

_OPEN, _CLOSE = b"<private>", b"</private>"
_KEY_BEGIN = rb"-----begin [a-z0-9 ]{0,40}private key(?: block)?-----"
_KEY_END = rb"-----end [a-z0-9 ]{0,40}private key(?: block)?-----"
_KEY_BODY = rb"""[\w+/=\s\\"'`,:.|>#*]*+(?:-(?!----)[\w+/=\s\\"'`,:.|>#*]*+)*+"""
_GAP = rb"""(?:\s|\\{1,8}[nr]|["'`+,>|#*\\]){0,16}+"""
_KEY_LINES = (  # a key without its end: long lines of base64, and a short last one
    rb"(?:" + _GAP + rb"(?:(?:proc-type|dek-info|version|comment|hash): [^\r\n\\]{0,99}|[a-z0-9+/=]{16,}+))++"
    rb"(?:" + _GAP + rb"""(?=[a-z+/]{0,15}[0-9+/=])[a-z0-9+/=]{1,15}(?=[\s\\"'`]|\Z))?"""
)


def _keys(view: View, start: int, end: int, final: bool) -> tuple[list[Span], int]:
    """Private keys in PEM dress, whatever their line ends became; the lines BEGIN and END stay."""
    found: list[Span] = []
    size = len(view.lower)
    for begin in compiled(_KEY_BEGIN).finditer(view.lower, start, min(size, end + 80)):
        if begin.start() >= end:
            break
        head, limit = begin.end(), begin.end() + BLOCK
        body = compiled(_KEY_BODY).match(view.lower, head, limit)
        stop = body.end() if body else head
        if not final and size < stop + 80 and size < limit + 80:
            return found, begin.start()
        if not compiled(_KEY_END).match(view.lower, stop):
            lines = compiled(_KEY_LINES).match(view.lower, head, limit)
            found += [(head, lines.end(), MARKER)] if lines else []
        elif _holds_key(view.exact[head:stop]):
            found.append((head, stop, MARKER))
    return found, end


def _holds_key(body: bytes) -> bool:
    """True for base64, False for words between a mention of BEGIN and one of END."""
    long_piece = re.search(rb"[A-Za-z0-9+/=]{16}", body)
    return bool(long_piece or (re.search(rb"[A-Za-z0-9]", body) and not re.search(rb"\s", body.strip())))


def _private(view: View, start: int, end: int, final: bool, progress: Progress) -> tuple[list[Span], int]:
    found: list[Span] = []
    size, last = len(view.lower), end + len(_OPEN) - 1
    at = view.lower.find(_OPEN, start, last)
    while at >= 0:
        limit = at + BLOCK
        close = view.lower.find(_CLOSE, max(at, progress.unclosed), limit)
        if close >= 0:
            found.append((at, close + len(_CLOSE), PRIVATE_MARKER))
            at = close
        else:
            progress.unclosed = max(progress.unclosed, min(size, limit) - len(_CLOSE) + 1)
            if not final and size < limit:
                return found, at
        at = view.lower.find(_OPEN, at + 1, last)
    return found, end


# --- tokens

_WORD = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
_IN_RUN = bytes(b"w"[0] if byte in _WORD else b" "[0] for byte in range(256))
_A_RUN = b"w" * RUN
_LONGEST_START = 28


def _tokens(view: View, start: int, end: int, resume: list[int]) -> Iterator[Span]:
    exact, runs = view.exact, view.exact.translate(_IN_RUN)
    find, find_cue = runs.find, rules().token_cue.search
    run = find(_A_RUN, max(0, start - RUN + 1))
    while 0 <= run < end + RUN:
        stop = find(b" ", run + RUN)
        if stop < 0:
            stop = len(runs)
        at = run - _LONGEST_START
        if at < start:
            at = start
        if find_cue(exact, at, stop + 1):
            yield from _tokens_in(view, at, stop, end, resume)
        run = find(_A_RUN, stop)


def _tokens_in(view: View, at: int, stop: int, end: int, resume: list[int]) -> Iterator[Span]:
    """The tokens that start in and just before one run, which ends at `stop`."""
    at, last = max(at, resume[-1]), min(stop, end)
    while at < last and (cue := rules().token_cue.search(view.exact, at, stop + 1)):
        token = _token(view, at, last, cue.end())
        if token:
            yield *token, MARKER
            resume[-1] = at = token[1]
        else:
            at = cue.start() + 1


def _token(view: View, first: int, last: int, end: int) -> tuple[int, int] | None:
    """The token that starts in [first, last), with a start that ends at `end`."""
    known, exact = rules(), view.exact
    starts = [*known.token_starts.get(exact[end - 3 : end], ()), *known.token_starts.get(exact[end - 2 : end], ())]
    places = [(end - len(start), kind) for start, kind in starts if exact.startswith(start, end - len(start))]
    for pattern, kind in known.token_likes if not starts else ():
        like = compiled(pattern).search(exact, max(first, end - _LONGEST_START), end)
        places += [(like.start(), kind)] if like else []
    for at, kind in places:
        if first <= at < last and (token := compiled(known.tokens[kind]).match(exact, at)):
            return None if view.beside_marker(*token.span()) else token.span(token.lastindex or 0)
    return None


# --- phrases


def _phrases(view: View, start: int, end: int, resume: list[int]) -> Iterator[Span]:
    for index, rule in enumerate(rules().phrases):
        for match in _matches(view, rule.anchor, rule.pattern, start, end):
            first, last = match.span(match.lastindex or 0)
            if match.start() < resume[index] or view.beside_marker(match.start(), last):
                continue
            judge = "random" if match.groupdict().get("scheme", "") is None else rule.judge
            if is_secret(judge, view.text[first:last]):
                yield first, last, MARKER
                resume[index] = last


def _matches(view: View, anchor: bytes, pattern: bytes, start: int, end: int) -> Iterator[re.Match[bytes]]:
    """What a pattern matches at its anchors in [start, end).

    `bytes.find` finds a rare word twice as fast as `re` does, but a sign as frequent as ":" is better left to `re`.
    """
    lower = view.lower
    limit = end + len(anchor) - 1
    if len(anchor) == 1:
        found = compiled(pattern).finditer(lower, start, min(len(lower), end + LOOKAHEAD))
        yield from takewhile(lambda match: match.start() < end, found)
        return
    at = lower.find(anchor, start, limit)
    while at >= 0:
        match = compiled(pattern).match(lower, at)
        if match:
            yield match
        at = lower.find(anchor, at + 1, limit)


# --- names and their values

_NAME_CHARACTERS = b"abcdefghijklmnopqrstuvwxyz0123456789_.-"
_QUOTED = (
    rb"[bfruxBFRUX]{0,2}(?P<quote>" + QUOTE + rb")"
    rb"""(?P<value>(?:(?!(?P=quote))(?:\\{3}["'`]|\\.|[^\\\r\n])){1,3500}+)(?P<end>(?P=quote))?"""
)
_BARE = rb"""(?:[^\s"'`\\,;&)\]}<>]|\\(?![nrtu"'`\\/]))(?:[^\s"'`\\,;&)\]}<]|\\(?![nrtu"'`\\/])){0,8000}+"""
_WORD_OF_LINE = (  # as in a .env file: most signs belong to the value
    rb"""(?:[^\s"'`\\,;&)\]}<]|\\(?![nrtu"'`\\/])"""
    rb"""|["'`,;&)\]}<](?![\s"'`,;)\]}/\\]|\Z|[\w.-]{1,40}[=:])){1,8000}+"""
)
_REST_OF_LINE = rb"(?:[^\\\r\n]|\\(?![nrtu])){1,8000}+"
_LINE_END = rb"[ \t]*(?:\r?\n|\\[nr]|\Z)"
_NEXT_PAIR = rb"&|;[ ]?[\w ]{1,40}=|[ ]\w{1,40}=[^=\s]"
_LOGIN = rb"(?:login[ \t]+\S{1,80}|\benv)[ \t]+\Z"  # in a .netrc, in a Dockerfile


class _Place(NamedTuple):
    """Where a key name stands."""

    name: bytes
    """The whole word, lower case, `prefix` and all."""
    prefix: bytes
    """Its part to the left of the anchor."""
    start: int
    left: bytes
    """The byte before it, or b""."""
    line_start: bool
    upper: bool
    sep: bytes
    """What stands between name and value, without spaces around it."""
    spaced: bool
    """There were spaces around it."""


class _Value(NamedTuple):
    start: int
    end: int
    text: str
    quoted: bool
    sure: bool
    """It stands where only a value can stand, so that it need not look like one."""


def _names(view: View, start: int, end: int, resume: list[int]) -> Iterator[Span]:
    starts_harmless = rules().harmless_start.match
    for index, rule in enumerate(rules().names, len(rules().phrases)):
        for match in _matches(view, rule.anchor, rule.pattern, start, end):
            if match.start() < resume[index] or starts_harmless(view.text, match.end()):
                continue
            value = _named_value(view, rule, match)
            if value:
                yield value.start, value.end, MARKER
                resume[index] = value.end


def _named_value(view: View, rule: Name, match: re.Match[bytes]) -> _Value | None:
    """The secret that follows a key name, or None."""
    place = _place(view, match)
    if not place.sep and rule.judge != "password" and not place.prefix.startswith(b"--"):
        return None
    if rule.before and not compiled(rule.before).search(place.prefix):
        return None
    if rule.not_before and compiled(rule.not_before).search(place.prefix):
        return None
    loose = rule.loose is not None and compiled(rule.loose).search(place.name) is not None
    value = _quoted_value(view, match.end()) or _bare_value(view, place, rule.judge, loose, match.end())
    if not value or not _separated(view, place, value) or view.beside_marker(place.start, value.end):
        return None
    if _says_its_name(place, value):
        return None
    return value if is_secret(rule.judge, value.text, value.sure, value.quoted, loose) else None


def _place(view: View, match: re.Match[bytes]) -> _Place:
    at, lower = match.start(), view.lower
    head = lower[max(0, at - 64) : at]
    start = at - len(head) + len(head.rstrip(_NAME_CHARACTERS))
    escaped = start < at and lower[max(0, start - 1) : start + 1] in (b"\\n", b"\\r", b"\\t")
    start += escaped
    _, newline, line = lower[max(0, at - 200) : start].rpartition(b"\n")
    at_edge = bool(newline) or at <= 200
    return _Place(
        name=lower[start : match.start("close")],
        prefix=lower[start:at],
        start=start,
        left=lower[start - 1 : start] if start else b"",
        line_start=escaped or (at_edge and line.strip() in (b"", b"-", b"export", b"set", b"env")),
        upper=view.exact[start : match.start("close")].isupper(),
        sep=match["sep"].strip(),
        spaced=match["sep"] != match["sep"].strip(),
    )


def _quoted_value(view: View, at: int) -> _Value | None:
    quoted = compiled(_QUOTED).match(view.exact, at)
    if not quoted:
        return None
    start, end = quoted.span("value")
    text = view.text[start:end]
    if quoted["end"] or not any(map(str.isspace, text)):
        return _Value(start, end, text, quoted=True, sure=True)
    word = "" if text[0].isspace() else text.split(None, 1)[0]  # cut off: who knows what else is on the line
    return _Value(start, start + len(word), word, quoted=True, sure=False)


def _bare_value(view: View, place: _Place, judge: str, loose: bool, at: int) -> _Value | None:
    setting = place.sep == b"=" and not place.spaced and (place.upper or place.line_start)
    if setting and loose and place.upper and place.line_start:
        pattern = _REST_OF_LINE
    else:
        pattern = _WORD_OF_LINE if setting else _BARE
    bare = compiled(pattern).match(view.exact, at)
    if not bare:
        return None
    start, end = bare.span()
    text = view.text[start:end]
    alone = place.line_start and compiled(_LINE_END).match(view.exact, end) is not None
    sure = (
        (setting and (place.upper or (alone and not handed_on(text))))
        or place.left in (b"?", b"&", b";")
        or place.sep == b">"
        or len(text) > LONG
        or (not place.spaced and compiled(_NEXT_PAIR).match(view.exact, end) is not None)
        or (judge == "password" and alone and place.sep == b":" and is_word(text) and not handed_on(text))  # YAML
    )
    return _Value(start, end, text, quoted=False, sure=sure)


def _separated(view: View, place: _Place, value: _Value) -> bool:
    """False when what stands between name and text does not make the text the name's value."""
    if place.sep == b">":
        return place.left == b"<" and view.exact.startswith(b"</", value.end)
    if place.left == b":" and view.exact.startswith(b"::", place.start - 2):  # the name of a type
        return False
    if place.sep.startswith(b"is"):
        return not value.quoted and value.text.isalnum() and is_mixed(value.text)
    if place.sep or place.prefix.startswith(b"--"):
        return True
    if value.quoted:
        return place.upper and value.sure
    return compiled(_LOGIN).search(view.lower, max(0, place.start - 120), place.start) is not None


def _says_its_name(place: _Place, value: _Value) -> bool:
    """`session_auth=session_auth`, `PrivateKey = testPrivateKey`, `pass=12`: handed on, or a count."""
    if place.name.endswith(b"pass") and value.text.isdigit():
        return True
    said, name = _letters(value.text.lower()), _letters(place.name.rpartition(b".")[2].decode("latin-1"))
    return said == name or (not value.quoted and said.endswith(name))


def _letters(word: str) -> str:
    return word.replace("_", "").replace("-", "").replace(".", "")
