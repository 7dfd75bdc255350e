"""What holds for every chunker: nothing is lost, ranges are exact, sizes are bounded."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capy_store.chunk import chunker
from capy_store.chunk.cut import LINES, PARAGRAPHS, next_cut
from capy_store.documents import Chunk

TYPES = ("markdown", "json", "output", "text", "code")
LONGEST = 8000  # twice the largest chunk size: what one line may need

_PIECES = st.sampled_from(
    [
        "# Head",
        "## Two",
        "###### six ##",
        "Title\n===",
        "under\n---",
        "```",
        "```py",
        "~~~~",
        "````",
        "| a | b |",
        "|---|---|",
        '{"id": 7, "name": "a"}',
        "{",
        "[",
        "]",
        "}",
        '"key": "va\\"lue",',
        '"open',
        ",",
        "##[group]Build",
        "a,b,c",
        "NAME  READY  AGE",
        "plain words in a row",
        "    indented",
        "\f",
        "\x00",
        "\r",
        "",
        " ",
        "é日本語🙂",
        "x" * 700,
        "word " * 300,
        "- item",
        "---",
    ]
)
_TEXTS = st.lists(_PIECES | st.text(max_size=40), max_size=60).map("\n".join)


@pytest.mark.parametrize("kind", TYPES)
@given(text=_TEXTS)
@settings(max_examples=60, deadline=None)
def test_chunks_joined_are_the_text_and_their_lines_are_exact(kind: str, text: str) -> None:
    chunks = list(chunker(kind, "t", text).feed(text))
    assert "".join(chunk.body for chunk in chunks) == text
    lines = text.split("\n")
    for chunk in chunks:
        assert 0 < len(chunk.body) <= LONGEST
        assert chunk.body.strip() in "\n".join(lines[chunk.line_start - 1 : chunk.line_end])
        assert not chunk.body.strip() or lines[chunk.line_end - 1].strip()
    assert [chunk.line_start for chunk in chunks] == sorted(chunk.line_start for chunk in chunks)


@pytest.mark.parametrize("kind", TYPES)
@given(text=_TEXTS, at=st.integers(0, 2000))
@settings(max_examples=40, deadline=None)
def test_a_text_in_two_blocks_loses_nothing_and_keeps_its_lines(kind: str, text: str, at: int) -> None:
    cut = text.find("\n", at) + 1
    one = chunker(kind, "t", text)
    chunks = [*one.feed(text[:cut]), *one.feed(text[cut:])]
    assert "".join(chunk.body for chunk in chunks) == text
    if chunks and chunks[-1].body.strip():
        assert chunks[-1].line_end == text.rstrip().count("\n") + 1


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(
    "line", ["a" * 300_000, "word " * 60_000, '"x' * 100_000, "[" * 100_000, "日本。" * 80_000, "\x00" * 20_000]
)
def test_one_endless_line_is_cut(kind: str, line: str) -> None:
    chunks = list(chunker(kind, "t", line).feed(line))
    assert "".join(chunk.body for chunk in chunks) == line
    assert max(len(chunk.body) for chunk in chunks) <= LONGEST
    assert {(chunk.line_start, chunk.line_end) for chunk in chunks} == {(1, 1)}


@pytest.mark.parametrize("kind", TYPES)
def test_hard_text_takes_time_in_proportion_to_its_length(kind: str) -> None:
    """Twenty times the text of each shape that invites backtracking; a quadratic chunker would not end."""
    for shape in (
        '"',
        "\\",
        "#" * 7 + " ",
        "`" * 4,
        "{",
        "]",
        "- ",
        "|",
        "=\n",
        "~~~\n",
        "\n",
        '"a": ',
        ", ",
        "<!--",
        "##[group]",
        "# a\n```\nx\n```\n",
        "| a |\n|---|\n\ntext\n",
    ):
        text = shape * (400_000 // len(shape))
        assert sum(len(chunk.body) for chunk in chunker(kind, "t", text).feed(text)) == len(text)


def test_a_cut_is_made_at_the_best_place_that_fills_the_piece() -> None:
    text = "one\n\ntwo three. four five\nsix seven"
    assert text[: next_cut(text, 0, 24, PARAGRAPHS)] == "one\n\ntwo three. "
    assert text[: next_cut(text, 0, 27, PARAGRAPHS)] == "one\n\ntwo three. four five\n"
    assert next_cut("ab cd ef" * 9, 0, 10, LINES) == len("ab cd ")


def test_a_line_that_is_little_longer_than_a_chunk_stays_whole() -> None:
    text = "short\n" + "x" * 2500 + "\nend\n"
    assert [chunk.body for chunk in chunker("output", "t", text).feed(text)] == ["short\n", "x" * 2500 + "\n", "end\n"]


def test_a_long_line_is_cut_between_words() -> None:
    text = "word " * 1000
    chunks = list(chunker("output", "t", text).feed(text))
    assert all(chunk.body.endswith(" ") and chunk.body.startswith("word") for chunk in chunks)


def test_line_ranges_leave_out_blank_lines_at_both_ends() -> None:
    text = "\n\nfirst\n\n\n"
    assert list(chunker("text", "t", text).feed(text)) == [Chunk("t", text, 3, 3)]
