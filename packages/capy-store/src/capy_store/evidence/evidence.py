"""Find the lines of a text that answer a question, and show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .asked import look_up, wanted
from .choose import budget_for, choose, gap
from .notable import MARKS
from .page import Page, read
from .sift import LONGEST, sift
from .tables import note

_REASONS = ("failure", "match", "summary", "head", "tail", "context")


@dataclass(frozen=True)
class Span:
    """Lines that stand together.

    Args:
        first, last: their numbers in the text, from 1, inclusive. Of a long line a piece may be all that is shown.
        text: the lines, joined by newlines.
        why: the best reason for one of them: failure, match, summary, head, tail, context (it stands beside one).
    """

    first: int
    last: int
    text: str
    why: str


@dataclass(frozen=True)
class Evidence:
    """What of a text answers one or more questions.

    Args:
        questions: as asked.
        spans: in the order of the text.
        lines, bytes: of the whole text.
        corrected: word of a question -> word of the text that was taken for it.
        unanswered: the questions none of whose words the text holds.
        notes: what the reader should know, in whole sentences.
    """

    questions: tuple[str, ...]
    spans: tuple[Span, ...]
    lines: int
    bytes: int
    corrected: dict[str, str] = field(default_factory=dict)
    unanswered: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def find(text: str, question: str | Sequence[str], *, budget: int | None = None, failed: bool = False) -> Evidence:
    """The lines of an output that answer, with its head, its tail and the lines that tell of failure.

    Args:
        text: of any length; colour codes and carriage returns may be in it.
        question: any text, or several, which share the budget.
        budget: bytes of the rendered spans, at most; None: see `budget_for`, for one question at most 6,000.
        failed: what printed it failed: lines that tell of failure count as if they were asked for.

    Returns:
        Evidence; its spans are empty only if the text is blank or the budget too small for any line.
    """
    questions = (question,) if isinstance(question, str) else tuple(question)
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    page = read(text) if len(text) <= LONGEST else _read_long(text, questions)
    asked = [look_up(page, one) for one in questions]
    room = budget_for(text, len(questions)) if budget is None else budget
    chosen = choose(page, asked, room, failed=failed)
    corrected: dict[str, str] = {}
    for one in asked:
        corrected |= one.corrected
    return Evidence(
        questions=questions,
        spans=tuple(_spans(page, chosen)),
        lines=page.lines[-1],  # the end is always read
        bytes=size,
        corrected=corrected,
        notes=tuple(dict.fromkeys(text for one in asked if (text := note(page, one.query)))),
        unanswered=tuple(text for text, one in zip(questions, asked, strict=True) if not one.terms),
    )


def render(evidence: Evidence) -> str:
    """The spans as text; `[l. 4031]` stands before lines that do not follow the last, with the first one's number."""
    return render_spans(evidence.spans)


def render_spans(spans: Sequence[Span]) -> str:
    """The same for spans alone."""
    parts: list[str] = []
    last = 0
    for span in spans:
        if span.first > last + 1:
            parts.append(gap(span.first))
        parts.append(span.text)
        last = span.last
    return "\n".join(parts)


def _read_long(text: str, questions: Sequence[str]) -> Page:
    numbered = sift(text, frozenset().union(MARKS, *map(wanted, questions)))
    return read("\n".join([line for _, line in numbered]), [number for number, _ in numbered])


def _spans(page: Page, chosen: dict[int, str]) -> list[Span]:
    runs: list[list[int]] = []
    for unit in sorted(chosen):
        if runs and runs[-1][-1] == unit - 1 and page.follows(unit):
            runs[-1].append(unit)
        else:
            runs.append([unit])
    return [
        Span(
            page.lines[run[0]],
            page.lines[run[-1]],
            "\n".join([page.units[unit] for unit in run]),
            min((chosen[unit] for unit in run), key=_REASONS.index),
        )
        for run in runs
    ]
