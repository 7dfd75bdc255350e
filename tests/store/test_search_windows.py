from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from capy_store.search.windows import MOST, TARGET, windows


@given(st.lists(st.text(alphabet="ab ,;é\n", max_size=900)).map("".join))
def test_windows_tile_the_text_and_stay_small(text: str) -> None:
    spans = windows(text)
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(0 < end - start <= MOST for start, end in spans)
    for start, end in spans[:-1]:
        inside_a_long_line = "\n" not in text[start : end - 1] or text[end - 1] != "\n"
        assert text[end - 1] == "\n" or inside_a_long_line


def test_short_lines_share_a_window_up_to_the_target() -> None:
    line = "x" * (TARGET // 4 - 1) + "\n"
    assert windows(line * 8) == [(0, TARGET), (TARGET, 2 * TARGET)]


def test_a_long_line_is_cut_between_tokens() -> None:
    text = "id=12345 " * 200
    pieces = [text[start:end] for start, end in windows(text)]
    assert len(pieces) > 2
    assert all(piece.endswith("id=12345 ") for piece in pieces)


def test_a_token_longer_than_a_window_is_cut_where_it_must_be() -> None:
    assert windows("x" * (MOST + 1)) == [(0, MOST), (MOST, MOST + 1)]
