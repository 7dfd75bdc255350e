"""The account of a reading: every line is read, blank, or located with the reason why it was not."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from .events import Event, Kind, Mark

_MOST_GAPS = 1000  # places that are listed; beyond it they are only counted
_MOST_NAMES = 1000  # unknown kinds that are counted by name
_TELLING = 1000  # bytes; a shorter file may well hold nothing but a title
_CONVERSATION = frozenset((Kind.USER, Kind.ASSISTANT, Kind.THINKING, Kind.CALL, Kind.RESULT, Kind.SUBAGENT))


class Gap(NamedTuple):
    """Lines, or the rest of one, that could not be read. Neighbours with one reason are one gap.

    `source` is as in `Origin`; `whole` is false when the line's other part was read.
    """

    reason: str
    line: int
    lines: int
    offset: int
    length: int
    whole: bool = True
    source: str = ""


class Report:
    """Filled while a session is read; complete when the events are exhausted.

    Attributes:
        lines: all lines seen = read + partly + skipped + blank, always.
        partly: lines of which some part could not be read. records: JSON objects taken from `read` and `partly` lines.
        gaps: where the unread lie, the first thousand places; `unlisted` counts further ones.
        repeated: records or parts of messages that were an exact repetition, and gave no event of their own.
        kinds: events by kind. unknown: kinds of records that the reader does not know, by the host's name for them.
        versions: what programs wrote it, by number of events.
        offset, line: how far the reading has come. told: what the file says once, for all that follows.
    """

    def __init__(self) -> None:
        self.lines = self.read = self.partly = self.skipped = self.blank = self.records = 0
        self.bytes = self.repeated = self.unlisted = 0
        self.gaps: list[Gap] = []
        self.kinds: Counter[Kind] = Counter()
        self.unknown: Counter[str] = Counter()
        self.versions: Counter[str] = Counter()
        self.offset, self.line, self.told = 0, 1, Mark()

    @property
    def mark(self) -> Mark:
        """Where a later reading may go on; a torn last line lies behind it."""
        return self.told._replace(offset=self.offset, line=self.line)

    def unread(self, gap: Gap) -> None:
        """Note lines that could not be read; they count as `partly` or `skipped`, and in `lines`."""
        self.lines += gap.lines
        if gap.whole:
            self.skipped += gap.lines
        else:
            self.partly += gap.lines
        if self.gaps and _adjoin(self.gaps[-1], gap):
            last = self.gaps[-1]
            length = gap.offset + gap.length - last.offset
            self.gaps[-1] = last._replace(lines=last.lines + gap.lines, length=length)
        elif len(self.gaps) < _MOST_GAPS:
            self.gaps.append(gap)
        else:
            self.unlisted += 1

    def saw(self, event: Event) -> None:
        """Count an event."""
        self.kinds[event.kind] += 1
        if event.kind is Kind.UNKNOWN:
            raw = event.origin.raw
            self.unknown[raw if raw in self.unknown or len(self.unknown) < _MOST_NAMES else "(others)"] += 1
        version = event.origin.version
        if version and (version in self.versions or len(self.versions) < _MOST_NAMES):
            self.versions[version] += 1

    def drift(self) -> str:
        """A sentence when a file of some size held nothing that reads as a conversation, else "".

        That is what a changed format looks like.
        """
        if self.bytes <= _TELLING or any(self.kinds[kind] for kind in _CONVERSATION):
            return ""
        version = ", ".join(self.versions) or "unknown"
        kinds = ", ".join(f"{name} {n}" for name, n in self.unknown.most_common(8)) or "none"
        return (
            f"{self.bytes} bytes hold no message: {self.records} records, {self.skipped + self.partly} of {self.lines} "
            f"lines unread, unknown kinds: {kinds}; written by version {version}"
        )


def _adjoin(last: Gap, gap: Gap) -> bool:
    same = last.whole and gap.whole and (last.reason, last.source) == (gap.reason, gap.source)
    return same and last.line + last.lines == gap.line and last.offset < gap.offset
