"""Corpora of documents and queries: read, asked, and counted by document or by needle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from capy_bench.corpus import retrieval_sets
from capy_bench.retrieval import measure
from capy_core.errors import BadInput, NotFound

from .test_quality import figures

DOCS = [
    {"id": "a", "text": "The keeper winds the clockwork every four hours.", "group": "sea"},
    {"id": "b", "text": "A lens of the first order weighs two tonnes.", "title": "Fresnel lens", "group": "sea"},
    {"id": "c", "text": "Rye flour feeds the starter.", "group": "kitchen"},
]
QUERIES = [
    {"id": 1, "text": "clockwork keeper", "relevant": ["a"], "group": "sea", "kind": "plain"},
    {"id": 2, "text": "fresnel", "relevant": ["b"], "group": "sea", "kind": "title"},
    {"id": 3, "text": "rye flour", "relevant": ["a"], "group": "kitchen"},
    {"id": 4, "text": "zeppelin", "group": "kitchen"},
]
SEA = [{"id": "a", "text": "The keeper winds the clockwork."}]
MIXED = [{"id": "q", "text": "x", "relevant": ["a"]}, {"id": "p", "text": "x", "needles": ["keeper"]}]


def write(folder: Path, docs: list[Any], queries: list[Any], meta: dict[str, Any] | None = None) -> Path:
    folder.mkdir(exist_ok=True)
    queries = [{**query, "id": str(query["id"])} if isinstance(query, dict) else query for query in queries]
    for name, lines in (("docs", docs), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    if meta is not None:
        (folder / "meta.json").write_text(json.dumps(meta, indent=1))
    return folder


def test_documents_are_found_within_their_group(tmp_path: Path) -> None:
    (corpus,) = retrieval_sets(write(tmp_path / "small", DOCS, QUERIES))
    assert (corpus.name, corpus.mode, corpus.fetch) == ("small", "docs", 10)
    outcome = measure(corpus)
    overall = figures(outcome, "small/overall")
    assert (overall["recall_at_1"].value, overall["recall_at_1"].n) == (2 / 3, 3)
    assert (overall["found_at_10"].value, overall["ndcg_at_10"].value) == (2 / 3, 2 / 3)
    assert (overall["negatives_answered"].value, overall["negatives_answered"].n) == (0.0, 1)
    assert figures(outcome, "small/kind title")["mrr"].value == 1.0
    assert [(failure.case, failure.failure, failure.actual) for failure in outcome.failures] == [
        ("3", "needle_lost", "c")
    ]


def test_the_chunks_of_a_document_count_once(tmp_path: Path) -> None:
    long = "\n\n".join(
        f"# Part {i}\n\nThe tide table of port {i}. " + "Low water follows high water. " * 60 for i in range(9)
    )
    docs = [{"id": "tides", "text": long}, {"id": "moon", "text": "The tide table depends on the moon."}]
    queries = [{"id": "q", "text": "tide table", "relevant": ["tides", "moon"]}]
    (corpus,) = retrieval_sets(write(tmp_path, docs, queries, {"fetch": 30}))
    (scores,) = [case.scores for case in measure(corpus).cases]
    assert (scores["found_at_10"], scores["ndcg_at_10"]) == (1.0, pytest.approx(1.0))


def test_needles_are_looked_for_in_what_a_hit_says(tmp_path: Path) -> None:
    docs = [{"id": "a", "text": "# One\n\nThe tide turns at noon.\n\n# Two\n\nThe tide turns at midnight.\n"}]
    queries = [
        {"id": "q1", "text": "when does the tide turn", "needles": ["at noon", "at midnight"]},
        {"id": "q2", "text": "tide", "needles": ["at dawn"]},
        {"id": "q3", "text": "granite"},
    ]
    (corpus,) = retrieval_sets(write(tmp_path, docs, queries))
    assert corpus.mode == "needles"
    outcome = measure(corpus)
    scores = {case.case: case.scores for case in outcome.cases}
    assert (scores["q1"]["found_at_10"], scores["q1"]["mrr"]) == (1.0, 1.0)
    assert (scores["q2"]["found_at_10"], scores["q2"]["recall_at_10"]) == (0.0, 0.0)
    assert scores["q3"] == {"negatives_answered": 0.0}
    assert [failure.case for failure in outcome.failures] == ["q2"]


def test_a_folder_of_sets_and_the_part_of_a_set(tmp_path: Path) -> None:
    for name in ("two", "one"):
        write(tmp_path / name, DOCS, QUERIES)
    sets = retrieval_sets(tmp_path)
    assert [one.name for one in sets] == ["one", "two"]
    assert sets[0].hash == sets[1].hash
    part = sets[0].first(1)
    assert [query.id for query in part.queries] == ["1", "3"]
    assert part.hash != sets[0].hash


@pytest.mark.parametrize(
    ("docs", "queries", "meta", "message"),
    [
        ([{"id": "a"}], QUERIES, None, "docs.jsonl:1: text: is missing"),
        ([{"id": 4, "text": "x"}], QUERIES, None, "docs.jsonl:1: id: is no text"),
        ([*DOCS, DOCS[0]], QUERIES, None, "docs.jsonl: id: 'sea/a' is there twice"),
        (DOCS, [], None, "queries.jsonl is empty"),
        (DOCS, [{"id": "q", "text": "x", "relevant": "a"}], None, "queries.jsonl:1: relevant: is no list of texts"),
        (DOCS, [{"id": "q", "text": "x", "group": "air"}], None, "no document is in group 'air'"),
        (DOCS, [{"id": "q", "text": "x", "needles": ""}], None, "queries.jsonl:1: needles: is no list of texts"),
        (DOCS, [{"id": "q", "text": "x", "needles": [" "]}], None, "queries.jsonl:1: needles: is no list of texts"),
        (SEA, [{"id": "q", "text": "x", "needles": ["a"]}], {"mode": "docs"}, "q: relevant: is missing"),
        (SEA, [{"id": "q", "text": "x", "relevant": ["a"]}], {"mode": "needles"}, "q: needles: is missing"),
        (SEA, MIXED, None, "q: needles: is missing"),
        (DOCS, QUERIES, {"mode": "lines"}, "meta.json: mode: 'lines' is not"),
        (DOCS, QUERIES, {"fetch": 3}, "meta.json: fetch: 3 is no whole number from 10"),
        (DOCS, ["words"], None, "queries.jsonl: line 1 holds a JSON str"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(
    tmp_path: Path, docs: list[Any], queries: list[Any], meta: dict[str, Any] | None, message: str
) -> None:
    with pytest.raises(BadInput) as caught:
        retrieval_sets(write(tmp_path, docs, queries, meta))
    assert message in caught.value.message


def test_missing_files_are_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"no docs\.jsonl"):
        retrieval_sets(tmp_path)
    write(tmp_path, DOCS, QUERIES)
    (tmp_path / "queries.jsonl").unlink()
    with pytest.raises(NotFound, match=r"queries\.jsonl"):
        retrieval_sets(tmp_path)
