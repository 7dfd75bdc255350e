"""The stemmer of FTS5's `porter` tokenizer, in Python: for ranking, highlighting and correcting what FTS5 found.

M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980, with the two changes of its author that
SQLite has too (`bli` and `logi` in step 2). Like SQLite's it leaves words under 3 and over 64 bytes alone.
"""

from __future__ import annotations

from functools import lru_cache

_VOWELS = "aeiou"
_STEP2 = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("logi", "log"),
    ("bli", "ble"), ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"),
    ("ation", "ate"), ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"),
    ("aliti", "al"), ("iviti", "ive"), ("biliti", "ble"),
)  # fmt: skip
_STEP3 = (("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""))
_STEP4 = ("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate",
          "iti", "ous", "ive", "ize")  # fmt: skip


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """The stem of a lower-case word: `scheduling` and `schedules` give `schedul`."""
    if not 3 <= len(word.encode("utf-8", "replace")) <= 64:
        return word
    word = _step1(word)
    word = _replaced(word, _STEP2, 0)
    word = _replaced(word, _STEP3, 0)
    word = _step4(word)
    return _step5(word)


def _step1(word: str) -> str:
    """Plurals, -ed, -ing, final y."""
    if word.endswith("s"):
        if word.endswith(("sses", "ies")):
            word = word[:-2]
        elif not word.endswith("ss"):
            word = word[:-1]
    if word.endswith("eed") and len(word) > 3:
        if _measure(word[:-3]) > 0:
            word = word[:-1]
    elif (cut := _without(word, ("ed", "ing"))) and _has_vowel(cut):
        word = _repaired(cut)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    return word


def _repaired(word: str) -> str:
    """What a cut -ed or -ing left behind: hop(p), hop(e), conflat(e)."""
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if len(word) > 1 and word[-1] == word[-2] and _consonant(word, len(word) - 1) and word[-1] not in "lsz":
        return word[:-1]
    if _measure(word) == 1 and _ends_cvc(word):
        return word + "e"
    return word


def _replaced(word: str, rules: tuple[tuple[str, str], ...], least: int) -> str:
    for suffix, new in rules:
        if word.endswith(suffix) and len(word) > len(suffix):
            cut = word[: -len(suffix)]
            return cut + new if _measure(cut) > least else word
    return word


def _step4(word: str) -> str:
    for suffix in _STEP4:
        if word.endswith(suffix) and len(word) > len(suffix):
            cut = word[: -len(suffix)]
            if _measure(cut) > 1 and (suffix != "ion" or cut[-1] in "st"):
                return cut
            return word
    return word


def _step5(word: str) -> str:
    if word.endswith("e"):
        cut = word[:-1]
        if _measure(cut) > 1 or (_measure(cut) == 1 and not _ends_cvc(cut)):
            word = cut
    if word.endswith("ll") and _measure(word[:-1]) > 1:
        word = word[:-1]
    return word


def _without(word: str, suffixes: tuple[str, ...]) -> str:
    for suffix in suffixes:
        if word.endswith(suffix):
            return word[: -len(suffix)]
    return ""


def _consonant(word: str, i: int) -> bool:
    letter = word[i]
    if letter == "y":
        return i == 0 or not _consonant(word, i - 1)
    return letter not in _VOWELS


def _has_vowel(word: str) -> bool:
    return any(not _consonant(word, i) for i in range(len(word)))


def _measure(word: str) -> int:
    """How often a consonant follows a vowel: the m of the paper."""
    count, vowel_before = 0, False
    for i in range(len(word)):
        consonant = _consonant(word, i)
        count += consonant and vowel_before
        vowel_before = not consonant
    return count


def _ends_cvc(word: str) -> bool:
    """Ends consonant, vowel, consonant, the last not w, x or y."""
    if len(word) < 3 or word[-1] in "wxy":
        return False
    n = len(word)
    return _consonant(word, n - 3) and not _consonant(word, n - 2) and _consonant(word, n - 1)
