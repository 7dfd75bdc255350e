"""Memory of what was seen lately, of a bounded size: a file of any length is read in flat memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class Recent(Generic[_Key, _Value]):
    """A mapping that forgets its oldest entries."""

    def __init__(self, most: int = 8192) -> None:
        self._most = most
        self._entries: OrderedDict[_Key, _Value] = OrderedDict()

    def get(self, key: _Key, default: _Value) -> _Value:
        """The value, or the default."""
        return self._entries.get(key, default)

    def put(self, key: _Key, value: _Value) -> None:
        """Set a value; the entry is the youngest now."""
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._most:
            self._entries.popitem(last=False)


class Parts:
    """Numbers the parts of messages, and knows those that were there before.

    Hosts write one message over several records, some of them cumulative: each repeats what came before.
    """

    def __init__(self) -> None:
        self._seen: Recent[str, dict[int, int]] = Recent()

    def number(self, message: str, *content: Hashable) -> int:
        """The part's number in its message, from 0; -1 when the message had this very content before.

        Content is told apart by its hash: nothing of it is kept.
        """
        if not message:
            return 0
        parts = self._seen.get(message, {})
        if not parts:
            self._seen.put(message, parts)
        key = hash(content)
        if key in parts:
            return -1
        parts[key] = len(parts)
        return parts[key]


def fingerprint(value: object) -> int:
    """A hash of a JSON value, for telling two apart. Those nested too deeply to be looked through share one."""
    try:
        return hash(repr(value))
    except RecursionError:
        return 0
