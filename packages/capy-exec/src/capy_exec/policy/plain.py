"""Parse shell, without the spellings that tree-sitter's grammar for bash gets wrong.

Found by letting bash run random scripts and comparing: a backslash before a newline splits a word, one before a blank
is taken for a blank (so `echo \\ #; x` hides `x` in a comment), a line that begins with one continues the line before
it, and empty backticks swallow a newline. So a first tree only tells quoted text from the rest, in which these are
written plainly; then the text is parsed again, until nothing changes.
"""

from __future__ import annotations

from capy_exec.policy.grammars import parse
from capy_exec.policy.walk import LITERAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tree_sitter import Node

_ATTEMPTS = 4
_ASCII = bytes(range(128)) + b"." * 128
"""The grammar's scanner looks characters up in a table for bytes, and crashes on some beyond ASCII. To a shell they are
plain parts of words, as is a dot; positions stay the same."""
_TEXT = frozenset(["string", "expansion", "regex", "extglob_pattern"])
_KEPT, _JOINED = 0, 1  # a range that stays as it is; one in which only line continuations go


class TooHard(Exception):
    """The text cannot be read; the reason is its argument."""


def parse_plainly(source: bytes) -> tuple[Node, bytes]:
    """The root of the syntax tree, and the source that it is of, which means the same as `source` (UTF-8).

    Raises:
        TooHard: it takes too long, or never comes to rest.
    """
    for _attempt in range(_ATTEMPTS):
        tree = parse("tree_sitter_bash", source.translate(_ASCII))
        if tree is None:
            raise TooHard("it takes too long to parse")
        plain = _rewrite(tree.root_node, source) if b"\\" in source else source
        if plain == source:
            return tree.root_node, source
        source = plain
    raise TooHard("its backslashes cannot be told from text")


def _rewrite(root: Node, source: bytes) -> bytes:
    out: list[bytes] = []
    start = 0
    for begin, end, kind in [*_ranges(root, source), (len(source), len(source), _KEPT)]:
        out.append(_unquoted(source[start:begin]))
        out.append(_without_continuations(source[begin:end]) if kind == _JOINED else source[begin:end])
        start = end
    return b"".join(out)


def _ranges(root: Node, source: bytes) -> list[tuple[int, int, int]]:
    """The quoted parts of the source, in order: (start, end, kind)."""
    found: list[tuple[int, int, int]] = []
    pending = [root]
    while pending:
        node = pending.pop()
        backticks = node.type == "command_substitution" and source[node.start_byte] == ord("`")
        if node.type in LITERAL or backticks:
            found.append((node.start_byte, node.end_byte, _KEPT))
        elif node.type in _TEXT:
            start = node.start_byte
            for child in node.children:
                if child.child_count:
                    found.append((start, child.start_byte, _JOINED))
                    pending.append(child)
                    start = child.end_byte
            found.append((start, node.end_byte, _JOINED))
        else:
            pending.extend(node.children)
    return sorted(found)


def _unquoted(source: bytes) -> bytes:
    r"""Source outside quotes, with `'x'` for `\x`, nothing for `\` + newline, and an expansion for empty backticks."""
    out: list[bytes] = []
    start = 0
    while 0 <= (at := source.find(b"\\", start)) < len(source) - 1:
        end = at + 2
        while end < len(source) and source[end] & 0xC0 == 0x80:  # the rest of a UTF-8 character
            end += 1
        char = source[at + 1 : end]
        before = source[start:at]
        if before.endswith(b"$"):  # $'x' would be something else
            before, char = before[:-1], b"$" + char
        out.append(before)
        out.append(char[:-1] if char.endswith(b"\n") else b"'" + char.replace(b"'", b"'\"'\"'") + b"'")
        start = end
    return b"".join([*out, source[start:]])


def _without_continuations(source: bytes) -> bytes:
    out: list[bytes] = []
    start = at = 0
    while (at := source.find(b"\\", at)) >= 0:
        if source[at + 1 : at + 2] == b"\n":
            out.append(source[start:at])
            start = at + 2
        at += 2
    return b"".join([*out, source[start:]])
