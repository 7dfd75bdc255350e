"""The lines of a hit that meet the question, and where in a text its words stand."""

from __future__ import annotations

from bisect import bisect_left

from .matching import Form, Place, lowered
from .rank import Question, Ranked
from .terms import parse
from .windows import windows

MOST_CHARS = 600
_STRETCH = 200


def snippet(question: Question, hit: Ranked) -> str:
    """The lines of a hit that hold most of the question, `MOST_CHARS` at most, in their order; verbatim.

    A stretch is whole lines, or, of a longer line, a piece that ends between two tokens.
    """
    body = hit.match.row.body[hit.start : hit.end]
    if len(body) <= MOST_CHARS:
        return body.strip("\n")
    events = [(event[0] - hit.start, event[2]) for event in hit.match.events if hit.start <= event[0] < hit.end]
    starts = [at for at, _ in events]
    spans = windows(body, _STRETCH)
    held = [{group for _, group in events[bisect_left(starts, a) : bisect_left(starts, b)]} for a, b in spans]
    chosen: list[int] = []
    met: set[int] = set()
    room = MOST_CHARS
    while room > 0:
        # what a stretch adds to what is shown already decides; one that adds nothing is left out
        gains = [sum(question.groups[g].idf for g in groups - met) for groups in held]
        fits = [i for i, (a, b) in enumerate(spans) if i not in chosen and b - a <= room]
        best = max(fits, key=lambda i: (gains[i], -i), default=None)
        if best is None or (chosen and not gains[best]):
            break
        chosen.append(best)
        met |= held[best]
        room -= spans[best][1] - spans[best][0]
    return "\n".join(body[spans[i][0] : spans[i][1]].strip("\n") for i in sorted(chosen))


def highlights(query: str, corrected: dict[str, str], text: str) -> list[Place]:
    """Where in `text` the words of a query stand, for colouring: in order, without overlaps."""
    parsed = parse(query)
    forms = [Form(corrected.get(word, word)) for word in (*parsed.words, *parsed.parts)]
    forms += [Form(literal) for literal in parsed.literals]
    forms += [Form(pair, anywhere=True) for pair in parsed.pairs]
    low = lowered(text)
    merged: list[Place] = []
    for start, end in sorted(place for form in forms for place in form.places(text, low, 64)):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
