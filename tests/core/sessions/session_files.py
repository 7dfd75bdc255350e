"""Small session files of our own making, written as each host writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from capy_core.records import loads
from capy_core.sessions import registry
from capy_core.sessions.events import Event, Kind, Mark, Session
from capy_core.sessions.report import Report


class Read(NamedTuple):
    """A transcript that was read whole."""

    events: list[Event]
    report: Report
    session: Session

    def of(self, *kinds: Kind) -> list[Event]:
        """The events of some kinds."""
        return [event for event in self.events if event.kind in kinds]

    def texts(self, *kinds: Kind) -> list[str]:
        """Their texts."""
        return [event.text for event in self.of(*kinds)]


def as_bytes(*lines: Any) -> bytes:
    """Records and raw bytes -> lines; bytes are taken as they are, without a newline of their own."""
    return b"".join(
        line if isinstance(line, bytes) else json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines
    )


def session_of(host: str, path: Path, **fields: Any) -> Session:
    """The session that a file is, nothing looked at."""
    return Session(host, path.stem, path, path.parent.name, 0, 0, **fields)


def read_whole(session: Session, start: Mark | None = None) -> Read:
    """Read, and check what holds for every reading: lines add up, and every event's slice is what it came from."""
    report = Report()
    events = list(registry.read(session, report, start))
    assert report.lines == report.read + report.partly + report.skipped + report.blank
    assert report.kinds.total() == len(events)
    for event in events:
        raw = registry.raw(session, event.origin)
        assert len(raw) == event.origin.length
        loads(raw)
    return Read(events, report, session)
