"""What the server replies about an output, from the same functions, without running anything.

Each takes a text and the questions to it, and gives the reply to each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from capy_core.secrets import redact

from .scratch import scratch_store

if TYPE_CHECKING:
    from capy_exec.request import Result

LABEL = "output"
HITS = 3  # of a search that names no limit


def intent(text: str, questions: Sequence[str]) -> Iterator[str]:
    """The reply to a command that printed the text and was run with the question as its intent."""
    from capy_mcp import reply
    from capy_store.evidence import find

    result = _printed(text)
    for question in questions:
        yield reply.intent(result, find(result.stdout.head, question), LABEL)


def search(text: str, questions: Sequence[str]) -> Iterator[str]:
    """The reply to a search for the question, after the text was indexed into a store of its own."""
    from capy_mcp import reply
    from capy_store.documents import Document

    size = len(text.encode("utf-8", "replace"))
    with scratch_store([Document(LABEL, text, kind="ephemeral")]) as store:
        for question in questions:
            yield reply.search([store.search(question, limit=HITS)], raw_bytes=size)


def batch(text: str, questions: Sequence[str]) -> Iterator[str]:
    """The reply to a batch of one command that printed the text, with the question as its only query."""
    from capy_mcp import reply
    from capy_store.evidence import find

    result = _printed(text)
    for question in questions:
        yield reply.batch([result], [find(result.stdout.head, [question])], [LABEL])


SERVER = {"intent": intent, "search": search, "batch": batch}


def _printed(text: str) -> Result:
    """The result of a command that succeeded and printed the text, redacted as the runner does it."""
    from capy_exec.request import Result
    from capy_exec.stream import Shown

    size = len(text.encode("utf-8", "replace"))
    return Result(
        LABEL, "shell", f"cat {LABEL}", "ok", "", "", "", exit_code=0, stdout=Shown(redact(text)), stdout_bytes=size
    )
