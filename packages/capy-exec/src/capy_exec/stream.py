"""Output in bounded memory: the first and the last bytes of a stream are kept, what lies between is counted.

Secrets are removed from what is kept, not from all that passes, so a little more than the budget is kept on both sides
of the gap: a secret that the gap would cut in two is still whole when it is looked for.
"""

from __future__ import annotations

import sys
from codecs import getincrementaldecoder
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from capy_core.text import cut_head, cut_middle, cut_tail

if TYPE_CHECKING:
    from capy_core.secrets import StreamRedactor

HEAD_SHARE = 0.6
_MARGIN = 256 * 1024  # the longest block that redaction sees as one (capy_core.secrets.BLOCK)


class HeadTail:
    """The first `head` and the last `tail` bytes of a stream, in memory of `head + 2 * tail` bytes and one feed.

    Args:
        head: bytes kept from the start; None keeps everything.
        tail: bytes kept from the end, of those that do not belong to the head.
    """

    def __init__(self, head: int | None, tail: int = 0) -> None:
        self._room, self._tail_size = head, tail
        self._head, self._tail = bytearray(), bytearray()
        self.total = 0
        """Bytes fed."""
        self.newlines = 0
        """Newlines fed."""

    def feed(self, data: memoryview) -> None:
        """Take the next bytes; they are copied."""
        chunk = bytes(data)
        self.total += len(chunk)
        self.newlines += chunk.count(b"\n")
        if self._room is None:
            self._head += chunk
            return
        if self._room:
            self._head += chunk[: self._room]
            chunk, self._room = chunk[self._room :], max(0, self._room - len(chunk))
        self._tail += chunk[-self._tail_size :] if self._tail_size else b""
        if len(self._tail) > 2 * self._tail_size:
            del self._tail[: -self._tail_size or None]

    @property
    def head(self) -> bytes:
        """The first bytes."""
        return bytes(self._head)

    @property
    def tail(self) -> bytes:
        """The last bytes; none of the head's."""
        return bytes(self._tail[-self._tail_size :]) if self._tail_size else b""

    @property
    def dropped(self) -> int:
        """How many bytes lay between head and tail."""
        return self.total - len(self._head) - min(len(self._tail), self._tail_size)


class Shown(NamedTuple):
    """A stream as it is shown: redacted text, and what is missing in the middle.

    Args:
        head: the text, or its beginning when something was cut.
        tail: its end; "" when nothing was cut.
        cut_bytes: bytes missing between the two.
        cut_lines: lines missing between the two.
        raw: the redacted bytes, when nothing was cut and they are not UTF-8.
    """

    head: str
    tail: str = ""
    cut_bytes: int = 0
    cut_lines: int = 0
    raw: bytes | None = None

    def text(self, marker: str) -> str:
        """The whole, with the marker on a line of its own where something was cut."""
        if not self.cut_bytes:
            return self.head
        return f"{self.head}{'' if self.head.endswith(chr(10)) else chr(10)}{marker}\n{self.tail}"


NOTHING = Shown("")


def capture(budget: int | None) -> HeadTail:
    """What to feed a stream to when at most `budget` bytes of it will be shown; None for all of it."""
    if budget is None:
        return HeadTail(None)
    head = int(budget * HEAD_SHARE)
    return HeadTail(head + _MARGIN, budget - head + _MARGIN)


def show(kept: HeadTail, budget: int | None) -> Shown:
    """Redact what was kept of a stream and cut it to a budget of bytes, on line or character boundaries.

    The counts of what is missing are exact as long as redaction changed no lengths.
    """
    from capy_core.secrets import redact_bytes

    if not kept.dropped:
        data = redact_bytes(kept.head + kept.tail if kept.tail else kept.head)
        if budget is None or len(data) <= budget:
            return _whole(data)
        cut = cut_middle(data, budget, head_share=HEAD_SHARE)
        head, tail, missing, lines = cut
    else:
        assert budget is not None
        for_head = int(budget * HEAD_SHARE)
        head = cut_head(redact_bytes(kept.head), for_head).head
        tail = cut_tail(redact_bytes(kept.tail), budget - for_head).tail
        missing = max(1, kept.total - len(head) - len(tail))
        lines = max(1, kept.newlines - head.count(b"\n") - tail.count(b"\n"))
    return Shown(head.decode("utf-8", "replace"), tail.decode("utf-8", "replace"), missing, lines)


class Live:
    """A stream passed on as it comes, redacted, in whole lines; beyond a budget its middle is left out.

    Args:
        write: gets the bytes.
        budget: bytes of redacted output to pass on; None for all.
        marker: makes the line that stands where output was left out, from the bytes and lines missing.
    """

    def __init__(self, write: Callable[[bytes], object], budget: int | None, marker: Callable[[int, int], str]) -> None:
        self._write, self._marker = write, marker
        self._for_head = sys.maxsize if budget is None else int(budget * HEAD_SHARE)
        self._for_tail = 0 if budget is None else budget - self._for_head
        self._decoder = getincrementaldecoder("utf-8")("surrogateescape")
        self._redactor: StreamRedactor | None = None
        self._head = HeadTail(0)  # counts what was passed on
        self._over = bytearray()  # redacted, but beyond the head
        self._raw = HeadTail(0, self._for_tail + _MARGIN if budget is not None else 0)
        self._head_is_over = False
        self._at_line_start = True
        self.cut = False
        """True when something was left out."""

    @property
    def total(self) -> int:
        """Bytes fed."""
        return self._raw.total

    def feed(self, data: memoryview) -> None:
        """Take the next bytes."""
        self._raw.feed(data)
        if self._head_is_over:
            return
        self._pass(self._redact().feed(self._decoder.decode(data)))
        # From here on the tail is redacted by itself: only the end of the stream tells what belongs to it
        if self._over and self.total > self._for_head + 2 * _MARGIN + self._for_tail:
            self._head_is_over, self._redactor = True, None
            self._over.clear()

    def finish(self) -> None:
        """Pass on what was held back. To be called once, at the end."""
        if self._head_is_over:
            from capy_core.secrets import redact_bytes

            rest = redact_bytes(self._raw.tail)
        elif self._redactor:
            self._pass(self._redactor.feed(self._decoder.decode(b"", True)) + self._redactor.finish())
            rest = bytes(self._over)
        else:
            return
        if self._head_is_over or len(rest) > self._for_tail:
            self.cut = True
            rest = cut_tail(rest, self._for_tail).tail
            missing = self.total - self._head.total - len(rest)
            lines = self._raw.newlines - self._head.newlines - rest.count(b"\n")
            start = "" if self._at_line_start else "\n"
            self._write(f"{start}{self._marker(max(1, missing), max(1, lines))}\n".encode())
        if rest:
            self._write(rest)

    def _redact(self) -> StreamRedactor:
        if self._redactor is None:
            from capy_core.secrets import StreamRedactor

            self._redactor = StreamRedactor()
        return self._redactor

    def _pass(self, text: str) -> None:
        """Write what still belongs to the head, keep the rest."""
        data = text.encode("utf-8", "surrogateescape")
        room = 0 if self._over else self._for_head - self._head.total
        head = data if len(data) <= room else cut_head(data, room).head
        self._over += data[len(head) :]
        if head:
            self._head.feed(memoryview(head))
            self._at_line_start = head.endswith(b"\n")
            self._write(head)


def marker(cut_bytes: int, cut_lines: int, label: str) -> str:
    """The line that stands where output was cut: how much, and how to get it."""
    from shlex import quote

    return (
        f"[capy: {cut_bytes:,} bytes ({cut_lines:,} lines) cut here; for all of it run again with --max-output 0, "
        f"or with --format text --max-output 0 | capy-store index --label {quote(label)}]"
    )


def _whole(data: bytes) -> Shown:
    try:
        return Shown(data.decode("utf-8"))
    except UnicodeDecodeError:
        return Shown(data.decode("utf-8", "replace"), raw=data)
