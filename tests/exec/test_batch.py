"""Batches: order, isolation of failures, labels, bounded look-ahead."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capy_core.config import ExecutorConfig
from capy_exec.batch import ItemFailed, run_batch

from .conftest import processes_with, wait_until


def lines(*items: Any) -> Iterator[tuple[int, bytes]]:
    """Items as numbered lines; bytes stay as they are."""
    for number, item in enumerate(items, 1):
        yield number, item if isinstance(item, bytes) else json.dumps(item).encode()


def run(project: Path, *items: Any, jobs: int = 3) -> list[Any]:
    """What a batch gives."""
    return list(run_batch(lines(*items), ExecutorConfig(), jobs=jobs, cwd=project))


def test_results_come_in_the_order_of_the_items(project: Path) -> None:
    items = [{"command": f"sleep 0.{9 - number}; echo {number}"} for number in range(9)]
    results = run(project, *items)
    assert [result["stdout"] for result in results] == [f"{number}\n" for number in range(9)]
    assert [result["item"] for result in results] == list(range(1, 10))


def test_an_item_says_what_it_needs_and_other_fields_come_back(project: Path) -> None:
    (project / "data").write_text("content", encoding="utf-8")
    (project / "sub").mkdir()
    results = run(
        project,
        {"label": "L", "language": "py", "code": "import os, sys; print(FILE_CONTENT, sys.argv[1], os.getcwd())",
         "file": "data", "args": ["x"], "cwd": str(project / "sub"), "id": 7, "queries": ["a"], "stdout": "not this"},
        {"command": "sleep 60", "timeout": 0.2},
        {"command": "seq 1000", "max_output": 20},
    )  # fmt: skip
    assert results[0]["stdout"] == f"content x {project / 'sub'}\n"
    assert (results[0]["label"], results[0]["id"], results[0]["queries"]) == ("L", 7, ["a"])
    assert results[1]["outcome"] == "timeout"
    assert results[2]["truncated"] is True


def test_one_bad_item_loses_none_of_the_others(project: Path) -> None:
    results = run(
        project,
        {"command": "echo 1"},
        b"{not json",
        [1, 2],
        {"label": "neither"},
        {"command": "a", "code": "b"},
        {"command": "a", "language": "python"},
        {"code": "x", "language": "cobol"},
        {"command": "x", "timeout": "soon"},
        {"command": "x", "timeout": -1},
        {"command": "x", "args": "one"},
        {"command": "x", "file": "missing"},
        {"command": "exit 3"},
        {"command": "echo 2"},
    )
    errors = [result for result in results if isinstance(result, ItemFailed)]
    assert [error.details["item"] for error in errors] == list(range(2, 12))
    last = ["usage", "bad_input", "usage", "bad_input", "not_found"]
    assert [error.code for error in errors] == ["bad_input"] * 5 + last
    assert errors[2].details["label"] == "neither"
    assert all(error.details["line"] == error.details["item"] for error in errors)
    good = [result for result in results if not isinstance(result, ItemFailed)]
    assert [(result["item"], result["outcome"]) for result in good] == [(1, "ok"), (12, "error"), (13, "ok")]


def test_equal_default_labels_are_told_apart_given_ones_are_not(project: Path) -> None:
    same = {"command": "true"}
    results = run(project, same, same, {"command": "true", "label": "L"}, {"command": "true", "label": "L"}, same)
    first = results[0]["label"]
    assert [result["label"] for result in results] == [first, f"{first}#2", "L", "L", f"{first}#3"]


def test_the_input_is_not_read_far_ahead_of_the_results(project: Path) -> None:
    taken = []

    def endless() -> Iterator[tuple[int, bytes]]:
        number = 0
        while True:
            number += 1
            taken.append(number)
            yield number, b'{"command": "true"}'

    batch = run_batch(endless(), ExecutorConfig(), jobs=2, cwd=project)
    for _ in range(5):
        next(batch)
    assert len(taken) <= 5 + 2 * 2 + 1
    batch.close()


def test_results_come_before_the_input_ends(project: Path) -> None:
    seen: list[str] = []

    def slow() -> Iterator[tuple[int, bytes]]:
        yield 1, b'{"command": "echo first"}'
        assert wait_until(lambda: seen)  # would wait for ever if results were held back
        yield 2, b'{"command": "echo second"}'

    for result in run_batch(slow(), ExecutorConfig(), jobs=2, cwd=project):
        assert not isinstance(result, ItemFailed)
        seen.append(result["stdout"])
    assert seen == ["first\n", "second\n"]


def test_closing_ends_what_is_running(project: Path, mark: str) -> None:
    items = [{"command": "true"}, *({"command": f"sleep {mark}"} for _ in range(4))]
    batch = run_batch(lines(*items), ExecutorConfig(), jobs=2, cwd=project)
    next(batch)
    assert wait_until(lambda: processes_with(mark))
    batch.close()
    assert not processes_with(mark)


def test_an_input_that_cannot_be_read_is_reported_after_what_was_read(project: Path) -> None:
    def broken() -> Iterator[tuple[int, bytes]]:
        yield 1, b'{"command": "echo 1"}'
        raise OSError("disk on fire")

    batch = run_batch(broken(), ExecutorConfig(), jobs=2, cwd=project)
    assert not isinstance(first := next(batch), ItemFailed) and first["stdout"] == "1\n"
    with pytest.raises(OSError, match="disk on fire"):
        next(batch)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
fields = st.sampled_from(["label", "language", "timeout", "file", "args", "with", "cwd", "max_output", "command", "x"])


@given(st.dictionaries(fields, values, max_size=4))
@settings(max_examples=50, deadline=None)
def test_any_item_gives_a_result_or_an_error(item: dict[str, Any]) -> None:
    item = {**item, "command": "true"} if isinstance(item.get("command"), str) else item
    (result,) = run_batch(lines(item), ExecutorConfig(timeout_s=5), jobs=1, cwd=Path.cwd())
    assert isinstance(result, ItemFailed) or result["schema"] == "capy.exec.result/1"
