"""The installed command: where the report goes, what is said on stderr, and how it ends."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from conftest import Tool

from .conftest import SMALL, Write
from .test_reduction import corpus, line
from .test_retrieval import DOCS, QUERIES
from .test_retrieval import write as write_corpus

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "formats" / "bench.report.schema.json").read_text())
UNTIMED = ("created_at", "git")


def report(output: bytes) -> dict[str, Any]:
    """The one record on a line, held to its schema."""
    assert output.count(b"\n") == 1
    record: dict[str, Any] = json.loads(output)
    assert [error.message for error in Draft202012Validator(SCHEMA).iter_errors(record)] == []
    keys = [(metric["group"], metric["metric"]) for metric in record["metrics"]]
    assert len(keys) == len(set(keys))
    cases = [(case["case"], case["group"]) for case in record["cases"]]
    assert len(cases) == len(set(cases))
    return record


def test_quality_prints_a_report_in_a_pipe(tool: Tool, small: Path) -> None:
    done = tool("capy-bench", "quality", "--fixtures", small, "--stores", "shared", "--types", "markdown")
    assert (done.returncode, done.stderr) == (0, b"")
    record = report(done.stdout)
    assert (record["kind"], record["dataset"]["cases"]) == ("quality", 4)
    assert record["settings"] == {"stores": ["shared"], "types": ["markdown"], "limit": None, "seed": 1}
    assert {case["case"] for case in record["cases"]} == {"lights_q1", "lights_q2", "lights_neg1", "bread_q1"}
    assert {"capy-store", "python", "sqlite"} <= set(record["versions"])


def test_reports_in_files_are_the_same_but_for_time_and_commit(tool: Tool, small: Path, tmp_path: Path) -> None:
    for name, seed in (("one", "0"), ("two", "1")):
        done = tool(
            "capy-bench", "quality", "--fixtures", small, "--out", tmp_path / name, env={"PYTHONHASHSEED": seed}
        )
        assert done.returncode == 0
    one, two = ((tmp_path / name).read_text(encoding="utf-8").splitlines() for name in ("one", "two"))
    kept = [
        [line for line in lines if not line.startswith(tuple(f'"{key}"' for key in UNTIMED))] for lines in (one, two)
    ]
    assert kept[0] == kept[1]
    assert len(one) - len(kept[0]) == len(UNTIMED)
    whole = json.loads((tmp_path / "one").read_text(encoding="utf-8"))
    assert report(json.dumps(whole).encode() + b"\n") == whole
    assert list(whole) == sorted(whole)
    assert sum(line.startswith('  {"') for line in one) == len(whole["metrics"]) + len(whole["cases"])


def test_people_get_a_table(tool: Tool, small: Path) -> None:
    done = tool("capy-bench", "quality", "--fixtures", small, "--format", "text")
    lines = done.stdout.decode().splitlines()
    assert lines[0] == "quality: fixtures, 6 cases"
    head, row = lines[2].split(), next(line for line in lines if line.startswith("shared/overall")).split()
    assert head[:4] == ["cases", "R@1", "R@3", "R@5"]
    assert row[:3] == ["shared/overall", "4", "1.000"]
    assert "95 % intervals" in lines
    assert lines[-1] == "failures: 0"


def test_one_question_has_no_interval_to_show(tool: Tool, tmp_path: Path) -> None:
    write_corpus(tmp_path / "one", DOCS[:1], [{"id": "q", "text": "clockwork", "relevant": ["a"], "group": "sea"}])
    assert b"interval" not in tool("capy-bench", "retrieval", "--corpus", tmp_path / "one", "--format", "text").stdout


def test_reduction_of_fixtures_and_of_a_corpus(tool: Tool, small: Path, tmp_path: Path) -> None:
    of_fixtures = report(tool("capy-bench", "reduction", "--fixtures", small, "--types", "plaintext").stdout)
    assert of_fixtures["settings"]["ways"] == ["intent", "search", "batch", "tail-200", "grep-C2", "bm25-top5"]
    assert {metric["group"] for metric in of_fixtures["metrics"]} >= {"intent/overall", "bm25-top5/size 5-20 KB"}
    (tmp_path / "corpus").mkdir()
    of_corpus = report(
        tool("capy-bench", "reduction", "--corpus", corpus(tmp_path / "corpus", line("a", kind="log"))).stdout
    )
    assert of_corpus["dataset"]["name"] == "corpus"
    assert {metric["group"] for metric in of_corpus["metrics"]} >= {"search/log", "tail-200/overall"}


def test_retrieval_of_one_set_and_of_many(tool: Tool, tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_corpus(tmp_path / name, DOCS, QUERIES)
    single = report(tool("capy-bench", "retrieval", "--corpus", tmp_path / "one").stdout)
    assert (single["dataset"]["name"], single["settings"]["sets"]) == ("one", {"one": ["docs", 10]})
    both = report(tool("capy-bench", "retrieval", "--corpus", tmp_path, "--limit", "1").stdout)
    assert both["settings"] == {"limit": 1, "seed": 1, "sets": {"one": ["docs", 10], "two": ["docs", 10]}}
    assert {case["group"] for case in both["cases"]} == {"one/overall", "two/overall"}


def test_doubtful_fixtures_are_warned_of_and_refused_on_request(tool: Tool, write: Write) -> None:
    entries = deepcopy(SMALL)
    entries["markdown"][1]["cases"][0]["query"] = "who winds the clockwork"
    folder = write(entries)
    done = tool("capy-bench", "quality", "--fixtures", folder)
    warning = json.loads(done.stderr)
    assert (done.returncode, warning["code"]) == (0, "doubtful_fixtures")
    assert "bread_q1 asks what lights_q1 asks" in warning["message"]
    refused = tool("capy-bench", "quality", "--fixtures", folder, "--strict")
    assert (refused.returncode, refused.stdout) == (4, b"")
    assert "bread_q1 asks what lights_q1 asks" in json.loads(refused.stderr)["message"]


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["quality", "--split", "train"], 2, "train"),
        (["quality", "--limit", "0"], 2, "0"),
        (["quality", "--fixtures", "missing"], 3, "does not exist"),
        (["quality", "--fixtures", "."], 3, "no fixtures"),
        (["reduction", "--corpus", ".", "--types", "json"], 2, "--corpus takes no"),
        (["reduction", "--corpus", "."], 3, "there is no cases.jsonl"),
        (["retrieval"], 2, "--corpus"),
        (["retrieval", "--corpus", "."], 3, "no docs.jsonl"),
        (["quality", "--fixtures", "bad"], 4, "markdown.jsonl:1: not JSON"),
    ],
)
def test_what_cannot_be_done_is_said_with_a_status(
    tool: Tool, project: Path, arguments: list[str], status: int, words: str
) -> None:
    (project / "bad").mkdir()
    (project / "bad" / "markdown.jsonl").write_text("{\n")
    done = tool("capy-bench", *arguments)
    assert (done.returncode, done.stdout) == (status, b"")
    assert words in json.loads(done.stderr)["message"]


def test_a_report_that_cannot_be_written_is_an_error_and_still_printed(tool: Tool, small: Path, tmp_path: Path) -> None:
    (tmp_path / "full").symlink_to("/dev/full/x")
    done = tool("capy-bench", "quality", "--fixtures", small, "--out", tmp_path / "full")
    assert (done.returncode, json.loads(done.stderr)["code"]) == (6, "unwritable")
    assert report(done.stdout)["kind"] == "quality"


@pytest.mark.parametrize(
    ("out", "status", "words"), [("missing/now.json", 3, "no folder missing"), ("-", 2, "names a")]
)
def test_a_file_that_could_not_be_written_is_refused_before_measuring(
    tool: Tool, out: str, status: int, words: str
) -> None:
    done = tool("capy-bench", "quality", "--out", out)
    assert (done.returncode, done.stdout) == (status, b"")
    assert words in json.loads(done.stderr)["message"]


@pytest.mark.parametrize(
    ("command", "folder", "words"),
    [
        ("reduction", "outputs", "a: needles: 'not there' is not in outputs/a.log"),
        ("retrieval", "needles", "q: needles: 'not there' is in no document of its group"),
        ("retrieval", "docs", "q: relevant: 'nope' is no document of its group"),
    ],
)
def test_an_answer_that_is_nowhere_is_warned_of_and_refused_on_request(
    tool: Tool, tmp_path: Path, command: str, folder: str, words: str
) -> None:
    (tmp_path / "outputs").mkdir()
    corpus(tmp_path / "outputs", line("a", needles=["not there"]))
    write_corpus(tmp_path / "needles", DOCS, [{"id": "q", "text": "tin", "needles": ["not there"], "group": "sea"}])
    write_corpus(tmp_path / "docs", DOCS, [{"id": "q", "text": "tin", "relevant": ["nope"], "group": "sea"}])
    done = tool("capy-bench", command, "--corpus", tmp_path / folder)
    assert done.returncode == 0
    assert words in json.loads(done.stderr)["message"]
    assert report(done.stdout)["kind"] == command
    assert tool("capy-bench", command, "--corpus", tmp_path / folder, "--strict").returncode == 4
