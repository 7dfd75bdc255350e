"""Replies to real runs and searches: what must be in them, and how large they may be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capy_core.config import ExecutorConfig
from capy_core.keys import Key
from capy_exec.request import Request, Result
from capy_exec.run import run_code
from capy_exec.stream import Shown
from capy_mcp import reply
from capy_store.documents import Document
from capy_store.evidence import Evidence, find
from capy_store.store import Store

TOKEN = "gh" + "p_" + "a1B2" * 9
LONG = "for i in $(seq 3000); do echo step $i of the build is done; done; "


def run(code: str, label: str = "job") -> Result:
    return run_code(Request("shell", code, label=label, max_output=0), ExecutorConfig())


def evidence(result: Result, question: str | list[str]) -> tuple[Evidence, Evidence | None]:
    record = result.record()
    failed = not result.succeeded
    errors = find(record["stderr"], question, failed=failed) if record["stderr"].strip() else None
    return find(record["stdout"], question, failed=failed), errors


def intent(result: Result, question: str, label: str = "") -> str:
    found, errors = evidence(result, question)
    return reply.intent(result, found, label, errors=errors)


def printed(text: str) -> Result:
    size = len(text.encode("utf-8", "replace"))
    return Result("x", "shell", "cat x", "ok", "", "", "/", exit_code=0, stdout=Shown(text), stdout_bytes=size)


def test_the_reply_holds_the_line_its_number_and_where_the_rest_is() -> None:
    text = intent(run(LONG + "echo linked with warnings; seq 9000"), "was it linked", "execute:shell:1")
    assert "linked with warnings" in text.split("\n")
    assert text.startswith("[exit 0; 12,001 lines, ")
    assert text.endswith('[more: capy_search, source "execute:shell:1"]')
    assert len(text) < 7000


def test_a_failed_run_shows_exit_code_failing_lines_and_the_end_of_stderr() -> None:
    code = LONG + "echo 'ERROR: linker ran out of memory'; seq 5000; seq 900 >&2; echo 'last words' >&2; exit 3"
    text = intent(run(code), "what is step 12")
    assert "exit code 3" in text.split("\n")[0]
    assert "ERROR: linker ran out of memory" in text
    assert "last words" in text


def test_a_run_that_only_writes_to_stderr() -> None:
    text = intent(run("seq 4000 >&2; echo 'fatal: gone' >&2; exit 1"), "zeppelin", "job")
    assert "exit code 1" in text and "fatal: gone" in text
    assert "stderr:" in text


def test_a_run_that_says_nothing_and_was_killed() -> None:
    assert intent(run("kill -9 $$"), "why") == "[ended by SIGKILL]"


def test_a_short_output_comes_as_it_is() -> None:
    assert intent(run("echo hi"), "hi", "a-label-that-is-longer-than-the-output") == "hi"
    assert intent(run("echo hi; exit 4"), "hi", "a-label-that-is-long") == "[exit code 4]\nhi"


def test_secrets_do_not_reach_the_reply() -> None:
    text = printed(f"token {TOKEN}\n" * 400)
    assert TOKEN not in reply.intent(text, find(text.stdout.head, "token"), "x")


@given(st.text(alphabet="abc dé\n:{}0", max_size=3000), st.text(alphabet="abc d0", min_size=1, max_size=20))
def test_no_reply_to_an_intent_is_larger_than_the_output(text: str, question: str) -> None:
    result = printed(text)
    shown = reply.intent(result, find(text, question), "a-label-of-some-length")
    assert len(shown.encode()) <= len(text.encode())


def test_a_batch_tells_exit_code_and_size_of_each_in_order_and_what_nobody_answered() -> None:
    results = [run(LONG, "build"), run("echo ok", "small"), run("echo bad; exit 7", "broken"), run("true", "mute")]
    found = [evidence(one, ["step 77 of the build", "zeppelin"]) for one in results]
    text = reply.batch(results, [pair[0] for pair in found], ["a", "b"], errors=[pair[1] for pair in found])
    lines = text.split("\n")
    heads = [line for line in lines if line.startswith("# ")]
    assert [head.split(" [")[0] for head in heads] == ["# build", "# small", "# broken", "# mute"]
    assert "exit code 7" in heads[2]
    assert lines[lines.index(heads[1]) + 1] == "ok"
    assert "step 77 of the build is done" in lines
    assert "(no output)" in lines
    assert lines[-2:] == ["[no line has a word of: zeppelin]", '[more: capy_search, source "a", "b"]']


def test_a_large_batch_stays_in_its_budget_and_keeps_the_failing_lines() -> None:
    one = run(LONG + "echo 'ERROR: wheel 9 fell off'; seq 4000; exit 2")
    found, errors = evidence(one, "what is step 12 of the build")
    text = reply.batch([one] * 12, [found] * 12, errors=[errors] * 12, budget=8000)
    assert len(text) < 8000 + 12 * 100
    assert text.count("ERROR: wheel 9 fell off") == 12
    assert text.count("exit code 2") == 12


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store with two outputs and a page."""
    with Store.open(tmp_path / "kb.db", Key("x'" + "5a" * 32 + "'")) as store:
        for label in ("run:a", "run:b"):
            log = "".join(f"12:00:01 worker {i} of {label} refilled pool {i % 9}\n" for i in range(900))
            store.index(Document(label, log, content_type="output"))
        store.index(
            Document("guide.md", "# Pools\n\n## Draining\n\nA pool drains at night.\n", content_type="markdown")
        )
        yield store


def test_a_search_shows_lines_by_source_in_order_with_their_places(store: Store) -> None:
    text = reply.search([store.search("worker refilled pool", window=240, limit=20)])
    numbers: list[int] = []
    for line in text.split("\n"):
        if line.startswith("--- "):
            numbers = []
        if line.startswith("[l. "):
            numbers.append(int(line[4:].split("]")[0]))
            assert numbers == sorted(numbers)
    assert "--- run:a" in text and "--- run:b" in text
    assert len(text) <= reply.SEARCH_BUDGET


def test_a_search_names_the_section_of_a_page(store: Store) -> None:
    text = reply.search([store.search("when does it drain", limit=1)])
    assert text.split("\n")[0] == "--- guide.md"
    assert "A pool drains at night." in text and "Draining" in text


def test_several_queries_have_heads_share_the_budget_and_say_what_was_read(store: Store) -> None:
    results = [store.search(query, limit=50, window=240) for query in ("wroker refilled", "zeppelin", "drains")]
    text = reply.search(results, budget=2000)
    assert len(text) <= 2000
    heads = [f"## {one.query}" for one in results]
    assert [line for line in text.split("\n") if line in heads] == heads
    assert "[read worker for wroker]" in text
    assert "nothing found" in text
    assert "A pool drains at night." in text
    assert "more hits" in text


def test_a_search_is_not_larger_than_what_was_searched(store: Store) -> None:
    result = store.search("pool", sources=["guide.md"])
    assert len(reply.search([result], raw_bytes=48)) <= 48


def test_of_a_long_section_the_lines_that_answer_are_shown_with_their_numbers_in_the_document(tmp_path: Path) -> None:
    lines = ["# Harbour", ""]
    lines += [f"Paragraph {number} tells of a harbour and of what its keeper does there." for number in range(50)]
    lines[30] = "The lamp is changed by two keepers, never by one."
    with Store.open(tmp_path / "knowledge.db", Key(f"x'{'5a' * 32}'")) as store:
        store.index(Document("handbook", "\n".join(lines)))
        result = store.search("who changes the lamp")
    assert len(result.hits[0].content) > reply.HIT_BUDGET
    text = reply.search([result])
    shown = text.split("\n")
    marks = [number for number, line in enumerate(shown) if line.startswith("[l. ")]
    at = shown.index(lines[30])
    before = max(mark for mark in marks if mark < at)
    assert int(shown[before].split()[1].rstrip("]")) + at - before - 1 == 31
    assert len(text.encode()) < reply.HIT_BUDGET + 200
