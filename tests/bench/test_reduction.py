"""What is left of an output and whether the answer is in it: the server's replies, the baselines, and the counting."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from capy_bench.baselines import BASELINES, bm25, grep, tail, words
from capy_bench.corpus import output_set
from capy_bench.fixtures import load
from capy_bench.reduction import Output, Question, from_corpus, from_fixtures, holds, measure
from capy_bench.replies import SERVER
from capy_core.errors import BadInput, NotFound

from .conftest import Write, case, entry, log
from .test_quality import figures

ERROR = "upload failed: bucket quota of tenant kestrel exceeded"
LOG = log(600, ERROR, 400)


def output(*needles: str, text: str = LOG, class_: str = "log") -> Output:
    return Output("log", class_, text, len(text.encode()), (Question("q", "which upload failed", needles),))


def fixed(reply: str) -> dict[str, Any]:
    """A way that replies the same to everything."""

    def way(text: str, questions: Sequence[str]) -> Iterator[str]:
        return (reply for _ in questions)

    return {"fixed": way}


def test_figures_of_a_reply() -> None:
    text = "x" * 9_990 + "first two"
    (case_,) = measure([output("first", "third", text=text)], fixed("the first" + "." * 991), judged=()).cases
    assert case_.scores == {
        "compression": pytest.approx(1 - 1000 / 9999), "context_recall": 0.5, "perfect_recall": 0.0,
        "effective_compression": pytest.approx((1 - 1000 / 9999) / 2), "bytes": 1000.0, "tokens": 250.0,
        "larger_than_raw": 0.0,
    }  # fmt: skip


def test_a_reply_larger_than_the_output_cuts_nothing_and_is_counted() -> None:
    outcome = measure([output("y", text="y" * 6000)], fixed("y" * 6001), judged=())
    overall = figures(outcome, "fixed/overall")
    assert overall["compression"].value == overall["effective_compression"].value == 0.0
    larger = overall["larger_than_raw"]
    assert (larger.value, larger.unit, larger.better, larger.strict) == (1.0, "count", "lower", True)


@pytest.mark.parametrize(
    ("reply", "needle", "found"),
    [
        ("quota of kestrel", "quota", True),
        ("Quota of kestrel", "quota", False),
        ("\x1b[31mquota\x1b[0m exceeded", "quota exceeded", True),
        ("quota exceeded", "\x1b[31mquota\x1b[0m exceeded", True),
        (r'{"path": "C:\\tmp", "said": \"no\"}', r"C:\tmp", True),
        (r"{\"quota\": 3}", '{"quota": 3}', True),
        ("quo ta", "quota", False),
    ],
)
def test_a_needle_is_found_as_it_is_without_colours_or_escaped(reply: str, needle: str, found: bool) -> None:
    assert holds(reply, needle) is found


@pytest.mark.parametrize(
    ("size", "class_"),
    [(4_999, "< 5 KB"), (5_000, "5-20 KB"), (20_000, "20-100 KB"), (100_000, "100-400 KB"), (400_000, "> 400 KB")],
)
def test_outputs_are_grouped_by_their_size_and_small_ones_kept_apart(size: int, class_: str) -> None:
    outcome = measure([output("q", text="q" * size)], fixed("q"), judged=())
    groups = {metric.group for metric in outcome.metrics}
    whole = set() if size < 5_000 else {"fixed/overall", "fixed/log"}
    assert groups == whole | {f"fixed/size {class_}"}


def test_lost_needles_are_failures_of_the_ways_that_are_judged() -> None:
    ways = {"mine": fixed("nothing")["fixed"], "other": fixed("nothing")["fixed"]}
    (failure,) = measure([output("kestrel", "quota")], ways, judged=["mine"]).failures
    assert (failure.case, failure.group, failure.failure) == ("q", "mine/log", "needle_lost")
    assert (failure.expected, failure.actual) == ("kestrel; quota", "0 of 2 needles in 7 bytes")


@pytest.mark.parametrize("way", SERVER)
def test_the_server_keeps_the_needle_and_little_else(way: str) -> None:
    outcome = measure([output(ERROR)], {way: SERVER[way]}, judged=(way,))
    overall = figures(outcome, f"{way}/overall")
    assert overall["context_recall"].value == 1.0
    assert overall["compression"].value > 0.6
    assert outcome.failures == []


@pytest.mark.parametrize("way", SERVER)
def test_secrets_of_an_output_are_in_no_reply(way: str) -> None:
    token = "gh" + "p_" + "a1B2" * 9
    text = log(600, f"upload failed with token {token}", 300)
    (reply,) = SERVER[way](text, ["which upload failed with which token"])
    assert "upload failed with token" in reply
    assert token not in reply


def test_the_replies_are_the_same_every_time() -> None:
    ways = {**SERVER, **BASELINES}
    assert measure([output(ERROR)], ways, judged=()) == measure([output(ERROR)], ways, judged=())


def test_fixtures_become_outputs_without_their_negatives(write: Write) -> None:
    lines = [
        entry(
            "big", "plaintext", LOG, case("big_q1", "which upload", ERROR, traits=["exact"]), case("big_neg1", "tin")
        ),
        entry("none", "plaintext", "Nothing here.", case("none_neg1", "tin")),
    ]
    (one,) = from_fixtures(load(folder=write({"plaintext": lines})))
    assert (one.id, one.class_, one.size) == ("big", "plaintext", len(LOG))
    assert one.questions == (Question("big_q1", "which upload", (ERROR,), ("trait exact",)),)
    groups = {metric.group for metric in measure([one], fixed(""), judged=()).metrics}
    assert groups == {"fixed/overall", "fixed/plaintext", "fixed/size 20-100 KB", "fixed/trait exact"}


def corpus(folder: Path, *cases: dict[str, Any]) -> Path:
    (folder / "outputs").mkdir()
    (folder / "outputs" / "a.log").write_bytes(LOG.encode() + b"\xff\n")
    (folder / "outputs" / "empty.log").touch()
    (folder / "cases.jsonl").write_text("".join(json.dumps(line) + "\n" for line in cases))
    return folder


def line(name: str, **fields: Any) -> dict[str, Any]:
    return {"id": name, "file": "outputs/a.log", "question": "which upload", "needles": ["kestrel"], **fields}


def test_a_corpus_is_read_with_all_questions_to_a_file_together(tmp_path: Path) -> None:
    found = output_set(corpus(tmp_path, line("one", kind="log"), line("two", kind="log")))
    (one,) = from_corpus(found)
    assert [question.case for question in one.questions] == ["one", "two"]
    assert (one.class_, one.size, one.text[-2:]) == ("log", len(LOG) + 2, "�\n")
    assert found.record()["cases"] == 2
    part = found.first(1)
    assert ([case.id for case in part.cases], part.hash != found.hash) == (["one"], True)


def test_the_hash_of_a_corpus_covers_the_outputs(tmp_path: Path) -> None:
    before = output_set(corpus(tmp_path, line("one"))).hash
    with (tmp_path / "outputs" / "a.log").open("ab") as file:
        file.write(b"\n")
    assert output_set(tmp_path).hash != before


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (line("a", needles=[]), BadInput, "cases.jsonl:1: needles: there is none"),
        (line("a", question=" "), BadInput, "cases.jsonl:1: question: is no text"),
        (line("a", file="../corpus/outputs/a.log"), BadInput, "'../corpus/outputs/a.log' is not in the corpus' folder"),
        (line("a", file="/etc/hostname"), BadInput, "'/etc/hostname' is not in the corpus' folder"),
        (line("a", file="outputs/empty.log"), BadInput, "empty.log is empty"),
        (line("a", file="outputs"), NotFound, "there is no"),
        (line("a", file="outputs/b.log"), NotFound, "cases.jsonl:1: file: there is no"),
    ],
)
def test_what_is_wrong_with_a_corpus_is_named(
    tmp_path: Path, wrong: dict[str, Any], error: type[BadInput | NotFound], message: str
) -> None:
    with pytest.raises(error) as caught:
        output_set(corpus(tmp_path, wrong))
    assert message in str(caught.value)


def test_tail_is_the_last_200_lines() -> None:
    (reply,) = tail(LOG, ["anything"])
    assert reply.split("\n") == LOG.splitlines()[-200:]


def test_grep_shows_each_line_with_a_word_of_the_question_and_two_around_it() -> None:
    (reply,) = grep(LOG, ["Which UPLOAD was it?"])
    assert reply.split("\n") == LOG.splitlines()[398:403]


def test_bm25_gives_at_most_five_chunks_with_the_rarest_word_first() -> None:
    (reply,) = bm25(LOG, ["which upload of a worker failed"])
    chunks = reply.split("\n---\n")
    assert len(chunks) == 5
    assert ERROR in chunks[0]
    assert all(len(chunk) <= 1501 for chunk in chunks)
    assert list(bm25("x" * 5000, ["nothing of it", "x" * 1500])) == ["", "\n---\n".join(["x" * 1500] * 3)]


def test_the_words_of_a_question_leave_out_those_that_tell_nothing() -> None:
    assert words("Why did the Upload fail, and which upload?") == ["upload", "fail"]
