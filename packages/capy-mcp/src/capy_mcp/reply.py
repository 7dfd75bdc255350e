"""What an agent reads of a run or a search: text within a budget, never larger than what it stands for.

Of a run that failed, the exit code, the failing lines and the end of stderr are always in it. Everything is redacted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from capy_core.text import cut_head, cut_middle

if TYPE_CHECKING:
    from capy_exec.request import Result
    from capy_store.documents import Hit, SearchResult
    from capy_store.evidence import Evidence

BATCH_BUDGET = 16_000  # bytes
HIT_BUDGET = 1500
SEARCH_BUDGET = 6_000
STDERR_BUDGET = 1_500
_DROPPED = ("context", "head", "summary", "match", "tail", "failure")  # what makes room first
_ENDS = 2_000  # bytes of a text of which no line can be shown
_MARK = 40  # bytes of the line that stands where something was left out


def intent(result: Result, evidence: Evidence, label: str = "", *, errors: Evidence | None = None) -> str:
    """The reply to code that was run with a question.

    Args:
        evidence: what of its stdout answers.
        errors: what of its stderr answers; None when it is empty.
        label: where all of the output was indexed; "" when it was not.
    """
    parts = [f"[{_facts(result, evidence)}]", _body(result, evidence, errors), *_more([label])]
    return _smaller("\n".join(parts), raw(result))


def batch(
    results: Sequence[Result],
    evidence: Sequence[Evidence],
    labels: Sequence[str] = (),
    *,
    errors: Sequence[Evidence | None] = (),
    budget: int = BATCH_BUDGET,
) -> str:
    """The reply to several commands and the questions to all that they printed.

    Args:
        results: in the order of the commands.
        evidence: for each what of its stdout answers the questions.
        labels: where the outputs were indexed.
        errors: for each what of its stderr answers, None where it is empty; may be left out.
        budget: bytes of the lines of all commands; what one leaves, the next may use.
    """
    its_errors = errors or [None] * len(results)
    left = budget
    parts: list[str] = []
    for number, (result, found, other) in enumerate(zip(results, evidence, its_errors, strict=True)):
        body = _body(result, found, other, left // (len(results) - number))
        body = min((body, raw(result)), key=_bytes) or "(no output)"
        left -= _bytes(body)
        parts += [f"# {result.label} [{_facts(result, found)}]", body]
    parts += [f"[no line has a word of: {question}]" for question in _unanswered([*evidence, *its_errors])]
    return _redacted("\n".join([*parts, *_more(labels)]))


def search(results: Sequence[SearchResult], *, budget: int = SEARCH_BUDGET, raw_bytes: int | None = None) -> str:
    """The reply to one or more queries: for each the lines of its hits, source by source, in the order of the lines.

    Args:
        budget: bytes at most, for all queries; what one leaves, the next may use.
        raw_bytes: of all that was searched, if known: the reply is not larger.
    """
    left = budget if raw_bytes is None else min(budget, raw_bytes)
    parts: list[str] = []
    for number, result in enumerate(results):
        room = left // (len(results) - number)
        part = _cut(_found(result, room - _MARK, headed=len(results) > 1), room - 1)
        left -= _bytes(part) + 1
        parts.append(part)
    return _redacted("\n".join(parts))


def raw(result: Result) -> str:
    """All that is kept of what a run printed, stdout before stderr; of a failure its reason first."""
    out, err = _streams(result)
    parts = [] if result.succeeded and not result.reason else [f"[{_ended(result)}]"]
    parts += [
        text.removesuffix("\n") for text in (out, f"stderr:\n{err}" if err.strip() and out.strip() else err) if text
    ]
    return "\n".join(parts)


def _streams(result: Result) -> tuple[str, str]:
    record = result.record()
    return record["stdout"], record["stderr"]


def _ended(result: Result) -> str:
    """`exit 0`, or what went wrong."""
    return result.reason or (f"exit {result.exit_code}" if result.exit_code is not None else result.outcome)


def _facts(result: Result, evidence: Evidence) -> str:
    size = result.stdout_bytes + result.stderr_bytes
    return f"{_ended(result)}; {evidence.lines:,} lines, {size / 1000:.1f} KB, {result.duration_ms / 1000:.1f} s"


def _body(result: Result, evidence: Evidence, errors: Evidence | None, budget: int | None = None) -> str:
    """The lines of both streams, and which words were read as others."""
    out, err = _streams(result)
    parts: list[str] = []
    if errors is not None:
        parts = ["stderr:", _lines(errors, err, budget and min(budget // 2, STDERR_BUDGET))]
    if evidence.bytes:
        parts.insert(0, _lines(evidence, out, budget and budget - sum(map(_bytes, parts))))
    read = ", ".join(f"{used} for {word}" for word, used in evidence.corrected.items())
    parts += [f"[read {read}]"] if read else []
    return "\n".join([*parts, *(f"[{note}]" for note in evidence.notes)])


def _lines(evidence: Evidence, whole: str, budget: int | None) -> str:
    """The spans, without those that matter least where they do not fit. Of one endless line there may be none."""
    from capy_store.evidence import render_spans

    spans = list(evidence.spans)
    if not spans:
        return _cut(whole, min(budget or _ENDS, _ENDS))
    text = render_spans(spans)
    order = sorted(spans, key=lambda span: (_DROPPED.index(span.why), -span.first))
    while budget is not None and _bytes(text) > budget and len(order) > 1:
        spans.remove(order.pop(0))
        text = render_spans(spans)
    return text if budget is None else _cut(text, budget)


def _unanswered(evidence: Sequence[Evidence | None]) -> list[str]:
    """The questions none of whose words was printed by any command."""
    found = [one for one in evidence if one is not None]
    questions = found[0].questions if found else ()
    return [question for question in questions if all(question in one.unanswered for one in found)]


def _more(labels: Sequence[str]) -> list[str]:
    named = ", ".join(f'"{label}"' for label in labels if label)
    return [f"[more: capy_search, source {named}]"] if named else []


def _found(result: SearchResult, budget: int, *, headed: bool) -> str:
    lines = [f"## {result.query}"] if headed else []
    lines += [f"[read {used} for {word}]" for word, used in result.corrected.items()]
    if not result.hits:
        return "\n".join([*lines, "; ".join(["nothing found", *result.notes])])
    left = budget - sum(_bytes(line) + 1 for line in lines)
    by_source: dict[str, list[Hit]] = {}
    shown = 0
    for hit in result.hits:
        hit = replace(hit, content=_shortened(hit, result.query))
        cost = _bytes(_placed(hit)) + 1 + (0 if hit.label in by_source else _bytes(_headline(hit)) + 1)
        if cost <= left or not shown:
            by_source.setdefault(hit.label, []).append(hit)
            left -= cost
            shown += 1
    for hits in by_source.values():
        lines.append(_headline(hits[0]))
        lines += [_placed(hit) for hit in sorted(hits, key=lambda hit: hit.line_start)]
    if shown < len(result.hits):
        lines.append(f"[{len(result.hits) - shown} more hits: ask more narrowly]")
    return "\n".join(lines)


def _headline(hit: Hit) -> str:
    stale = {"changed": " (the file has changed since)", "missing": " (the file is gone)"}.get(hit.stale, "")
    return f"--- {hit.label}{stale}"


def _shortened(hit: Hit, query: str) -> str:
    """A hit's text; of a long one, such as a section of a document, the lines that answer."""
    if _bytes(hit.content) <= HIT_BUDGET:
        return hit.content
    from capy_store.evidence import find, render_spans

    before = hit.line_start - 1
    spans = find(hit.content, query, budget=HIT_BUDGET).spans
    return render_spans([replace(span, first=span.first + before, last=span.last + before) for span in spans])


def _placed(hit: Hit) -> str:
    """A hit's lines under its place; output has no titles of its own."""
    title = "" if hit.content_type == "output" or hit.title in ("", hit.label) else f" {hit.title}"
    return f"[l. {hit.line_start}]{title}\n{hit.content}"


def _smaller(text: str, whole: str) -> str:
    return _redacted(min(text, whole, key=_bytes))


def _cut(text: str, budget: int) -> str:
    """A text within a budget; its beginning and its end stay, and a line says how much is missing between them."""
    if _bytes(text) <= budget:
        return text
    if budget <= 2 * _MARK:
        return cut_head(text, max(0, budget)).head
    cut = cut_middle(text, budget - _MARK)
    return f"{cut.head.rstrip()}\n[{cut.cut_lines:,} lines left out]\n{cut.tail}"


def _redacted(text: str) -> str:
    from capy_core.secrets import redact

    return redact(text)


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
