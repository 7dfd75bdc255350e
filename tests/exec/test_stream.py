"""Output in bounded memory: what is kept, where it is cut, and that no secret slips through the cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capy_exec.stream import HeadTail, Live, Shown, capture, marker, show

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


def fed(kept: HeadTail, data: bytes, size: int = 1 << 16) -> HeadTail:
    """The sink after it took the data in pieces."""
    for at in range(0, len(data), size):
        kept.feed(memoryview(data)[at : at + size])
    return kept


def shown(data: bytes, budget: int | None) -> Shown:
    """The data as it is shown within a budget."""
    return show(fed(capture(budget), data), budget)


@given(
    st.lists(st.binary(max_size=40), max_size=20),
    st.one_of(st.none(), st.integers(0, 60)),
    st.integers(0, 60),
)
def test_head_and_tail_are_those_of_plain_slicing_however_the_data_comes(
    pieces: list[bytes], head: int | None, tail: int
) -> None:
    kept = HeadTail(head, tail)
    for piece in pieces:
        kept.feed(memoryview(piece))
    data = b"".join(pieces)
    first = data if head is None else data[:head]
    rest = data[len(first) :]
    last = rest[-tail:] if tail else b""
    assert (kept.head, kept.tail) == (first, last)
    assert kept.dropped == len(rest) - len(last)
    assert (kept.total, kept.newlines) == (len(data), data.count(b"\n"))


def test_memory_does_not_grow_with_the_stream() -> None:
    kept = capture(100_000)
    piece = memoryview(b"x" * 65_536)
    for _ in range(2000):
        kept.feed(piece)
    held = len(kept._head) + len(kept._tail)
    assert held < 2_000_000
    assert kept.total == 2000 * 65_536


def test_output_within_the_budget_is_left_alone() -> None:
    assert shown(b"one\ntwo\n", 8) == Shown("one\ntwo\n")
    assert shown(b"", 0) == Shown("")


@pytest.mark.parametrize("size", [10_000, 3_000_000])  # all in memory; a gap
def test_cut_in_whole_lines_with_exact_counts(size: int) -> None:
    lines = [f"line {number}\n" for number in range(size // 12)]
    data = "".join(lines).encode()
    result = shown(data, 2000)
    head, tail = result.head.splitlines(True), result.tail.splitlines(True)
    assert head == lines[: len(head)] and tail == lines[-len(tail) :]
    assert len(result.head) <= 1200 and len(result.tail) <= 800
    assert len(result.head) > len(result.tail) > 0
    assert result.cut_bytes == len(data) - len(result.head) - len(result.tail)
    assert result.cut_lines == len(lines) - len(head) - len(tail)


@pytest.mark.parametrize("text", ["한" * 400_000, "a" + "한" * 400_000, "👩‍👩‍👧‍👦" * 60_000])
@pytest.mark.parametrize("budget", [1000, 1001, 1002, 100_000])
def test_no_character_is_cut_in_two(text: str, budget: int) -> None:
    result = shown(text.encode(), budget)
    assert "\ufffd" not in result.head + result.tail
    assert text.startswith(result.head) and text.endswith(result.tail)
    assert budget - 100 < len((result.head + result.tail).encode()) <= budget
    assert result.cut_bytes == len(text.encode()) - len((result.head + result.tail).encode())


def test_one_long_line_is_cut_too() -> None:
    result = shown(b"a" * 20_000_000, 100_000)
    assert (len(result.head), len(result.tail), result.cut_bytes) == (60_000, 40_000, 19_900_000)


def test_the_marker_stands_on_its_own_line_and_says_how_to_get_the_rest() -> None:
    result = shown(b"x" * 5000 + b"\nlast", 100)
    text = result.text(marker(result.cut_bytes, result.cut_lines, "it's a label"))
    line = next(line for line in text.splitlines() if line.startswith("[capy: "))
    assert "4,905 bytes" in line and "--max-output 0" in line
    assert """capy-store index --label 'it'"'"'s a label'""" in line
    assert text.splitlines()[-1] == "last"


def test_bytes_that_are_not_utf8_come_back_as_they_are() -> None:
    data = b"a\xff\xfe\0b\n"
    assert shown(data, 100) == Shown("a\ufffd\ufffd\0b\n", raw=data)
    assert shown("é\0".encode(), 100).raw is None


@pytest.mark.parametrize("data", [f"token {TOKEN}\n".encode(), f"\xff\xfe token {TOKEN}\n".encode("latin-1")])
def test_secrets_are_removed_from_text_and_bytes(data: bytes) -> None:
    result = shown(data, 1000)
    assert TOKEN[8:] not in result.head
    assert result.raw is None or TOKEN[8:].encode() not in result.raw


@pytest.mark.parametrize("before", range(560, 620, 7))
def test_a_secret_across_the_cut_leaves_no_part_of_itself(before: int) -> None:
    data = b"x " * (before // 2) + f"{TOKEN} ".encode() + b"y " * 400_000
    result = shown(data, 1000)
    assert not any(TOKEN[at : at + 6] in result.head + result.tail for at in range(4, len(TOKEN) - 6))


def live(pieces: list[bytes], budget: int | None) -> tuple[bytes, Live]:
    """What a live stream passes on."""
    out: list[bytes] = []
    stream = Live(out.append, budget, lambda size, lines: f"[{size} {lines}]")
    for piece in pieces:
        stream.feed(memoryview(piece))
    stream.finish()
    return b"".join(out), stream


@given(st.lists(st.binary(max_size=30), max_size=10))
def test_live_passes_everything_on_in_the_end(pieces: list[bytes]) -> None:
    out, stream = live(pieces, None)
    assert out == b"".join(pieces)
    assert stream.total == len(out) and not stream.cut


def test_live_passes_lines_on_as_they_come() -> None:
    out: list[bytes] = []
    stream = Live(out.append, None, lambda size, lines: "")
    stream.feed(memoryview(b"one\ntw"))
    assert b"".join(out) == b"one\n"
    stream.feed(memoryview(b"o\n"))
    assert b"".join(out) == b"one\ntwo\n"


@given(st.integers(1, 40), st.integers(10, 400))
def test_live_leaves_out_the_middle_beyond_its_budget(piece: int, budget: int) -> None:
    data = b"".join(b"line %d\n" % number for number in range(300))
    out, stream = live([data[at : at + piece] for at in range(0, len(data), piece)], budget)
    head, _, rest = out.partition(b"[")
    counts, _, tail = rest.partition(b"]\n")
    size, lines = map(int, counts.split())
    assert stream.cut
    assert data.startswith(head.rstrip(b"\n")) and data.endswith(tail)
    assert size == len(data) - len(head.rstrip(b"\n")) - len(tail) or size == len(data) - len(head) - len(tail)
    assert lines > 0
    assert len(head) + len(tail) <= budget + 1


def test_live_removes_secrets_across_pieces() -> None:
    text = f"export TOKEN={TOKEN}\n".encode()
    out, _ = live([text[:20], text[20:30], text[30:]], None)
    assert TOKEN[8:].encode() not in out and b"export" in out
