"""Does a value look like a secret? What stands beside a key name may as well be a type, a reference, code or prose."""

from __future__ import annotations

import re

from .secret_rules import rules

LONG = 256  # no name and no path is as long; it also bounds what is spent on values that are no secrets

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*(?:(?:\.|->|::|\?\.)\w+)*[!?;,.:]*")
_PIECES = re.compile(r"[^\W_]+")
_HUMPS = re.compile(r"[^\W\d_a-z]+(?![a-z])|[^\W\d_a-z]?[a-z]+|\d+")
_CODED = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[A-Za-z0-9/+=_-]{24,}", re.DOTALL)
_HANDED_ON = re.compile(r"pass|pwd|pw\b|secret|token|key|\.", re.IGNORECASE)
_PUNCTUATION = "!?;,.:|)*]"
_SYMBOLS = frozenset("$!@=+%^#~*&")


def is_secret(judge: str, value: str, sure: bool = False, quoted: bool = False, loose: bool = False) -> bool:
    """True when the value of a key name is a secret.

    Args:
        judge: "any", "header", "password" or "random" (see redaction.toml).
        value: what stands there, not empty.
        sure: it stands where only a value can stand (quoted, in a .env line, in a query).
        quoted: it stood in quotes.
        loose: such a name's value may be any words.
    """
    if "[REDACTED" in value or _is_harmless(value, sure) or not any(map(str.isalnum, value)):
        return False
    if judge == "any" or (loose and sure):
        return True
    if judge == "header":
        return _is_coded(value)
    if any(map(str.isspace, value)):
        return judge == "password" and any(is_mixed(word) for word in value.split())
    if value[0] in "/~." and not _is_random(value):  # a path
        return False
    if judge == "password":
        return sure or _is_like_a_password(value)
    return _is_random(value) or (sure and not quoted and _is_setting(value))


def is_mixed(word: str) -> bool:
    """True when there are letters and digits in it."""
    return any(map(str.isdigit, word)) and any(map(str.isalpha, word))


def is_word(value: str) -> bool:
    """True for `swordfish` and `sword-fish`; a type would not be in small letters."""
    return len(value) > 3 and value.islower() and value.replace("-", "").replace("_", "").isalpha()


def handed_on(value: str) -> bool:
    """True for a variable handed on: `password=db_pass`, `password=settings.x`."""
    return _HANDED_ON.search(value) is not None


def _is_harmless(value: str, sure: bool) -> bool:
    known = rules()
    if value.rstrip(_PUNCTUATION).lower() in known.words:
        return True
    if known.harmless_start.match(value) or known.harmless.fullmatch(value):
        return True
    return not sure and known.harmless_bare.fullmatch(value) is not None


def _is_like_a_password(value: str) -> bool:
    if value.isdigit():
        return len(value) >= 4
    if _IDENTIFIER.fullmatch(value):
        return is_mixed(value) and len(value) >= 5 and "." not in value
    return any(map(str.isdigit, value)) or not _SYMBOLS.isdisjoint(value)


def _is_setting(value: str) -> bool:
    """True for what may be a secret in a .env file although it is a word."""
    return len(value) >= 8 and not (_IDENTIFIER.fullmatch(value) and "." in value)


def _is_coded(value: str) -> bool:
    """True for what follows "Bearer" or "Basic" unless it is a plain word or a placeholder."""
    if len(value) >= 20 or any(map(str.isdigit, value)) or not value.replace("_", "").isalpha():
        return True
    return not (value.islower() or value.isupper() or value.istitle())


def _is_random(value: str) -> bool:
    """True for what nobody would choose as a word: `identifier_like` and `k8s` are words, `x8Kq0...` is not."""
    if len(value) < 8:
        return False
    if len(value) > LONG or _CODED.fullmatch(value) or any(not _is_wordy(piece) for piece in _PIECES.findall(value)):
        return True
    return any(map(str.isdigit, value)) and not _SYMBOLS.isdisjoint(value[:-1])


def _is_wordy(piece: str) -> bool:
    """True for words and camel case with a number of up to four digits; False for what has many changes of case."""
    humps = _HUMPS.findall(piece)
    if not humps or len(piece) <= 3:
        return True
    numbers = [hump for hump in humps if hump.isdigit()]
    if len(numbers) > 1 and len(piece) >= 8:
        return False
    few_changes = len(piece) >= 2.2 * len(humps) - 2
    return few_changes and max(map(len, humps)) < 20 and all(len(number) <= 4 for number in numbers)
