"""Count what sessions hold and what could not be read, file by file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..errors import CapyError
from .events import Kind, Session
from .registry import read
from .report import Gap, Report


class Row(NamedTuple):
    """One transcript, counted.

    Attributes:
        read, partly, skipped, blank: lines; together they are `lines`.
        turns: prompts that a human typed. calls, results: of tools; unlinked: results whose call is not in the file.
        agents: sub-agents that run in this file, were started from it, or have a transcript of their own beside it.
        unknown: records of kinds that the reader does not know. repeated: exact repetitions that gave no event.
        gaps: where lines were not read. problem: why the file could not be read at all.
    """

    session: Session
    bytes: int
    lines: int
    read: int
    partly: int
    skipped: int
    blank: int
    turns: int
    calls: int
    results: int
    unlinked: int
    agents: int
    events: int
    unknown: dict[str, int]
    repeated: int
    gaps: tuple[Gap, ...]
    drift: str
    problem: str = ""

    @property
    def unaccounted(self) -> int:
        """Lines that are neither read nor explained: 0, or there is a fault in a reader."""
        return self.lines - self.read - self.partly - self.skipped - self.blank


def survey(sessions: Iterable[Session]) -> Iterator[Row]:
    """A row for each session and each of its sub-agents' transcripts."""
    for session in sessions:
        yield _row(session)
        yield from map(_row, session.agents)


def _row(session: Session) -> Row:
    report, unlinked, problem = Report(), 0, ""
    agents = {agent.agent_id for agent in session.agents}
    try:
        for event in read(session, report):
            unlinked += event.kind is Kind.RESULT and event.call_at < 0
            agents |= {event.child_id, event.origin.agent_id}
    except CapyError as ex:
        problem = ex.message
    kinds = report.kinds
    return Row(
        session,
        report.bytes,
        report.lines,
        report.read,
        report.partly,
        report.skipped,
        report.blank,
        kinds[Kind.USER],
        kinds[Kind.CALL],
        kinds[Kind.RESULT],
        unlinked,
        len(agents - {"", session.agent_id}),
        kinds.total(),
        dict(report.unknown),
        report.repeated,
        tuple(report.gaps),
        report.drift(),
        problem,
    )


_HEADS = ("host", "id", "lines", "read", "partly", "not read", "blank", "turns", "calls", "agents", "why not read")


def table(rows: Iterable[Row]) -> Iterator[str]:
    """Rows as lines of text, tab-separated, with a line of heads before and one of sums behind."""
    yield "\t".join(_HEADS)
    sums = [0] * 8
    for row in rows:
        counts = [row.lines, row.read, row.partly, row.skipped, row.blank, row.turns, row.calls, row.agents]
        sums = [total + count for total, count in zip(sums, counts, strict=True)]
        why = "; ".join(
            f"line {gap.line}{f'-{gap.line + gap.lines - 1}' * (gap.lines > 1)}: {gap.reason}" for gap in row.gaps
        )
        yield "\t".join((row.session.host, row.session.id, *map(str, counts), row.problem or why or row.drift))
    yield "\t".join(("all", "", *map(str, sums), ""))
