"""JSON, NDJSON, broken JSON -> verbatim slices cut between members, titled with the key path where they lie.

One pass over the tokens, no tree, no recursion: whatever the depth or the damage, the slices, joined, are the text.
A slice ends at the shallowest comma (or end of a top-level value) within its size, so that items of an array are not
torn while they fit, and small members of one object stay together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

from ..documents import Chunk
from .cut import PARAGRAPHS, next_cut, placed

SIZE = 2000
_SHORTEST = SIZE // 10  # nothing shorter is cut off for the sake of a shallower place
_TITLE = 240
_DEEPEST = 40  # ancestors that a title looks at
_MOST_OPEN = 20_000  # containers that are kept account of; a text of nothing but brackets must not fill the memory
_NAMES = {name: rank for rank, name in enumerate(("name", "title", "label", "slug", "path", "key", "id"), 1)}

# A member with its scalar value and comma, a key alone, another string, a bracket, a comma. Numbers and blanks are
# skipped. A comma or closing bracket takes the end of its line with it. A string ends on its line, so that a lost
# quote spoils no more than that. Possessive: no backtracking.
_STRING = r'[^"\\\n]*+(?:\\.[^"\\\n]*+)*+'
_TOKEN = re.compile(
    rf'"({_STRING})"\s*+:\s*+(?:(?:"({_STRING})"|([\w.+-]+))(\s*+,[ \t]*+\n?)?)?'
    rf'|"{_STRING}"|([\[{{])|([\]}}](?:[ \t]*+\n)?+)|(,[ \t]*+\n?)|("{_STRING}\Z)',
    re.DOTALL,
)
# its groups; a match's lastindex says what it is
_KEY, _TEXT, _PLAIN, _MEMBER_COMMA, _OPEN, _CLOSE, _COMMA, _CUT_STRING = range(1, 9)
_REST_OF_STRING = re.compile(rf'{_STRING}"', re.DOTALL)


_NO_NAMES: list[str] = []  # shared, never filled: most containers hold no others


class _Frame:
    """A container that is open. `index` counts its commas, `key` is its last key, `name` what identifies it."""

    __slots__ = ("depth", "index", "key", "label", "name", "names", "parent", "rank", "square")

    def __init__(self, parent: _Frame | None, square: bool) -> None:
        self.parent, self.square = parent, square
        self.depth: int = parent.depth + 1 if parent else 0
        self.label: str | int = (parent.index if parent.square else parent.key) if parent else ""
        self.index: int = 0
        self.key: str = ""
        self.name, self.rank = "", 99
        self.names: list[str] = _NO_NAMES  # of the containers in it that closed since the last slice at this level

    def identify(self, value: str) -> None:
        """A scalar member that may name this container."""
        rank = _NAMES[self.key]
        if value and rank < self.rank:
            self.name, self.rank = value, rank


# Where a slice may end: offset and depth; the container there, and its count, last key and number of names then
_Place = tuple[int, int, "_Frame", int, str, int]


class Json:
    """The chunker. Open containers and an open string carry over from block to block."""

    def __init__(self, title: str, *, size: int = SIZE, line: int = 1) -> None:
        self._title, self._size, self._line = title, size, line
        self._frame = self._begin_frame = _Frame(None, False)
        self._begin_index = self._begin_depth = 0
        self._beyond = 0  # containers open within the deepest one that is kept account of
        self._in_string = False
        self._last, self._part = "", 1

    def feed(self, block: str) -> Iterator[Chunk]:
        """The chunks of a block; a block should end at the end of a line."""
        start = at = 0
        if self._in_string:
            closing = _REST_OF_STRING.match(block)
            at = closing.end() if closing else len(block)
            self._in_string = closing is None and not block.endswith("\n")
        latest = start + self._size
        places: list[_Place] = []  # ascending in offset and in depth: the first is the shallowest
        for token in _TOKEN.finditer(block, at):
            at = token.end()
            while at > latest:
                end = self._end(block, start, places)
                yield self._slice(block[start : end[0]], end)
                start = end[0]
                latest = start + self._size
            kind = token.lastindex
            if kind is None or not self._step(token, kind):
                continue
            frame = self._frame
            depth = frame.depth
            while places and places[-1][1] >= depth:
                places.pop()
            places.append((at, depth, frame, frame.index, frame.key, len(frame.names)))
            if depth < self._begin_depth and at - start >= _SHORTEST:
                yield self._slice(block[start:at], places.pop())
                start, latest = at, at + self._size
        while start < len(block):
            rest = len(block) - start
            end = self._end(block, start, places) if rest > self._size + _SHORTEST else self._here(len(block))
            yield self._slice(block[start : end[0]], end)
            start = end[0]

    def _step(self, token: re.Match[str], kind: int) -> bool:
        """Take a token in; true when a slice may end after it."""
        frame = self._frame
        if kind == _COMMA:
            frame.index += 1
            return True
        if kind <= _MEMBER_COMMA:
            frame.key = key = token[_KEY]
            if key in _NAMES and kind != _KEY:
                frame.identify(token[_TEXT] or token[_PLAIN] or "")
            if kind != _MEMBER_COMMA:
                return False
            frame.index += 1
            return True
        if kind == _OPEN and frame.depth < _MOST_OPEN:
            self._frame = _Frame(frame, token[_OPEN] == "[")
        elif kind == _OPEN:
            self._beyond += 1
        elif kind == _CLOSE:
            return self._leave(token[_CLOSE][0] == "]")
        else:  # the block ends inside a string
            self._in_string = True
        return False

    def _leave(self, square: bool) -> bool:
        """Close the container; one that was never closed (broken text) closes with the one around it."""
        if self._beyond:
            self._beyond -= 1
            return False
        frame = self._frame
        if frame.parent is not None and frame.square != square and frame.parent.square == square:
            frame = frame.parent
        if frame.parent is None or frame.square != square:
            return False
        self._frame = parent = frame.parent
        if frame.label == "metadata" and not parent.name:
            parent.name = frame.name
        name = frame.label if isinstance(frame.label, str) and frame.label else frame.name
        if name:
            if parent.names is _NO_NAMES:
                parent.names = []
            parent.names.append(name)
        return parent.depth == 0

    def _end(self, block: str, start: int, places: list[_Place]) -> _Place:
        """The best end of the slice that begins at `start`; what is before it leaves `places`."""
        for number, place in enumerate(places):
            if _SHORTEST <= place[0] - start <= self._size:
                del places[: number + 1]
                return place
        places[:] = [place for place in places if place[0] - start > self._size]
        return self._here(next_cut(block, start, self._size, PARAGRAPHS))

    def _here(self, at: int) -> _Place:
        frame = self._frame
        return at, frame.depth, frame, frame.index, frame.key, len(frame.names)

    def _slice(self, body: str, end: _Place) -> Chunk:
        title = self._title_of(end)
        self._part = self._part + 1 if title == self._last else 1
        self._last = title
        chunk = placed(f"{title} ({self._part})" if self._part > 1 else title, body, self._line, is_code=True)
        self._line += body.count("\n")
        _, self._begin_depth, self._begin_frame, self._begin_index, _, names = end
        del self._begin_frame.names[:names]
        return chunk

    def _title_of(self, end: _Place) -> str:
        """The path of the deeper of both ends, and the members between them when both are in one container."""
        _, depth, frame, index, key, names = end
        if depth > self._begin_depth:
            return _shortened(_path(frame)) or self._title
        if frame is not self._begin_frame:  # it was closed: all of its members from the beginning on
            frame = self._begin_frame
            index, key, names = frame.index + 1, frame.key, len(frame.names)
        path = _path(frame)
        shown = ", ".join(map(_plain, frame.names[: min(names, 4)])) + (", …" if names > 4 else "")
        first, last = self._begin_index, index - 1
        if frame.square:
            path += (f"[{first}]" if first >= last else f"[{first}-{last}]") + (f" {shown}" if shown else "")
        elif shown or (first == last and key):
            path = f"{path or self._title} > {shown or _plain(key)}"
        return _shortened(path) or self._title


def _path(frame: _Frame) -> str:
    """`items[3] web-2 > env` for the container."""
    segments: list[str] = []
    walk: _Frame | None = frame
    while walk is not None and walk.parent is not None:
        if len(segments) == _DEEPEST:
            segments.append("…")
            break
        label = f"[{walk.label}]" if isinstance(walk.label, int) else _plain(walk.label)
        name = f" {_plain(walk.name)}" if walk.name and isinstance(walk.label, int) else ""
        segments.append(label + name)
        walk = walk.parent
    text = ""
    for segment in reversed(segments):
        if segment:
            text += segment if segment.startswith("[") or not text else f" > {segment}"
    return text


def _plain(raw: str) -> str:
    """A JSON string's content as text, in a title's length."""
    if "\\" in raw:
        import json

        with suppress(ValueError):
            raw = str(json.loads(f'"{raw}"'))
    text = " ".join(raw[:200].split())
    return text if len(text) <= 60 else text[:59] + "…"


def _shortened(path: str) -> str:
    return path if len(path) <= _TITLE else "…" + path[-_TITLE:]
