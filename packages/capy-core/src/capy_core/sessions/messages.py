"""Events -> messages: the parts of an assistant's message together, with the results of its calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .events import Event, Kind

_MOST_OPEN = 64  # transcripts that interleave: runs of sub-agents in the old layout
_ENDING = frozenset((Kind.USER, Kind.SUBAGENT, Kind.COMPACTION, Kind.SUMMARY))


class Message(NamedTuple):
    """One message: its parts in order, and the results that its calls had.

    All other events are messages of one part.
    """

    parts: tuple[Event, ...]
    results: tuple[Event, ...] = ()

    def result(self, call: Event) -> Event | None:
        """The result of a call among the parts, None when there is none (or not yet)."""
        return next((result for result in self.results if result.call_id == call.call_id), None)


class _Open:
    def __init__(self, first: Event) -> None:
        self.parts: list[Event] = [first]
        self.results: list[Event] = []

    def close(self) -> Message:
        return Message(tuple(self.parts), tuple(self.results))


def merge(events: Iterable[Event]) -> Iterator[Message]:
    """Put messages together; parts may have results, progress and other transcripts' records between them.

    A message is yielded when its transcript goes on with another one, so what stood between its parts (progress,
    context) comes before it. What is held is one message for each transcript that is going on.
    """
    going: dict[str, _Open] = {}
    for event in events:
        agent = event.origin.agent_id
        current = going.get(agent)
        if event.kind is Kind.RESULT:
            if current and any(part.kind is Kind.CALL and part.call_id == event.call_id for part in current.parts):
                current.results.append(event)
            else:
                yield Message((event,))
        elif event.message_id and event.role == "assistant":
            if current and current.parts[0].message_id == event.message_id:
                current.parts.append(event)
                continue
            if current:
                yield going.pop(agent).close()
            going[agent] = _Open(event)
            if len(going) > _MOST_OPEN:
                yield going.pop(next(iter(going))).close()
        else:
            if current and event.kind in _ENDING:
                yield going.pop(agent).close()
            yield Message((event,))
    for last in going.values():
        yield last.close()
