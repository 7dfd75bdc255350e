"""Entries of ours in a JSON file of the user's: put in, found and taken out without touching another byte.

Taking out undoes putting in from the text alone, so putting in leaves two traces:

- A container that stood there empty gets one space in front of what we write into it; one that we made ourselves has
  none. So `{"hooks": {}}` comes back as it was, and a `"hooks"` of ours goes away.
- Where the last of a list or object has a comma behind it, ours gets one too; else ours brings the comma before it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from capy_core.errors import BadInput

from .jsonc import SPACE, Child, Node, parse

_MARK = " "
_COMMENTS_OF_LINE = re.compile(r"(?:[ \t]*(?://[^\n]*|/\*[^\n]*?\*/))+")
_INDENT = re.compile(r"[ \t]*")


class Entry(NamedTuple):
    """One value of ours: an element of the list at `path`, or its member `key` where a key is given."""

    path: tuple[str, ...]
    value: Any
    key: str | None = None


class Entries:
    """All our values in one file.

    Args:
        wanted: what shall stand there.
        under: the path below which ours are looked for.
        is_ours: tells an element or a member of ours, of this version or another, by its name and value.
        template: what a new file of this host holds beside our entries.
    """

    mode: int | None = None

    def __init__(
        self,
        wanted: list[Entry],
        under: tuple[str, ...],
        is_ours: Callable[[str | None, Any], bool],
        template: dict[str, Any] | None = None,
    ) -> None:
        self.wanted, self.under, self.is_ours = wanted, under, is_ours
        self._template = template or {}
        self._new_file = json.dumps(self._template, indent=2) + "\n"

    def put(self, text: str | None) -> str:
        """The text with our entries; the very same when they stand there already. None is a missing file.

        Raises:
            BadInput: it is not JSON, or something else stands where our entries belong.
        """
        if text is not None:
            if self._present(text) == self.wanted:
                return text
            text = self.take(text)
        mark = "" if text is None else _MARK
        text = self._new_file if text is None else text
        for entry in self.wanted:
            text = _insert(text, entry, mark, set(self._template))
        return text

    def take(self, text: str) -> str | None:
        """The text without our entries, byte for byte as it was before; None when the file was ours altogether.

        Raises:
            BadInput: it is not JSON.
        """
        found = marked = False
        while targets := list(self._ours(text)):
            found = True
            # The last one first: what was put in last is taken out first
            container, child = _with_emptied(text, *targets[-1][1:])
            marked = marked or _is_marked(text, container, child)
            text = _remove(text, container, child)
        return None if found and not marked and text == self._new_file else text

    def _present(self, text: str) -> list[Entry]:
        return [Entry(path, child.node.value, child.key) for path, _, child in self._ours(text)]

    def _ours(self, text: str) -> Iterator[tuple[tuple[str, ...], list[Node | Child], Child]]:
        """Path, links from the root down to the container, and the child, of each value of ours."""
        node = parse(text)
        links: list[Node | Child] = [node]
        for name in self.under:
            child = node.child(name)
            if child is None:
                return
            node = child.node
            links.append(child)
        yield from self._below(node, self.under, links)

    def _below(
        self, node: Node, path: tuple[str, ...], links: list[Node | Child]
    ) -> Iterator[tuple[tuple[str, ...], list[Node | Child], Child]]:
        for child in node.children:
            if self.is_ours(child.key, child.node.value):
                yield path, links, child
            else:
                deeper = path if child.key is None else (*path, child.key)
                yield from self._below(child.node, deeper, [*links, child])


def _insert(text: str, entry: Entry, mark: str, template: set[str]) -> str:
    root = parse(text)
    node, rest = root, list(entry.path)
    while rest and isinstance(node.value, dict) and (child := node.child(rest[0])):
        node = child.node
        rest.pop(0)
    key, value = entry.key, entry.value
    if rest:  # the containers that are missing come along
        value = [value] if key is None else {key: value}
        for name in reversed(rest[1:]):
            value = {name: value}
        key = rest[0]
    if not isinstance(node.value, list if key is None else dict):
        place = ".".join(entry.path[: len(entry.path) - len(rest)]) or "the file"
        raise BadInput(f"{place} is not {'a list' if key is None else 'an object'}", "correct the file")
    if key is not None and node.child(key):
        raise BadInput(f"{'.'.join(entry.path)}.{key} stands there, and is not of capy's making", "remove it")
    if node is root:
        mark = mark if {child.key for child in root.children} <= template else ""
    elif not node.children:
        mark = _MARK
    else:
        mark = ""
    return _append(text, root, node, key, value, mark) if node.children else _fill(text, root, node, key, value, mark)


def _fill(text: str, root: Node, container: Node, key: str | None, value: Any, mark: str) -> str:
    """Put the first child into an empty container."""
    at = container.start + 1
    if root.children and "\n" not in text[root.start : root.end]:
        return text[:at] + mark + _rendered(text, root, key, value, "") + text[at:]
    closer = _newline(text) + _indent_of_line(text, container.start)
    before = closer + _unit(text, root)
    return text[:at] + mark + before + _rendered(text, root, key, value, before) + closer + text[at:]


def _append(text: str, root: Node, container: Node, key: str | None, value: Any, mark: str) -> str:
    """Put a child behind the last one, and behind the comments on its line."""
    last = container.children[-1]
    gap = text[_gap_start(text, last.start) : last.start]
    if "\n" in gap:
        before = _newline(text) + gap.rpartition("\n")[2]
    else:
        before = gap if len(container.children) > 1 else " "
    has_comma = last.comma >= 0
    at = last.comma + 1 if has_comma else last.end
    if comments := _COMMENTS_OF_LINE.match(text, at):
        at += len(comments[0].rstrip(SPACE))
        if "\n" not in before:  # a line comment ends with its line
            before = _newline(text) + _indent_of_line(text, last.start)
    item = mark + before + _rendered(text, root, key, value, before)
    if has_comma:
        return text[:at] + item + "," + text[at:]
    return text[: last.end] + "," + text[last.end : at] + item + text[at:]


def _remove(text: str, container: Node, child: Child) -> str:
    """The inverse of `_fill` and `_append`."""
    start = _gap_start(text, child.start)
    end = max(child.end, child.comma + 1)
    place = container.children.index(child)
    if len(container.children) == 1:
        gap = text[start : child.start]
        if "\n" in gap:
            closer = ("\r\n" if "\r\n" in gap else "\n") + _indent_of_line(text, container.start)
            end += len(closer) if text.startswith(closer, end) else 0
    elif place == 0:
        start += text.startswith(_MARK, start)  # it marks the container, whose other children stay
    elif child.comma < 0:
        comma = container.children[place - 1].comma
        return _joined(text[:comma] + text[comma + 1 : start], text[end:])
    return _joined(text[:start], text[end:])


def _joined(before: str, after: str) -> str:
    """Both together; a line comment of the user's that now would reach into the rest keeps its line's end."""
    try:
        parse(before + after)
    except BadInput:
        return before + _newline(before) + after
    return before + after


def _with_emptied(text: str, links: list[Node | Child], child: Child) -> tuple[Node, Child]:
    """What goes with a child of ours: the containers around it that we made and that it would leave empty."""
    while True:
        container = links[-1].node if isinstance(links[-1], Child) else links[-1]
        around = text[container.start + 1 : child.start] + text[max(child.end, child.comma + 1) : container.end - 1]
        link = links[-1]
        is_kept = around.strip(SPACE) or _is_marked(text, container, child)  # a comment of the user's, or the container
        if not isinstance(link, Child) or len(container.children) > 1 or is_kept:
            return container, child
        links, child = links[:-1], link


def _is_marked(text: str, container: Node, child: Child) -> bool:
    gap = text[_gap_start(text, child.start) : child.start]
    return gap.startswith(_MARK) and (container.children[0] is child or len(gap) > 1)


def _rendered(text: str, root: Node, key: str | None, value: Any, before: str) -> str:
    """The child as JSON: over several lines when a line break stands before it."""
    if "\n" not in before:
        raw = json.dumps(value, ensure_ascii=False)
    else:
        raw = json.dumps(value, ensure_ascii=False, indent=_unit(text, root)).replace("\n", before)
    return raw if key is None else f"{json.dumps(key, ensure_ascii=False)}: {raw}"


def _unit(text: str, root: Node) -> str:
    """One step of indentation, as the root's first child has it."""
    if root.children:
        first = root.children[0].start
        gap = text[_gap_start(text, first) : first]
        if "\n" in gap and (unit := gap.rpartition("\n")[2]):
            return unit
    return "  "


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _indent_of_line(text: str, at: int) -> str:
    match = _INDENT.match(text, text.rfind("\n", 0, at) + 1)
    return match[0] if match else ""


def _gap_start(text: str, at: int) -> int:
    return len(text[:at].rstrip(SPACE))
