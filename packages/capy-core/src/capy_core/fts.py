"""Text for FTS5, the same on the way in and on the way out: the store and the vault index and query through this.

The `unicode61` tokenizer splits at everything that is neither a letter nor a digit. It leaves two kinds of text
unfindable: the words inside `camelCase`, and scripts written without spaces, where a whole sentence is one token.
So an index has two more columns, made here: the parts of identifiers, and the character pairs of such scripts.
"""

from __future__ import annotations

import re

# Scripts whose words are not (or, Hangul, not usefully) separated by spaces. ASCII escapes: the ranges stay readable.
_UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Myanmar, Khmer
    "\u1100-\u11ff\u3130-\u318f\uac00-\ud7ff"  # Hangul
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # kana and iteration marks
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Han
)
_RUN = re.compile(f"[{_UNSPACED}]+")
# a letter, lower case, then a capital or an underscore; possessive, so that plain words fail in one pass
_IDENTIFIER = re.compile(r"\b_*[A-Za-z][a-z0-9]*+[A-Z_][A-Za-z0-9_]*+\b", re.ASCII)
_HUMP = re.compile(r"[a-z0-9][A-Z]|[A-Z][A-Z][a-z]|[A-Za-z0-9]_[A-Za-z]", re.ASCII)
_PART = re.compile(r"[A-Z]+s?(?![a-z])[0-9]*|[A-Z]?[a-z]+[0-9]*|[0-9]+", re.ASCII)


def quoted(term: str) -> str:
    """`term` as an FTS5 string: whatever it holds, it is never read as query syntax."""
    return '"' + term.replace('"', '""').replace("\x00", " ") + '"'


def identifier_parts(text: str) -> str:
    """The words inside camelCase and snake_case identifiers, lower case, each identifier once: for the `part` column.

    `renewAccessTicket` gives `renew access ticket`. Runs of 65 and more characters are no identifiers (hashes, base64).
    """
    found = dict.fromkeys(_IDENTIFIER.findall(text))
    return " ".join([part for name in found if len(name) <= 64 for part in split_identifier(name)])


def split_identifier(name: str) -> list[str]:
    """The lower-case words of one ASCII identifier; [] when it has only one."""
    parts = _PART.findall(name) if _HUMP.search(name) else []
    return [part.lower() for part in parts] if len(parts) > 1 else []


def cjk_bigrams(text: str) -> str:
    """Each character of an unspaced script with the one after it, the last of a run alone: for the `cjk` column.

    A query of two and more characters matches as its pairs (`query_bigrams`), one character as a prefix. Combining
    marks, which `unicode61` would drop, become private-use characters. "" for ASCII text.
    """
    if text.isascii():
        return ""
    return " ".join([run[i : i + 2] for run in _runs(text) for i in range(len(run))])


def query_bigrams(text: str) -> list[str]:
    """The character pairs of a query's unspaced runs, each once, in order; a run of one character is that character."""
    if text.isascii():
        return []
    return list(dict.fromkeys(run[i : i + 2] for run in _runs(text) for i in range(max(1, len(run) - 1))))


def blank_cjk(text: str) -> str:
    """`text` with unspaced runs as one space, so that `cfgd` in `修复cfgd后` is a word of its own: for title and body.

    Compatibility forms (full-width letters, ligatures) are folded. ASCII text comes back as it is.
    """
    return text if text.isascii() else _RUN.sub(" ", _folded(text))


def _runs(text: str) -> list[str]:
    return [run.translate(_marks()) for run in _RUN.findall(_folded(text))]


def _folded(text: str) -> str:
    import unicodedata

    return unicodedata.normalize("NFKC", text)


_MARKS: dict[int, int] = {}


def _marks() -> dict[int, int]:
    """Vowel signs and tone marks (Unicode category M) of the South-East Asian scripts -> private-use characters.

    0xE000 + code point lies in U+EE00..U+F7FF, which `unicode61` takes as token characters.
    """
    if not _MARKS:
        import unicodedata

        codes = [*range(0x0E00, 0x0F00), *range(0x1000, 0x10A0), *range(0x1780, 0x1800)]
        _MARKS.update({code: 0xE000 + code for code in codes if unicodedata.category(chr(code)).startswith("M")})
    return _MARKS
