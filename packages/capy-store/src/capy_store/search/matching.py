"""Where a word stands in a text, by the same rules as the index: stems, and words inside camelCase names."""

from __future__ import annotations

import re
from functools import cache
from unicodedata import category, normalize

from capy_core.porter import stem

Place = tuple[int, int]  # start and end in the text

_ACCENTED = re.compile("[\u00c0-\u024f\u0370-\u052f\u1e00-\u1fff]")
_TOKEN = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])[0-9]*")
_MOST_PROBES = 64


class Form:
    """One way to write something that is looked for: a word, met in all its inflections, or a text, met verbatim.

    Args:
        text: lower case.
        weight: how much meeting it counts, 1 for what was asked itself.
        verbatim: met as it stands at the start of a word, however that goes on; so is all that is no plain word.
        anywhere: met as it stands inside words too (parts of names, scripts without spaces).

    A text in lower case that does not hold `prefix` does not hold the form.
    """

    __slots__ = ("_anywhere", "_stem", "_verbatim", "_verdicts", "prefix", "text", "weight")

    def __init__(self, text: str, weight: float = 1.0, *, verbatim: bool = False, anywhere: bool = False) -> None:
        self.text = text = _plain(text)
        self.weight = weight
        self._verbatim = verbatim or anywhere or not _TOKEN.fullmatch(text)
        self._anywhere = anywhere or not text[:1].isalnum()
        self._stem = stem(text)
        self.prefix = text if self._verbatim else _prefix(text, self._stem)
        self._verdicts: dict[str, bool] = {}

    def places(self, text: str, low: str, most: int, probes: int = _MOST_PROBES) -> list[Place]:
        """Its first `most` places. `low`: the text as `lowered` gives it; `probes`: how often to look, at most."""
        found: list[Place] = []
        prefix, find = self.prefix, low.find
        length = len(prefix)
        at = find(prefix)
        stop = len(low)
        is_word = prefix == self.text
        while at >= 0 and probes:
            end = at + length
            if self._anywhere or at == 0 or not low[at - 1].isalnum() or _is_hump(text, at):
                if not self._verbatim and not (is_word and (end == stop or not low[end].isalnum())):
                    end = self._end(text, low, at, end)
                if end:
                    found.append((at, end))
                    if len(found) == most:
                        break
            probes -= 1
            at = find(prefix, at + length)
        return found

    def _end(self, text: str, low: str, at: int, end: int) -> int:
        """Where the word ends that starts at `at` and has the prefix up to `end`; 0 if it is another word."""
        stop = len(low)
        while end < stop and low[end].isalnum():
            end += 1
        token = low[at:end]
        verdict = self._verdicts.get(token)
        if verdict is None:
            verdict = self._verdicts[token] = stem(token) == self._stem
        if verdict:
            return end
        original = text[at:end]
        if original == token or original[1:].islower():
            return 0
        hump = _HUMP.match(original)
        return at + hump.end() if hump and stem(hump[0].lower()) == self._stem else 0


def lowered(text: str) -> str:
    """`text` in lower case and without diacritics, as the index has it; each character still at its place."""
    low = text.lower()
    if low.isascii():
        return low
    if len(low) != len(text):
        low = "".join(char.lower() if len(char.lower()) == 1 else char for char in text)
    return low.translate(_bases()) if _ACCENTED.search(low) else low


def _prefix(word: str, stem_: str) -> str:
    """What all forms of a word begin with: Porter may have changed or added a last letter."""
    prefix = stem_
    while not word.startswith(prefix):
        prefix = prefix[:-1]
    if len(prefix) > 3 and prefix == stem_ and prefix[-1] in "ei":
        prefix = prefix[:-1]
    return prefix


def _is_hump(text: str, at: int) -> bool:
    return text[at].isupper() and text[at - 1].islower()


def _plain(text: str) -> str:
    return text if text.isascii() else text.translate(_bases())


@cache
def _bases() -> dict[int, int]:
    """Letters with a diacritic, Latin, Greek and Cyrillic -> those without."""
    codes = [*range(0x00C0, 0x0250), *range(0x0370, 0x0530), *range(0x1E00, 0x2000)]
    forms = {code: normalize("NFD", chr(code)) for code in codes}
    return {code: ord(form[0]) for code, form in forms.items() if len(form) > 1 and category(form[1]) == "Mn"}
