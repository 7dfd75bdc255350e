from __future__ import annotations

from capy_store.chunk import chunker
from capy_store.chunk.transcript import LONGEST, given
from capy_store.documents import Chunk


def titles(text: str, kind: str = "output") -> list[str]:
    return [chunk.title for chunk in chunker(kind, "make test", text).feed(text)]


def test_output_is_cut_into_whole_lines_of_about_2000_characters() -> None:
    text = "".join(f"line {n} of the output\n" for n in range(500))
    found = list(chunker("output", "make test", text).feed(text))
    assert all(1900 < len(chunk.body) <= 2000 and chunk.body.endswith("\n") for chunk in found[:-1])
    assert {chunk.title for chunk in found} == {"make test"}


def test_the_header_row_of_a_table_is_in_every_title() -> None:
    rows = "".join(f"city-{n},{n},{n * 3}\n" for n in range(300))
    assert set(titles("name,population,area\n" + rows)) == {"make test | name,population,area"}
    pods = "".join(f"web-{n}    1/1    Running    {n}d\n" for n in range(300))
    assert set(titles("NAME     READY   STATUS    AGE\n" + pods)) == {"make test | NAME READY STATUS AGE"}


def test_rows_of_data_and_prose_are_no_header() -> None:
    assert set(titles("1,2,3\n4,5,6\n7,8,9\n")) == {"make test"}
    assert set(titles("ALL GOOD THINGS\ncome to an end\n")) == {"make test"}
    assert set(titles("FAILED\nFAILED\nFAILED\n")) == {"make test"}


def test_steps_of_a_ci_log_begin_chunks_of_their_own() -> None:
    text = "start\n##[group]Run tests\n" + "ok\n" * 900 + "::group::Upload\ndone\n"
    found = list(chunker("output", "ci", text).feed(text))
    assert [chunk.title for chunk in found] == ["ci", "ci > Run tests", "ci > Run tests", "ci > Upload"]
    assert found[-1].body == "::group::Upload\ndone\n"


def test_code_is_cut_between_its_blocks() -> None:
    text = "".join(f"def function_{n}():\n    value = {n}\n    return value\n\n\n" for n in range(200))
    found = list(chunker("code", "a.py", text).feed(text))
    assert len(found) > 2
    assert all(chunk.body.startswith("def ") and chunk.is_code for chunk in found)


def test_chunks_that_were_given_stay_as_they_are() -> None:
    chunk = Chunk("turn 1", "text\n", 5, 5)
    assert list(given([chunk, chunk])) == [chunk, chunk]


def test_a_given_chunk_that_is_too_long_is_cut_and_numbered() -> None:
    body = "one sentence. " * 2000
    found = list(given([Chunk("turn", body, 10, 10, is_code=True)]))
    assert "".join(part.body for part in found) == body
    assert [part.title for part in found[:2]] == ["turn", "turn (2)"]
    assert all(len(part.body) <= LONGEST and part.is_code and part.line_start == 10 for part in found)
