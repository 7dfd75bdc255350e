"""Lines that matter whatever the question: what went wrong, and how it ended. Told by general marks and by rarity."""

from __future__ import annotations

import re
from collections import Counter
from math import log2

from ..search.words import FAILURE_MARKS
from .page import Page

WEAK = 0.35  # a line that only mentions a failure, beside one that is a program's report of it
LATE = 0.25  # what the last line has over the first
REPEATED = 0.5  # what each earlier line of the same shape leaves
SUMS = 0.8

MARKS = (*FAILURE_MARKS, "exit code", "non-zero", "caused by", "invalid", "conflict", "mismatch")
_HARMLESS = re.compile(
    r"\b(?:0|no|without) (?:errors?|failures?|failed|warnings?)"
    r"|\b(?:errors?|fail(?:ures?|ed)?)[:=] ?0\b"
    r"|--[\w-]*(?:error|fail)"
)
# A report as programs write it
_STRONG = re.compile(
    r"\b(?:ERROR|FAIL|FAILED|FAILURE|FATAL|CRITICAL|PANIC|ERR!)(?![\w-])"  # a level
    r"|(?:^|[\s\]>|)*])(?:[Ee]rror|[Ff]atal|[Pp]anic|fatal error)(?:\[\w+\]| \w{1,8})?:"  # a label
    r"|##\[error\]|::error"  # an annotation
    r"|(?:Exception|Error)\b[: ]|^\s*Traceback|^Caused by|panicked at"  # an exception
    r"|\bexit(?:ed)? (?:with )?(?:code|status) [1-9]"
    r"|[✗✘❌]|^E   "
)
_SUMMARY = re.compile(
    r"\b\d[\d,.]* (?:[a-z]+ ){0,2}(?:passed|failed|skipped|errors?|tests?|warnings?|failures?|files?|problems?|found"
    r"|vulnerabilit\w+|packages?|changed|insertions?|rows?|listed|records?|total)\b"
    r"|\d[\d,.]* (?:warning|error)\(s\)"
    r"|\bbuild (?:failed|failure|success\w*)"
    r"|\b(?:total|summary|finished|completed|exit(?:ed)? (?:with )?(?:code|status))\b"
    r"|\b(?:tests? run|found|errors?|failures?|passed|failed)\s*[:=]?\s*\d+"
)
_END, _LEAST_END, _MOST_END = 0.1, 100, 400  # of the lines, and so many at least, at most: where an output sums up
_CHARS = 400  # of a line that are looked at
_LETTERS_ONLY = {code: None for code in range(128) if not chr(code).isalpha()}


Notable = dict[int, tuple[float, str]]  # unit -> how much (0 to 1), and failure or summary


def shape(text: str) -> str:
    """The letters of a line: lines that differ in numbers and signs only have the same."""
    return text[:200].translate(_LETTERS_ONLY)[:40]


def notable(page: Page) -> Notable:
    """The units that tell of a failure or, near the end, sum up."""
    found = {unit: (score, "failure") for unit, score in _failures(page).items()}
    total = len(page.units)
    first = max(0, total - max(_LEAST_END, min(_MOST_END, int(total * _END))))
    for unit in range(first, total):
        if _SUMMARY.search(page.units[unit][:_CHARS].lower()):
            score = SUMS * (0.7 + 0.3 * (unit - first) / (total - first))
            if score > found.get(unit, (0.0, ""))[0]:
                found[unit] = (score, "summary")
    return found


def _failures(page: Page) -> dict[int, float]:
    order = sorted(_marked(page))
    shapes = [shape(page.units[unit]) for unit in order]
    counts, seen = Counter(shapes), Counter[str]()
    scores: dict[int, float] = {}
    for unit, its in zip(order, shapes, strict=True):
        line = page.units[unit][:_CHARS]
        seen[its] += 1
        strong = _STRONG.search(line)
        if not strong and _HARMLESS.search(line.lower()):
            continue
        rarity = 1 / (1 + 0.5 * log2(counts[its]))
        late = 1 - LATE + LATE * unit / len(page.units)
        scores[unit] = (1.0 if strong else WEAK) * rarity * late * REPEATED ** min(seen[its] - 1, 9)
    return scores


def _marked(page: Page) -> set[int]:
    """The units that hold a mark of failure."""
    units: set[int] = set()
    low, starts = page.low, page.starts
    for mark in MARKS:
        at = low.find(mark)
        while at >= 0:
            unit = page.at(at)
            units.add(unit)
            at = low.find(mark, starts[unit + 1]) if unit + 1 < len(starts) else -1
    return units
