"""Where a word stands in a text, by the same rules as the index: stems, and words inside camelCase names."""

from __future__ import annotations

import re
from unicodedata import category, normalize

from capy_core.porter import stem

Place = tuple[int, int]  # start and end in the text

_TOKEN = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])[0-9]*")
_MOST_PROBES = 64


class Form:
    """One way to write something that is looked for: a word, met in all its inflections, or a phrase, met verbatim.

    Args:
        text: lower case.
        weight: how much meeting it counts, 1 for what was asked itself.
        anywhere: met inside words too (parts of names, scripts without spaces).

    A text in lower case that does not hold `prefix` does not hold the form.
    """

    __slots__ = ("_anywhere", "_stem", "_verbatim", "_verdicts", "prefix", "text", "weight")

    def __init__(self, text: str, weight: float = 1.0, *, anywhere: bool = False) -> None:
        self.text = text
        self.weight = weight
        self._verbatim = anywhere or not _TOKEN.fullmatch(text)
        self._anywhere = anywhere or not text[:1].isalnum()
        self._stem = stem(text)
        self.prefix = text if self._verbatim else _prefix(text, self._stem)
        self._verdicts: dict[str, bool] = {}

    def places(self, text: str, low: str, most: int) -> list[Place]:
        """Its first `most` places. `low`: the text as `lowered` gives it."""
        found: list[Place] = []
        prefix, find = self.prefix, low.find
        length = len(prefix)
        at = find(prefix)
        probes = _MOST_PROBES
        while at >= 0 and probes:
            end = at + length
            if self._anywhere or at == 0 or not low[at - 1].isalnum() or _is_hump(text, at):
                if not self._verbatim:
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
            verdict = self._verdicts[token] = stem(_plain(token)) == self._stem
        if verdict:
            return end
        original = text[at:end]
        if original == token or original[1:].islower():
            return 0
        hump = _HUMP.match(original)
        return at + hump.end() if hump and stem(hump[0].lower()) == self._stem else 0


def lowered(text: str) -> str:
    """`text` in lower case, each character still at its place."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


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


def _plain(token: str) -> str:
    """Without diacritics, as `remove_diacritics 2` indexes it."""
    if token.isascii():
        return token
    return "".join(c for c in normalize("NFD", token) if category(c) != "Mn")
