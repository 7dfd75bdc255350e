"""A question's text -> what to look for. Any text is a legal question; nothing of it is query syntax."""

from __future__ import annotations

import re
from dataclasses import dataclass

from capy_core.fts import blank_cjk, query_bigrams, split_identifier
from capy_core.porter import stem

from .words import STOP_WORDS, is_failure_word

MAX_CHARS = 16_384  # of a question; a longer one keeps its head and its tail
MAX_WORDS = 64  # distinct words, and as many pairs of unspaced scripts
MAX_WORD_CHARS = 256

_WORD = re.compile(r"[^\W_]+")
_QUOTED = re.compile(r'"([^"]{2,200})"')
_AROUND = "\"'`()[]{}<>,;:!?.…“”‘’«»|*"
_HYPHENATED = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)+")
_IDEOGRAPHS = re.compile("[\u3400-\u9fff\uf900-\ufaff]+")
_HOW_MANY = re.compile(r"\b(?:how m(?:any|uch)|(?:number|count) of)\b", re.IGNORECASE)
_CONTENT_RUNS = re.compile("[\u3400-\u9fff\uf900-\ufaff]{2,}|[\u30a0-\u30ff]{2,}")


@dataclass(frozen=True)
class Query:
    """What a question looks for.

    Args:
        text: the question as asked.
        words: the words that carry meaning, lower case, in order, one of each stem.
        parts: words inside camelCase names of the question; they help to find, but count for less.
        names: those of `words` that were written with a capital inside the question: people, products.
        literals: what should be met verbatim, lower case: quoted phrases and names such as `src/main.py`.
        pairs: character pairs of scripts without spaces.
        signs: single ideographs, and runs of ideographs or katakana, of such scripts: what carries meaning there.
        cut: True when the question was too long to be used whole.
        about_failure: it asks what went wrong.
        about_number: it asks how many.
    """

    text: str
    words: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    literals: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()
    signs: tuple[str, ...] = ()
    cut: bool = False
    about_failure: bool = False
    about_number: bool = False

    @property
    def is_blank(self) -> bool:
        """True when there is nothing to look for, and there never was."""
        return not (self.words or self.pairs or self.literals or self.cut)


def parse(text: str) -> Query:
    """Take a question apart. Never fails; a blank question has nothing to look for."""
    used = text.replace("\x00", " ")
    if len(used) > MAX_CHARS:
        used = f"{used[: MAX_CHARS // 2]} {used[-MAX_CHARS // 2 :]}"
    tokens = [token for raw in blank_cjk(used).split() if (token := raw.strip(_AROUND))]
    words: list[str] = []
    literals = [" ".join(phrase.lower().split()) for phrase in _QUOTED.findall(used)]
    parts: list[str] = []
    names: set[str] = set()
    cut = len(text) > MAX_CHARS
    for position, token in enumerate(tokens):
        found = _WORD.findall(token.lower())
        pieces = [piece for piece in found if len(piece) <= MAX_WORD_CHARS]
        cut = cut or len(pieces) < len(found)
        words += pieces
        if position and token[0].isupper():
            names.update(pieces[:1])
        if _is_name(token, pieces):
            literals.append(token.lower())
        parts += [part for name in _WORD.findall(token) for part in split_identifier(name)]
    content = _one_of_each_stem([word for word in words if word not in STOP_WORDS] or words)
    pairs = query_bigrams(used)
    return Query(
        text=text,
        words=tuple(content[:MAX_WORDS]),
        parts=tuple(part for part in _one_of_each_stem(parts)[:MAX_WORDS] if part not in content),
        names=frozenset(names),
        literals=tuple(dict.fromkeys(literal for literal in literals if literal))[:MAX_WORDS],
        pairs=tuple(pairs[:MAX_WORDS]),
        signs=_signs(used) if pairs else (),
        cut=cut or max(len(content), len(pairs)) > MAX_WORDS,
        about_failure=any(map(is_failure_word, content)),
        about_number=bool(_HOW_MANY.search(used)),
    )


def _is_name(token: str, pieces: list[str]) -> bool:
    """True for `OPS-417`, `k8s.io/api`, `safe_load_yaml`, `C++`, `===`: its signs are part of what was meant.

    `high-speed` is no name: an index entry for `high speed` answers as well.
    """
    if len(token) > MAX_WORD_CHARS or _HYPHENATED.fullmatch(token):
        return False
    meant = [piece for piece in pieces if piece not in STOP_WORDS]
    if not pieces:
        return len(token) > 2
    return len(meant) > 1 or (len(meant) == 1 and token.lower() not in pieces)


def _one_of_each_stem(words: list[str]) -> list[str]:
    by_stem: dict[str, str] = {}
    for word in words:
        by_stem.setdefault(stem(word), word)
    return list(by_stem.values())


def _signs(text: str) -> tuple[str, ...]:
    ideographs = dict.fromkeys("".join(_IDEOGRAPHS.findall(text)))
    return (*ideographs, *dict.fromkeys(_CONTENT_RUNS.findall(text)))
