"""What a model would get without us: the end of an output, the lines that grep finds, or the best chunks by BM25.

Each takes a text and the questions to it, and gives the reply to each of them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from math import log

TAIL_LINES = 200
GREP_CONTEXT = 2  # lines on both sides
CHUNK_CHARS, TOP_CHUNKS = 1500, 5
_K1, _B = 1.2, 0.75  # of BM25, as most engines set them

_WORD = re.compile(r"[^\W_]+")
# words that a person would not type into grep
_FUNCTION_WORDS = """
    a an and any are as at be by did do does for from had has have how i in into is it its of on or our out over so
    than that the their them then there they this to too up us was we were what when where which while who whom whose
    why will with you your
"""
_UNASKED = frozenset(_FUNCTION_WORDS.split())


def tail(text: str, questions: Sequence[str]) -> Iterator[str]:
    """`tail -200`, whatever is asked."""
    end = "\n".join(text.removesuffix("\n").split("\n")[-TAIL_LINES:])
    for _ in questions:
        yield end


def grep(text: str, questions: Sequence[str]) -> Iterator[str]:
    """`grep -i -C 2` for the words of the question, any of them, anywhere in a line."""
    lines = text.split("\n")
    lowered = text.lower().split("\n")
    for question in questions:
        wanted = words(question)
        shown: set[int] = set()
        for at, line in enumerate(lowered):
            if any(word in line for word in wanted):
                shown.update(range(max(0, at - GREP_CONTEXT), min(len(lines), at + GREP_CONTEXT + 1)))
        yield "\n".join(lines[at] for at in sorted(shown))


def bm25(text: str, questions: Sequence[str]) -> Iterator[str]:
    """The best five chunks of 1,500 characters by BM25 over whole words."""
    chunks = list(_chunks(text))
    counts = [Counter(_tokens(chunk)) for chunk in chunks]
    for question in questions:
        scores = _scores(counts, words(question))
        best = sorted((at for at, score in enumerate(scores) if score > 0), key=lambda at: (-scores[at], at))
        yield "\n---\n".join(chunks[at] for at in best[:TOP_CHUNKS])


def words(question: str) -> list[str]:
    """The words of a question that tell something, each once."""
    return [word for word in dict.fromkeys(_tokens(question)) if word not in _UNASKED]


BASELINES = {"tail-200": tail, "grep-C2": grep, "bm25-top5": bm25}


def _scores(counts: Sequence[Counter[str]], wanted: Sequence[str]) -> list[float]:
    lengths = [count.total() for count in counts]
    mean = sum(lengths) / max(1, len(lengths)) or 1.0
    scores = [0.0] * len(counts)
    for word in wanted:
        holding = [at for at, count in enumerate(counts) if word in count]
        rarity = log(1 + (len(counts) - len(holding) + 0.5) / (len(holding) + 0.5))
        for at in holding:
            times = counts[at][word]
            scores[at] += rarity * times * (_K1 + 1) / (times + _K1 * (1 - _B + _B * lengths[at] / mean))
    return scores


def _tokens(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.lower()) if len(word) > 1]


def _chunks(text: str) -> Iterator[str]:
    """Whole lines of up to CHUNK_CHARS characters together; a longer line is cut."""
    ends = [match.end() for match in re.finditer(r"\n|\Z", text)]
    start = 0
    while start < len(text):
        fitting = bisect_right(ends, start + CHUNK_CHARS + 1) - 1  # the last newline is not counted
        end = ends[fitting] if fitting >= 0 and ends[fitting] > start else start + CHUNK_CHARS
        yield text[start:end]
        start = end
