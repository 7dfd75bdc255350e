"""Wildcards of permission rules, in time that grows with pattern times text and never faster.

`fnmatch` would import `re`, which costs a hook as much as all of its own work, and a regular expression made of
`*a*a*a*b` backtracks without end.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

STAR = None  # in a pattern: any run of items


def matches(pattern: Sequence[object], items: Sequence[str], fits: Callable[[object, str], bool]) -> bool:
    """True when all the items fit a pattern, in which STAR stands for any run of them.

    Only the last STAR is ever tried again: what an earlier one took can stay as it is.
    """
    at = place = 0
    star = retry = -1
    while place < len(items):
        if at < len(pattern) and pattern[at] is STAR:
            star, retry = at, place
            at += 1
        elif at < len(pattern) and fits(pattern[at], items[place]):
            at += 1
            place += 1
        elif star >= 0:
            retry += 1
            at, place = star + 1, retry
        else:
            return False
    return all(part is STAR for part in pattern[at:])


def text_matches(pattern: str, text: str) -> bool:
    r"""True when a text fits a pattern in which `*` is any run of characters, line breaks too, and `\*` is a star."""
    pieces = _pieces(pattern)
    if len(pieces) == 1:
        return text == pieces[0]
    first, *middle, last = pieces
    if len(text) < len(first) + len(last) or not text.startswith(first) or not text.endswith(last):
        return False
    place, end = len(first), len(text) - len(last)
    for piece in middle:
        found = text.find(piece, place, end)
        if found < 0:
            return False
        place = found + len(piece)
    return True


def overlap(pattern: str, other: str) -> bool:
    """True when some text fits both of two such patterns."""
    ours, theirs = _pieces(pattern), _pieces(other)
    if len(ours) == 1 or len(theirs) == 1:
        return text_matches(pattern, theirs[0]) if len(theirs) == 1 else text_matches(other, ours[0])
    # Each has a star: it takes in whatever the other one wants between its beginning and its end
    heads, tails = sorted((ours[0], theirs[0]), key=len), sorted((ours[-1], theirs[-1]), key=len)
    return heads[1].startswith(heads[0]) and tails[1].endswith(tails[0])


def literal(text: str) -> str:
    """The pattern that only this text fits."""
    return text.replace("*", "\\*")


def name_matches(pattern: str, name: str) -> bool:
    """True when a path's one component fits: `*`, `?`, `[a-z]`, `[!a-z]`, and a backslash before a literal."""
    return matches(_tokens(pattern), name, _fits)


def path_matches(pattern: Sequence[str], path: Sequence[str]) -> bool:
    """True when the components of a path fit; `**` is any number of components."""
    return matches([STAR if part == "**" else part for part in pattern], path, _part_fits)


def _part_fits(part: object, name: str) -> bool:
    assert isinstance(part, str)
    return part == name or (any(char in part for char in "*?[\\") and name_matches(part, name))


def _pieces(pattern: str) -> list[str]:
    if "\\*" not in pattern:
        return pattern.split("*")
    return [piece.replace("\0", "*") for piece in pattern.replace("\\*", "\0").split("*")]


def _tokens(pattern: str) -> list[object]:
    """A component's pattern as literal characters, STAR, and sets of ranges."""
    tokens: list[object] = []
    place = 0
    while place < len(pattern):
        char = pattern[place]
        place += 1
        if char == "*":
            tokens.append(STAR)
        elif char == "?":
            tokens.append((True, ()))  # all but none
        elif char == "[" and (end := pattern.find("]", place + (2 if pattern[place : place + 1] in "!^" else 1))) > 0:
            tokens.append(_set(pattern[place:end]))
            place = end + 1
        elif char == "\\" and place < len(pattern):
            tokens.append(pattern[place])
            place += 1
        else:
            tokens.append(char)
    return tokens


def _set(text: str) -> tuple[bool, tuple[tuple[str, str], ...]]:
    """Whether a `[...]` is of all others, and its ranges."""
    negated = text[0] in "!^"
    text = text[negated:]
    ranges = []
    place = 0
    while place < len(text):
        last = place + 2 if text[place + 1 : place + 2] == "-" and place + 2 < len(text) else place
        ranges.append((text[place], text[last]))
        place = last + 1
    return negated, tuple(ranges)


def _fits(token: object, char: str) -> bool:
    if isinstance(token, tuple):
        negated, ranges = token
        return bool(negated) != any(low <= char <= high for low, high in ranges)
    return token == char
