"""Hits as people read them: where, what, the lines that match with their words marked."""

from __future__ import annotations

import click

from capy_core.display import harmless

from ..documents import Hit, SearchResult
from ..search.snippet import highlights
from .wording import plural

_STALE = {"changed": "the file has changed since", "missing": "the file is gone"}


def describe(result: SearchResult, took_ms: float, *, colour: bool) -> str:
    """The answer to a query as text, in colour for a terminal that has it."""
    style = _Style(colour)
    blocks = [_block(rank, hit, result, style) for rank, hit in enumerate(result.hits, 1)]
    corrected = ", ".join(f"{used} for {word}" for word, used in result.corrected.items())
    last = [f"searched {corrected}"] if corrected else []
    last += result.notes
    if result.hits:
        last.append(f"{plural(len(result.hits), 'hit')} in {took_ms:.0f} ms")
    else:
        blocks.append("nothing found")
        if not result.notes:
            last.append("try other words; capy-store sources lists what is indexed")
    return "\n".join([*blocks, *(style.dim(harmless(line)) for line in last)]) + "\n"


def _block(rank: int, hit: Hit, result: SearchResult, style: _Style) -> str:
    lines = str(hit.line_start) if hit.line_end == hit.line_start else f"{hit.line_start}-{hit.line_end}"
    facts = f"{hit.score:.2f} {hit.kind} {hit.content_type}"
    head = f"{rank}. {style.place(f'{harmless(hit.label)}:{lines}')}  {style.dim(facts)}"
    if hit.stale:
        head += "  " + style.warn(_STALE[hit.stale])
    title = [style.bold(harmless(hit.title))] if hit.title and hit.title != hit.label else []
    snippet = harmless(hit.snippet)
    body = style.marked(snippet, highlights(result.query, result.corrected, snippet))
    return "\n   ".join([head, *title, *body.splitlines()]) + "\n"


class _Style:
    def __init__(self, colour: bool) -> None:
        self._colour = colour

    def place(self, text: str) -> str:
        return self._styled(text, fg="cyan", bold=True)

    def bold(self, text: str) -> str:
        return self._styled(text, bold=True)

    def dim(self, text: str) -> str:
        return self._styled(text, dim=True)

    def warn(self, text: str) -> str:
        return self._styled(text, fg="yellow")

    def marked(self, text: str, places: list[tuple[int, int]]) -> str:
        pieces, done = [], 0
        for start, end in places:
            pieces += [text[done:start], self._styled(text[start:end], fg="red", bold=True)]
            done = end
        return "".join([*pieces, text[done:]])

    def _styled(self, text: str, **how: object) -> str:
        return click.style(text, **how) if self._colour else text  # type: ignore[arg-type]
