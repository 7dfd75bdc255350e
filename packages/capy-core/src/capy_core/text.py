"""Cut text to a budget of bytes, in whole lines where they fit and never inside a character.

A character is what a reader sees as one, as far as that is cheap to tell: a UTF-8 sequence, a base with its combining
marks, an emoji sequence (joiners, variation selectors, skin tones, flags), and "\\r\\n". Conjoining Hangul letters and
the rarer rules of Unicode's UAX 29 are not looked at. Bytes that are not UTF-8 are cut where the budget ends.
"""

from __future__ import annotations

from typing import AnyStr, Generic, NamedTuple

_LOOK_BACK = 64  # bytes; more combining marks than this are noise, and may be cut
_LONGEST = 4  # bytes of one UTF-8 sequence
_JOINER = "\u200d"


class Cut(NamedTuple, Generic[AnyStr]):
    """What is kept of a text (`head`, then `tail`) and how much lay between: bytes of UTF-8, and lines not whole."""

    head: AnyStr
    tail: AnyStr
    cut_bytes: int
    cut_lines: int


def cut_head(data: AnyStr, limit_bytes: int) -> Cut[AnyStr]:
    """Keep the first `limit_bytes` bytes at most."""
    return cut_middle(data, limit_bytes, head_share=1)


def cut_tail(data: AnyStr, limit_bytes: int) -> Cut[AnyStr]:
    """Keep the last `limit_bytes` bytes at most."""
    return cut_middle(data, limit_bytes, head_share=0)


def cut_middle(data: AnyStr, limit_bytes: int, *, head_share: float = 0.6) -> Cut[AnyStr]:
    """Keep the head and the tail of a text, `limit_bytes` bytes of UTF-8 together at most.

    Each end is cut after a newline if that keeps at least half of its share, so that one endless line does not
    cost the room it stands in.

    Args:
        data: text or bytes; both parts come back in the same type. Lone surrogates count as three bytes.
        head_share: the part of the budget that goes to the head, 0 to 1.

    Returns:
        A text within the budget as `head`, an empty tail and two zeros; else what is left. The caller puts its
        marker between the two; `head + cut + tail` is the whole text.
    """
    raw = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
    if len(raw) <= limit_bytes:
        return Cut(data, data[:0], 0, 0)
    for_head = min(int(limit_bytes * head_share), limit_bytes)
    end = _end_of_head(raw, for_head)
    start = _start_of_tail(raw, len(raw) - (limit_bytes - for_head), end)
    missing = raw[end:start]
    lines = missing.count(b"\n") + (not missing.endswith(b"\n"))
    head, tail = raw[:end], raw[start:]
    if isinstance(data, bytes):
        return Cut(head, tail, len(missing), lines)
    return Cut(head.decode("utf-8", "surrogatepass"), tail.decode("utf-8", "surrogatepass"), len(missing), lines)


def _end_of_head(raw: bytes, limit: int) -> int:
    newline = raw.rfind(b"\n", limit // 2, limit)
    return newline + 1 if newline >= 0 else _boundary(raw, limit, -1)


def _start_of_tail(raw: bytes, start: int, lowest: int) -> int:
    room = len(raw) - start
    if start > lowest and raw[start - 1 : start] == b"\n":
        return start
    newline = raw.find(b"\n", start, start + room // 2)
    return newline + 1 if newline >= 0 else _boundary(raw, start, 1)


def _boundary(raw: bytes, at: int, step: int) -> int:
    """The nearest place from `at` on, in direction `step`, that splits no character.

    Where none is near, the nearest that splits no UTF-8 sequence, and in bytes that are not UTF-8 `at` itself.
    """
    place, whole = at, at if _is_start(raw, at) else None
    while 0 < place < len(raw) and abs(place - at) <= _LOOK_BACK:
        if _is_start(raw, place):
            if not _joined(raw, place):
                return place
            whole = place if whole is None else whole
        elif whole is None and abs(place - at) > _LONGEST:
            return at
        place += step
    return place if place in (0, len(raw)) else at if whole is None else whole


def _is_start(raw: bytes, place: int) -> bool:
    return place in (0, len(raw)) or raw[place] & 0xC0 != 0x80


def _joined(raw: bytes, place: int) -> bool:
    """True when the characters on both sides of a UTF-8 boundary read as one."""
    if raw[place] < 0x80:
        return raw[place - 1 : place + 1] == b"\r\n"
    before = raw[max(0, place - _LOOK_BACK) : place].decode("utf-8", "ignore")
    after = raw[place : place + 4].decode("utf-8", "ignore")[:1]
    if not before or not after:
        return False
    if _is_flag_letter(after):
        flags = len(before) - len(before.rstrip("".join(map(chr, range(0x1F1E6, 0x1F200)))))
        return flags % 2 == 1
    return before[-1] == _JOINER or _extends(after)


def _extends(char: str) -> bool:
    from unicodedata import category

    point = ord(char)
    # marks and variation selectors; joiner; skin tones; tags (flags of regions)
    return category(char)[0] == "M" or char == _JOINER or 0x1F3FB <= point <= 0x1F3FF or 0xE0020 <= point <= 0xE007F


def _is_flag_letter(char: str) -> bool:
    return 0x1F1E6 <= ord(char) <= 0x1F1FF
