"""redaction.toml, read once, when the first text comes."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

RULES_FILE = Path(__file__).with_name("redaction.toml")

RULES_VERSION: str = hashlib.sha256(RULES_FILE.read_bytes()).hexdigest()[:12]
"""Changes whenever the rules do; kept beside documents so that they are indexed anew."""

QUOTE = rb"""\\{0,7}["'`]"""  # JSON within JSON within JSON escapes a quote seven times

_LEFT = rb"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"  # nothing glued to the left, but for the letter of an escaped \n
_AFTER_NAME = (
    rb"(?P<close>(?:" + QUOTE + rb")?[\])*]{0,3}(?:\[\d{0,5}\])?)(?P<sep>"
    # a type between name and value: `password: str = "x"`, `var password string = "x"`
    rb"[ \t]{0,4}(?::[ \t]{0,4}[&a-z_][\w.\[\] |&?<>*]{0,48}?|[ \t](?:string|str)[ \t]{0,4})="
    rb"(?=[ \t]{0,4}[bfrux]{0,2}" + QUOTE + rb")[ \t]{0,4}"
    rb"|[ \t]{0,8}(?:=>|:=|[:=])(?![=~>:])\*{0,2}[ \t]{0,8}"
    rb"|>"  # <password>x</password>
    rb"|[ \t]{1,4}value=(?=" + QUOTE + rb")"  # name="password" value="x"
    rb"|[ \t]{1,2}is(?:[ \t]?:)?[ \t]{1,4}"
    rb"|[ \t]{1,8}(?=\S))"
)


class Phrase(NamedTuple):
    """A pattern for lower-cased text that begins with the literal `anchor`; its last group is the secret."""

    anchor: bytes
    pattern: bytes
    judge: str


class Name(NamedTuple):
    """A key name with what must, must not, and may stand to the left of its anchor."""

    anchor: bytes
    pattern: bytes
    before: bytes | None
    not_before: bytes | None
    loose: bytes | None
    judge: str


class Rules(NamedTuple):
    """All rules. Patterns are compiled when they are first needed (`compiled`)."""

    token_cue: re.Pattern[bytes]
    """Its match ends where the start of a token ends."""
    token_starts: dict[bytes, list[tuple[bytes, int]]]
    """Last two or three characters of a start -> starts that end so, longest first, and their kinds."""
    token_likes: list[tuple[bytes, int]]
    """Patterns of the other starts, and their kinds."""
    tokens: list[bytes]
    """Pattern by kind."""
    phrases: list[Phrase]
    names: list[Name]
    harmless_start: re.Pattern[str]
    harmless: re.Pattern[str]
    harmless_bare: re.Pattern[str]
    words: frozenset[str]

    @property
    def size(self) -> int:
        """How many searches go over a text, each with a place of its own to go on from."""
        return len(self.phrases) + len(self.names) + 1


@cache
def rules() -> Rules:
    """The rules of redaction.toml."""
    import tomllib

    data = tomllib.loads(RULES_FILE.read_text(encoding="utf-8"))
    tokens, values = data["token"], data["values"]
    return Rules(
        token_cue=_cues(tokens),
        token_starts=_starts(tokens),
        token_likes=[(token["start_like"].encode(), kind) for kind, token in enumerate(tokens) if "cue" in token],
        tokens=[(_LEFT if token.get("word") else b"") + _group(token["regex"]) for token in tokens],
        phrases=[Phrase(each["anchor"].encode(), each["regex"].encode(), each["judge"]) for each in data["phrase"]],
        names=[_name(name) for name in data["name"]],
        harmless_start=_any_of(values["starts"]),
        harmless=_any_of(values["whole"]),
        harmless_bare=_any_of(values["bare"]),
        words=frozenset(values["words"]),
    )


@cache
def compiled(pattern: bytes) -> re.Pattern[bytes]:
    """A pattern, compiled when its anchor is met for the first time: most texts meet few, and all cost 30 ms."""
    return re.compile(pattern)


def _starts(tokens: list[dict[str, Any]]) -> dict[bytes, list[tuple[bytes, int]]]:
    starts = [(start.encode(), kind) for kind, token in enumerate(tokens) for start in token.get("start", [])]
    found: dict[bytes, list[tuple[bytes, int]]] = {}
    for start, kind in sorted(starts, key=lambda pair: -len(pair[0])):
        found.setdefault(start[-3:], []).append((start, kind))
    return found


def _cues(tokens: list[dict[str, Any]]) -> re.Pattern[bytes]:
    """Most starts end with _ or - or the like: rare characters, with which `re` finds its way several times as fast.

    So `ghp_` becomes `_(?<=hp_)`. No cue begins with a small letter.
    """
    tails: dict[str, set[str]] = {}
    others = [token["cue"] for token in tokens if "cue" in token]
    for start in (start for token in tokens for start in token.get("start", [])):
        if start[-1].isalnum():
            others.append(re.escape(start))
        else:
            tails.setdefault(start[-1], set()).add(re.escape(start[-3:]))
    cues = [f"{re.escape(last)}(?<={'|'.join(sorted(ends))})" for last, ends in sorted(tails.items())]
    return re.compile("|".join([*cues, *others]).encode())


def _any_of(patterns: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


def _name(rule: dict[str, Any]) -> Name:
    def at_the_end(key: str) -> bytes | None:
        return _group(rule[key]) + rb"\Z" if key in rule else None

    anchor = rule["anchor"].encode()
    pattern = anchor + rule["suffix"].encode() + _AFTER_NAME
    return Name(anchor, pattern, at_the_end("before"), at_the_end("not_before"), at_the_end("loose"), rule["judge"])


def _group(pattern: str) -> bytes:
    return b"(?:" + pattern.encode() + b")"
