from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from capy_store.search.windows import size_for, windows


@given(st.lists(st.text(alphabet="ab ,;é\n", max_size=900)).map("".join), st.sampled_from((240, 600, 900)))
def test_windows_tile_the_text_and_stay_small(text: str, size: int) -> None:
    spans = windows(text, size)
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(0 < end - start <= max(600, size * 4 / 3) for start, end in spans)
    for start, end in spans[:-1]:
        inside_a_long_line = "\n" not in text[start : end - 1] or text[end - 1] != "\n"
        assert text[end - 1] == "\n" or inside_a_long_line


def test_short_lines_share_a_window_up_to_the_target() -> None:
    line = "x" * 59 + "\n"
    assert windows(line * 8, 240) == [(0, 240), (240, 480)]


def test_a_long_line_is_cut_between_tokens() -> None:
    text = "id=12345 " * 200
    pieces = [text[start:end] for start, end in windows(text, 240)]
    assert len(pieces) > 2
    assert all(piece.endswith("id=12345 ") for piece in pieces)


def test_a_token_longer_than_a_window_is_cut_where_it_must_be() -> None:
    assert windows("x" * 601, 240) == [(0, 600), (600, 601)]


def pieces(text: str, size: int) -> list[str]:
    return [text[start:end] for start, end in windows(text, size)]


def test_a_window_ends_where_a_paragraph_does() -> None:
    units = "unit loaded\n" * 12
    table = "$ df -h\nFilesystem Size\n/dev/sda 916G\n" + "tmpfs 1G\n" * 20
    assert pieces(f"{units}\n{table}", 240)[:2] == [f"{units}\n", table[: table.index("tmpfs") + 20 * 9]]


def test_a_window_of_json_ends_after_a_record() -> None:
    record = ' {\n  "subject": "Stop the digest",\n  "files": [\n   "main.tf"\n  ],\n  "body": "Nobody read it."\n },\n'
    found = pieces("[\n" + record * 6, 240)
    assert found == ["[\n" + record * 2, record * 2, record * 2]


def test_a_window_of_records_on_one_line_ends_between_two() -> None:
    record = '{"subject":"Stop the digest","files":["main.tf"],"body":"Nobody read it."}'
    found = pieces("[" + ",".join([record] * 20) + "]", 240)
    assert len(found) > 2
    assert all(piece.endswith("},") for piece in found[:-1])


@given(st.lists(st.sampled_from(["{\n", "  a\n", "\n", "}\n", "x" * 130 + "\n", "y" * 700 + "\n"]), max_size=30))
def test_a_line_that_fits_is_never_torn(lines: list[str]) -> None:
    text = "".join(lines)
    ends = {end for _, end in windows(text, 240)}
    at = 0
    for line in lines:
        assert len(line) > 600 or not any(at < end < at + len(line) for end in ends)
        at += len(line)


def test_the_more_windows_are_wanted_the_smaller_they_are() -> None:
    assert [size_for(limit) for limit in (1, 3, 10, 20, 100)] == [900, 900, 900, 450, 240]
