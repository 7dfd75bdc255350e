"""JSON with comments and trailing commas, as a tree that knows where in the text each value stands.

Editors of settings need the places: what they do not change must stay as it is, byte by byte.
"""

from __future__ import annotations

import json
import re
from typing import Any

from capy_core.errors import BadInput

SPACE = " \t\r\n"
_GAP = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_ATOM = re.compile(r"[-+.\w]+")


class Node:
    """A value and its place.

    Attributes:
        start, end: offsets of the value in the text.
        value: the value as Python has it.
        children: members of an object or elements of a list, in order; empty for other values.
    """

    __slots__ = ("children", "end", "start", "value")

    def __init__(self, start: int, end: int, value: Any, children: list[Child]) -> None:
        self.start, self.end, self.value, self.children = start, end, value, children

    def child(self, key: str) -> Child | None:
        """The member of this name; of several the last, as JSON readers take it."""
        return next((child for child in reversed(self.children) if child.key == key), None)


class Child:
    """A member of an object or an element of a list.

    Attributes:
        key: the member's name, None in a list.
        start: where it begins: at the name, or at the value.
        node: the value.
        comma: the offset of the comma behind it, -1 when there is none.
    """

    __slots__ = ("comma", "key", "node", "start")

    def __init__(self, key: str | None, start: int, node: Node, comma: int) -> None:
        self.key, self.start, self.node, self.comma = key, start, node, comma

    @property
    def end(self) -> int:
        return self.node.end


def parse(text: str) -> Node:
    """The document's root.

    Raises:
        BadInput: it is not JSON, with or without comments; `details` has the `line`.
    """
    try:
        root = _value(text, skip(text, 0))
    except RecursionError:
        raise BadInput("it is nested too deeply", "check the file") from None
    if skip(text, root.end) != len(text):
        raise _error(text, skip(text, root.end), "the end of the file")
    return root


def skip(text: str, at: int) -> int:
    """Where white space and comments that begin at `at` end."""
    match = _GAP.match(text, at)
    return match.end() if match else at


def _value(text: str, at: int) -> Node:
    opening = text[at : at + 1]
    if opening == "{":
        return _container(text, at, "}")
    if opening == "[":
        return _container(text, at, "]")
    match = (_STRING if opening == '"' else _ATOM).match(text, at)
    if match is None:
        raise _error(text, at, "a value")
    try:
        return Node(at, match.end(), json.loads(match[0]), [])
    except ValueError:
        raise _error(text, at, "a value") from None


def _container(text: str, start: int, closing: str) -> Node:
    children: list[Child] = []
    at = skip(text, start + 1)
    while text[at : at + 1] != closing:
        if children and children[-1].comma < 0:
            raise _error(text, at, f"a comma or {closing}")
        child = _child(text, at, closing == "}")
        at = skip(text, child.end)
        if text[at : at + 1] == ",":
            child.comma = at
            at = skip(text, at + 1)
        children.append(child)
    value: Any
    if closing == "}":
        value = {child.key: child.node.value for child in children}
    else:
        value = [child.node.value for child in children]
    return Node(start, at + 1, value, children)


def _child(text: str, at: int, named: bool) -> Child:
    if not named:
        return Child(None, at, _value(text, at), -1)
    key = _value(text, at) if text[at : at + 1] == '"' else None
    if key is None:
        raise _error(text, at, 'a name in quotes or "}"')
    colon = skip(text, key.end)
    if text[colon : colon + 1] != ":":
        raise _error(text, colon, "a colon")
    return Child(key.value, at, _value(text, skip(text, colon + 1)), -1)


def _error(text: str, at: int, wanted: str) -> BadInput:
    line = text.count("\n", 0, at) + 1
    found = f"{text[at]!r}" if at < len(text) else "the end of the file"
    return BadInput(f"line {line} is not JSON: {wanted} was expected, not {found}", "correct the file", line=line)
