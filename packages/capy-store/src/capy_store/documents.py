"""What goes into the store and what comes out: plain values, shared by indexing, search and the commands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

KINDS = ("durable", "ephemeral", "session")
CONTENT_TYPES = ("markdown", "json", "output", "text", "code", "transcript")


class Chunk(NamedTuple):
    """A piece of a document: whole lines where possible, verbatim.

    Args:
        title: heading path, key path, or the command that printed it.
        body: the text, a verbatim slice of the document, newlines at its end included: the bodies of a document,
            joined, are the document (transcripts excepted: their chunks may overlap).
        line_start, line_end: its place in the document, 1-based, inclusive, blank lines at both ends left out.
        is_code: it is code rather than prose (raises its retention).
    """

    title: str
    body: str
    line_start: int
    line_end: int
    is_code: bool = False


class Part(NamedTuple):
    """One of several texts under a label, such as a command's stdout and stderr. `content_type` "" means detect it."""

    title: str
    content: str
    content_type: str = ""


@dataclass
class Document:
    """A text to index (not yet redacted).

    Args:
        label: the source's unique name.
        content: the text; ignored when `chunks` or `parts` is given.
        kind: durable, ephemeral or session.
        content_type: one of CONTENT_TYPES, or "" to detect it.
        chunks: pre-chunked text (transcripts), else None.
        parts: several texts, each under its own title, else None.
        path, url: where the text came from, if known.
        meta: JSON-ready facts of the producer.
    """

    label: str
    content: str = ""
    kind: str = "durable"
    content_type: str = ""
    title: str = ""
    chunks: list[Chunk] | None = None
    parts: list[Part] | None = None
    path: str | None = None
    url: str | None = None
    meta: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class IndexResult:
    """What indexing one document did. `status` is indexed, replaced or unchanged; counts are real in all three."""

    source: str
    source_id: int
    status: str
    kind: str
    content_type: str
    chunks: int
    code_chunks: int
    bytes: int
    lines: int
    redactions: int
    trigram: bool


@dataclass(frozen=True)
class Hit:
    """One answer to a query: a chunk, or for tool output the window of whole lines that answers.

    `content` is what the hit stands for, `snippet` the lines of it that match best (a terminal's worth).
    """

    label: str
    title: str
    content: str
    snippet: str
    score: float
    layers: tuple[str, ...]  # porter, part, cjk, trigram, fuzzy: which lanes found it
    line_start: int
    line_end: int
    kind: str
    content_type: str
    chunk: int
    source_id: int
    indexed_at: int
    path: str | None = None
    url: str | None = None
    stale: str = ""  # "" | "changed" | "missing": the file behind it, checked at answer time


@dataclass(frozen=True)
class SearchResult:
    """The hits of one query, and what was done to it: corrected words, notes about limits that were reached."""

    query: str
    hits: list[Hit]
    corrected: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
