from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from capy_core.text import Cut, cut_head, cut_middle, cut_tail

text = st.text(st.characters(codec="utf-8") | st.sampled_from("\n\n\r\u0301\u200d\ufe0f👩👧🏽🇩🇪é"))
limits = st.integers(0, 80)


@given(text, limits, st.sampled_from([0.0, 0.3, 0.6, 1.0]))
@example("\n" * 50, 10, 0.6)
@example("a\r\nb\r\nc", 5, 0.6)
def test_cut_text_fits_is_valid_and_accounts_for_every_byte(whole: str, limit: int, share: float) -> None:
    raw = whole.encode()
    cut = cut_middle(whole, limit, head_share=share)
    head, tail = cut.head.encode(), cut.tail.encode()  # fails on half a character
    assert raw.startswith(head) and raw.endswith(tail)
    assert len(head) + cut.cut_bytes + len(tail) == len(raw)
    if len(raw) <= limit:
        assert cut == (whole, "", 0, 0)
    else:
        assert len(head) + len(tail) <= limit
        missing = raw[len(head) : len(raw) - len(tail)]
        assert cut.cut_lines == len(missing.removesuffix(b"\n").split(b"\n"))
    assert cut_middle(raw, limit, head_share=share) == Cut(head, tail, cut.cut_bytes, cut.cut_lines)


@given(st.binary(max_size=200), limits)
def test_any_bytes_can_be_cut(raw: bytes, limit: int) -> None:
    for cut in (cut_head(raw, limit), cut_tail(raw, limit), cut_middle(raw, limit)):
        assert len(cut.head) + cut.cut_bytes + len(cut.tail) == len(raw)
        assert raw.startswith(cut.head) and raw.endswith(cut.tail)
        assert len(cut.head) + len(cut.tail) <= max(limit, 0) or cut.cut_bytes == 0


@pytest.mark.parametrize(
    "cluster",
    [
        "é",
        "e\u0301\u0323",
        "👩‍👩‍👧‍👦",
        "👍🏽",
        "❤\ufe0f",
        "🏴\U000e0067\U000e0062\U000e007f",
        "🇫🇷",
        "\r\n",
        "नि",
        "ก\u0e34",
    ],
)
def test_a_character_as_a_reader_sees_it_stays_whole(cluster: str) -> None:
    whole = f"aa{cluster}bb"
    for limit in range(len(whole.encode()) + 1):
        head, tail = cut_head(whole, limit).head, cut_tail(whole, limit).tail
        assert cluster in head or (whole[: len(head)] == head and len(head) <= 2)
        assert cluster in tail or len(tail) <= 2 or limit >= len(whole.encode())


def test_flags_are_cut_between_pairs_only() -> None:
    flags = "🇩🇪🇫🇷🇮🇹🇪🇸"
    assert [cut_head(flags, limit).head for limit in (7, 8, 12, 16, 23)] == ["", "🇩🇪", "🇩🇪", "🇩🇪🇫🇷", "🇩🇪🇫🇷"]


def test_lines_stay_whole_where_that_costs_less_than_half_the_room() -> None:
    whole = "".join(f"line {number}\n" for number in range(100))
    cut = cut_middle(whole, 200)
    assert cut.head.endswith("\n") and cut.tail.startswith("line ")
    assert cut.cut_lines == 100 - cut.head.count("\n") - cut.tail.count("\n")
    assert len(cut.head) > 0.5 * 120 and len(cut.tail) > 0.5 * 80


def test_one_endless_line_is_cut_inside_rather_than_dropped() -> None:
    cut = cut_middle("intro\n" + "x" * 10_000 + "\noutro\n", 1000)
    assert len(cut.head) == 600 and len(cut.tail) == 400 and cut.cut_lines == 1
    assert cut.head.startswith("intro\nxxx") and cut.tail.endswith("xxx\noutro\n")


def test_a_lone_surrogate_counts_three_bytes_and_survives() -> None:
    assert cut_head("\ud800\ud800", 3) == Cut("\ud800", "", 3, 1)


def test_noise_of_endless_marks_is_cut_at_the_budget() -> None:
    noise = "a" + "\u0301" * 5000
    cut = cut_head(noise, 1000)
    assert 900 < len(cut.head.encode()) <= 1000
