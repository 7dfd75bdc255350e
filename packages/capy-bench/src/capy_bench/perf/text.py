"""Made-up text to measure with: the same for the same numbers on every machine, and with questions that it answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from random import Random

KINDS = ("log", "markdown", "json")
LAYERS = ("porter", "fuzzy", "part", "cjk", "trigram")
DOCUMENT_BYTES = 50_000
_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
_KANJI = "東西南北春夏秋冬山川海空風雨雪月星花鳥魚"


def documents(kind: str, size: int) -> Iterator[tuple[int, str]]:
    """Numbered texts of one kind, of DOCUMENT_BYTES or less, `size` bytes in all."""
    number = 0
    while size > 0:
        text = document(kind, number, min(size, DOCUMENT_BYTES))
        yield number, text
        size -= len(text.encode())
        number += 1


def document(kind: str, number: int, size: int) -> str:
    """A text of about `size` bytes with one sentence in its middle that `question(layer, number)` asks for."""
    random = Random(f"{kind} {number}")
    half = max(1, size // 2)
    parts = [*_lines(kind, random, half), _planted_line(kind, number), *_lines(kind, random, half)]
    return "[\n" + ",\n".join(parts) + "\n]\n" if kind == "json" else "\n".join(parts) + "\n"


def planted(number: int) -> dict[str, str]:
    """The words of one document that no other has, by the lane that finds them."""
    return {
        "porter": _unique("porter", number),
        "fuzzy": _unique("fuzzy", number),
        "part": f"load{_unique('left', number).title()}From{_unique('right', number).title()}",
        "cjk": "".join(Random(f"cjk {number}").choices(_KANJI, k=6)),
        "trigram": blake2b(str(number).encode(), digest_size=12).hexdigest(),
    }


def question(layer: str, number: int) -> str:
    """What to search for to find document `number` by one lane."""
    word = planted(number)[layer]
    if layer == "fuzzy":
        return word[:3] + word[4] + word[3] + word[5:]
    if layer == "part":
        return f"{_unique('left', number)} {_unique('right', number)}"
    return word[4:16] if layer == "trigram" else word


def _planted_line(kind: str, number: int) -> str:
    words = planted(number)
    cause = f"the {words['porter']} valve of {words['fuzzy']} closed in {words['part']}"
    sentence = f"{cause}, {words['cjk']}, build {words['trigram']}"
    if kind == "json":
        return json.dumps({"id": number, "message": sentence}, ensure_ascii=False)
    return f"2026-01-01T00:00:00Z ERROR {sentence}" if kind == "log" else sentence


def _lines(kind: str, random: Random, size: int) -> Iterator[str]:
    line = {"log": _log_line, "markdown": _paragraph, "json": _item}[kind]
    while size > 0:
        text = line(random)
        size -= len(text) + 1
        yield text


def _log_line(random: Random) -> str:
    clock = f"2026-01-{random.randint(1, 28):02}T{random.randint(0, 23):02}:{random.randint(0, 59):02}:00Z"
    level = random.choice(("INFO", "INFO", "INFO", "DEBUG", "WARN"))
    return f"{clock} {level} [worker-{random.randint(1, 16)}] {_words(random, 9)} took={random.randint(1, 900)}ms"


def _paragraph(random: Random) -> str:
    head = f"\n## {_words(random, 3).title()}\n\n" if random.random() < 0.2 else ""
    return f"{head}{_words(random, 40).capitalize()}.\n"


def _item(random: Random) -> str:
    return json.dumps(
        {"id": random.randint(1, 10**6), "name": _words(random, 3), "tags": _words(random, 4).split(), "ok": True}
    )


def _words(random: Random, count: int) -> str:
    words, weights = _vocabulary()
    return " ".join(random.choices(words, cum_weights=weights, k=count))


@cache
def _vocabulary() -> tuple[list[str], list[float]]:
    """20,000 words whose frequencies follow Zipf's law, as those of real text do."""
    random = Random("vocabulary")
    words = ["".join(random.choices(_SYLLABLES, k=random.randint(2, 4))) for _ in range(20_000)]
    total, sums = 0.0, []
    for rank in range(1, len(words) + 1):
        total += 1 / rank
        sums.append(total)
    return words, sums


def _unique(role: str, number: int) -> str:
    """A word of five syllables: the vocabulary has none that long."""
    return "".join(Random(f"{role} {number}").choices(_SYLLABLES, k=5))
