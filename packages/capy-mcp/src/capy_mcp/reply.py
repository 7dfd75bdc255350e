"""What an agent reads: results as text within a budget, never larger than what they stand for.

Of a run that failed the exit code, the failing lines and the end of stderr are always in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from capy_core.text import cut_head, cut_middle

if TYPE_CHECKING:
    from capy_exec.request import Result
    from capy_store.documents import Hit, SearchResult
    from capy_store.evidence import Evidence

SEARCH_BUDGET = 6000
BATCH_BUDGET = 16_000
STDERR_BUDGET = 1500


def intent(result: Result, evidence: Evidence, label: str = "", *, errors: Evidence | None = None) -> str:
    """The reply to code that was run with a question.

    Args:
        result: of the run, its text redacted.
        evidence: what of its stdout answers.
        label: where the whole output was indexed; "" when it was not.
        errors: what of its stderr answers; None when it wrote none, or wrote it to stdout.
    """
    lines = [f"[{_facts(result)}; {_size(evidence)}]", *_body(evidence, errors), *_notes(evidence), *_more(label)]
    return _within("\n".join(lines), raw(result))


def batch(
    results: Sequence[Result],
    evidence: Sequence[Evidence],
    labels: Sequence[str] = (),
    *,
    errors: Sequence[Evidence | None] = (),
    budget: int = BATCH_BUDGET,
) -> str:
    """The reply to several commands and the questions over all of their output.

    Args:
        results: in the order of the commands.
        evidence: for each what of its stdout answers the questions.
        labels: where each output was indexed; may be empty.
        errors: for each what of its stderr answers; may be empty.
    """
    parts: list[str] = []
    for number, (result, found) in enumerate(zip(results, evidence, strict=True)):
        its_errors = errors[number] if errors else None
        head = f"# {result.label} [{_facts(result)}; {_size(found)}]"
        body = "\n".join(_body(found, its_errors))
        parts.append(f"{head}\n{_within(body, raw(result))}")
    unanswered = [
        question
        for question in (evidence[0].questions if evidence else ())
        if all(question in found.unanswered for found in evidence)
    ]
    parts += [f"[no line has a word of: {question}]" for question in unanswered]
    parts += _more(*labels)
    return _within(
        _cut("\n".join(parts), budget), "\n".join(f"# {one.label} [{_facts(one)}]\n{raw(one)}" for one in results)
    )


def search(results: Sequence[SearchResult], *, budget: int = SEARCH_BUDGET, raw_bytes: int | None = None) -> str:
    """The reply to one or more searches: for each the lines of its hits, by source and in order.

    Args:
        budget: bytes at most, shared by the queries; what one leaves the next may use.
        raw_bytes: of the sources that were searched, if known: the reply is never larger.
    """
    left = budget if raw_bytes is None else min(budget, raw_bytes)
    parts: list[str] = []
    for number, result in enumerate(results):
        part = _cut(_found(result, left // (len(results) - number), headed=len(results) > 1), left)
        left -= _bytes(part) + 1
        parts.append(part)
    return _redacted("\n".join(part for part in parts if part))


def raw(result: Result) -> str:
    """All that a run printed, as far as it was kept: stdout, then stderr."""
    record = result.record()
    out, err = str(record["stdout"]), str(record["stderr"])
    if err.strip():
        out += ("" if not out or out.endswith("\n") else "\n") + f"stderr:\n{err}"
    return out if result.succeeded else f"[{_facts(result)}]\n{out}"


def _facts(result: Result) -> str:
    """`exit 0, 3.1 s`, or what went wrong."""
    ended = result.reason or (f"exit {result.exit_code}" if result.exit_code is not None else result.outcome)
    return f"{ended}, {result.duration_ms / 1000:.1f} s"


def _size(evidence: Evidence) -> str:
    return f"{evidence.lines:,} lines, {evidence.bytes / 1000:.1f} KB"


def _body(evidence: Evidence, errors: Evidence | None) -> list[str]:
    from capy_store.evidence import render

    body = [render(evidence)]
    if errors is not None and errors.spans:
        body += ["stderr:", render(errors)]
    return body


def _notes(evidence: Evidence) -> list[str]:
    corrected = ", ".join(f"{used} for {word}" for word, used in evidence.corrected.items())
    notes = [f"[read {corrected}]"] if corrected else []
    return notes + [f"[{note}]" for note in evidence.notes]


def _more(*labels: str) -> list[str]:
    named = ", ".join(f'"{label}"' for label in labels if label)
    return [f"[l. N] = line N. More: capy_search with source {named}"] if named else []


def _found(result: SearchResult, budget: int, *, headed: bool) -> str:
    lines = [f"## {result.query}"] if headed else []
    if not result.hits:
        lines.append("nothing found" + "".join(f"; {note}" for note in result.notes))
        return "\n".join(lines)
    by_source: dict[str, list[Hit]] = {}
    left = budget - sum(map(_bytes, lines))
    shown = 0
    for hit in result.hits:
        cost = _bytes(hit.content) + 12 + (0 if hit.label in by_source else len(hit.label) + 8)
        if cost > left and shown:
            continue
        by_source.setdefault(hit.label, []).append(hit)
        left -= cost
        shown += 1
    for label, hits in by_source.items():
        lines.append(f"--- {label}{_stale(hits[0])}")
        for hit in sorted(hits, key=lambda hit: hit.line_start):
            title = "" if hit.title in ("", label) or hit.content_type == "output" else f" {hit.title}"
            lines += [f"[l. {hit.line_start}]{title}", hit.content]
    if shown < len(result.hits):
        lines.append(f"[{len(result.hits) - shown} more hits did not fit; ask more narrowly, or name a source]")
    lines += [f"[searched {used} for {word}]" for word, used in result.corrected.items()]
    return "\n".join(lines)


def _stale(hit: Hit) -> str:
    return {"changed": " (the file has changed since)", "missing": " (the file is gone)"}.get(hit.stale, "")


def _within(text: str, whole: str) -> str:
    """The text, or the whole when that is not larger."""
    return _redacted(text if _bytes(text) < _bytes(whole) else whole)


def _cut(text: str, budget: int) -> str:
    """A text within a budget; where something was left out there is a mark."""
    if _bytes(text) <= budget:
        return text
    cut = cut_middle(text, max(0, budget - 40), head_share=0.7)
    return (
        f"{cut.head.rstrip()}\n[{cut.cut_lines:,} lines left out]\n{cut.tail}"
        if budget > 80
        else cut_head(text, budget).head
    )


def _redacted(text: str) -> str:
    from capy_core.secrets import redact

    return redact(text)


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
