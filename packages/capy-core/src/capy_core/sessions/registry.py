"""Which hosts there are. A further one is one module with the functions of `Reader`, and a line here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from .events import Event, Mark, Origin, Session
from .report import Report
from .tree import Note

HOSTS = {name: f"capy_core.sessions.{name}" for name in ("claude", "codex", "gemini", "opencode")}


class Reader(Protocol):
    """What a host's module can do."""

    def roots(self) -> tuple[Path, ...]:
        """The folders where the host keeps sessions on this machine; they need not exist."""

    def find(self, root: Path, notes: list[Note]) -> Iterator[Session]:
        """The sessions below such a folder, sub-agents and other files attached; what is passed over is noted."""

    def recognises(self, path: Path, start: bytes) -> bool:
        """Whether a file, of which the first bytes are given, holds a session of the host."""

    def at(self, paths: Iterable[Path], notes: list[Note]) -> Iterator[Session]:
        """The sessions that such files hold."""

    def read(self, session: Session, report: Report, start: Mark | None = None) -> Iterator[Event]:
        """The events of one transcript."""

    def raw(self, session: Session, origin: Origin) -> bytes:
        """The JSON that an event was read from."""


def reader(host: str) -> Reader:
    """A host's module; loaded when it is first asked for."""
    return cast(Reader, import_module(HOSTS[host]))


def read(session: Session, report: Report | None = None, start: Mark | None = None) -> Iterator[Event]:
    """The events of one transcript, in its order; sub-agents are transcripts of their own (`session.agents`).

    Memory does not grow with the file: an event is forgotten here as soon as it is yielded.

    Args:
        report: filled on the way.
        start: the mark of an earlier report, where the host appends to its files; others are read whole.

    Raises:
        NotFound: the file is gone. SystemFailure: it cannot be read. Busy: a database is locked.
        BadInput: a database is damaged, or a compressed file needs a module that is not installed.
        Never for what a file holds: that is in the report.
    """
    report = report if report is not None else Report()
    for event in reader(session.host).read(session, report, start):
        report.saw(event)
        yield event


def raw(session: Session, origin: Origin) -> bytes:
    """The JSON that an event was read from, byte for byte; for what an event does not carry."""
    return reader(session.host).raw(session, origin)
