from __future__ import annotations

import pytest

from capy_store.chunk.markdown import Markdown
from capy_store.documents import Chunk


def chunks(text: str) -> list[Chunk]:
    found = list(Markdown("notes").feed(text))
    assert "".join(chunk.body for chunk in found) == text
    return found


def titles(text: str) -> list[str]:
    return [chunk.title for chunk in chunks(text)]


LONG = "Some words in a sentence. " * 85 + "\n"  # too long to go together with a neighbour


def test_a_section_carries_the_headings_above_it_once() -> None:
    text = "# A\n## B\n### C\n#### D\ntext only here\n"
    assert chunks(text) == [Chunk("A > B > C > D", text, 1, 5)]


def test_each_section_is_a_chunk_with_its_heading_in_the_body() -> None:
    text = f"intro {LONG}# A\n{LONG}## B\n{LONG}# C\n{LONG}"
    found = chunks(text)
    assert [chunk.title for chunk in found] == ["notes", "A", "A > B", "C"]
    assert found[2].body.startswith("## B\n")
    assert [(chunk.line_start, chunk.line_end) for chunk in found] == [(1, 1), (2, 3), (4, 5), (6, 7)]


def test_short_neighbours_under_one_parent_go_together() -> None:
    text = f"# Top\n{LONG}## One\na\n### Deep\nb\n## Two\nc\n# Other\n{LONG}"
    assert titles(text) == ["Top", "Top > One, Two", "Other"]


def test_headings_of_all_six_levels_and_with_closing_marks_count() -> None:
    text = "".join(f"{'#' * level} H{level} {'#' * level}\n" for level in range(1, 7)) + "deep\n"
    assert titles(text) == ["H1 > H2 > H3 > H4 > H5 > H6"]
    assert titles(f"# C#\n{LONG}") == ["C#"]
    assert titles("####### seven\n#hash\n#\n    # code\n") == ["notes"]


def test_underlined_headings_count() -> None:
    text = f"Title\n=====\n{LONG}Part\n----\n{LONG}"
    assert titles(text) == ["Title", "Title > Part"]


@pytest.mark.parametrize("above", ["", "- item", "| a | b |", "> quote", "    code", "# Head", "```\nx\n```"])
def test_a_row_of_dashes_under_anything_but_a_paragraph_is_no_heading(above: str) -> None:
    assert titles(f"# Top\n{above}\n---\n{LONG}") in (["Top"], ["Top", "Head"])


@pytest.mark.parametrize(
    "fenced",
    [
        "````\n```\n# not a heading\n```\n````\n",
        "~~~\n# not a heading\n```\n~~~\n",
        "```python\n# not a heading\n~~~\n# nor this\n```\n",
        "  ```\n# not a heading\n  ```\n",
        "```\n# not a heading\n``` not closed by this\n```\n",
    ],
)
def test_headings_inside_fences_are_none(fenced: str) -> None:
    text = f"# Top\n{LONG}{fenced}{LONG}# After\n{LONG}"
    found = chunks(text)
    assert {chunk.title.partition(" (")[0] for chunk in found} == {"Top", "After"}
    assert any(chunk.is_code for chunk in found)


def test_an_unclosed_fence_reaches_to_the_end() -> None:
    assert titles(f"# Top\n```py\n# a comment\n{LONG}# another\n") == ["Top"]


def test_a_backtick_in_the_info_makes_no_fence() -> None:
    assert titles(f"# A\n```inline``` text\n{LONG}# B\n{LONG}") == ["A", "B"]


def test_front_matter_is_no_heading() -> None:
    text = f"---\ntitle: x\n# a comment\n---\n{LONG}# A\n{LONG}"
    assert titles(text) == ["notes", "A"]


def test_a_long_section_is_numbered() -> None:
    text = "# A\n" + (LONG + "\n") * 9
    found = chunks(text)
    assert [chunk.title for chunk in found] == ["A", *(f"A ({number})" for number in range(2, len(found) + 1))]
    assert len(found) > 2
    assert all(len(chunk.body) <= 4000 for chunk in found)


def test_a_long_fence_is_cut_at_lines_and_the_later_parts_know_its_language() -> None:
    text = "# A\n```python\n" + "value = compute(argument)\n" * 400 + "```\nend\n"
    found = chunks(text)
    assert [chunk.title for chunk in found][:3] == ["A", "A (2, python)", "A (3, python)"]
    assert all(chunk.body.endswith("\n") and chunk.is_code for chunk in found)


def test_a_table_or_fence_that_fits_is_not_torn() -> None:
    for block in ("| a | b |\n" * 150, "```\n" + "code line\n" * 150 + "```\n"):
        text = f"# A\n{LONG}\n{LONG}\n{block}\n{LONG}"
        assert any(block.strip() in chunk.body for chunk in chunks(text))


def test_state_carries_over_from_block_to_block() -> None:
    chunker = Markdown("notes")
    found = [
        *chunker.feed(f"# A\n## B\n{LONG}```\n"),
        *chunker.feed(f"# in the fence\n```\n{LONG}"),
        *chunker.feed("## C\nx\n"),
    ]
    assert [chunk.title for chunk in found] == ["A > B", "A > B (2)", "A > C"]
    assert found[-1].line_start == 8


def test_a_path_that_is_too_long_keeps_its_end() -> None:
    text = "".join(f"{'#' * level} {'word ' * 40}\n" for level in range(1, 6)) + "###### last\nx\n"
    assert len(titles(text)[0]) <= 300
    assert titles(text)[0].endswith("last")
