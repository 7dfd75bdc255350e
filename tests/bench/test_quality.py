"""Questions asked of real stores: what is found, by which lane, and what is not to be found."""

from __future__ import annotations

import random
from copy import deepcopy
from pathlib import Path

from capy_bench.fixtures import Dataset, load
from capy_bench.quality import measure
from capy_bench.record import Metric, Outcome

from .conftest import SMALL, Write, case, entry


def figures(outcome: Outcome, group: str) -> dict[str, Metric]:
    return {metric.metric: metric for metric in outcome.metrics if metric.group == group}


def test_every_question_is_asked_of_both_kinds_of_store(small: Path) -> None:
    outcome = measure(load(folder=small))
    assert {metric.group for metric in outcome.metrics} == {
        f"{stores}/{name}"
        for stores in ("shared", "per-type")
        for name in (
            "overall",
            "markdown",
            "plaintext",
            "layer porter",
            "layer fuzzy",
            "trait typo",
            "trait paraphrase",
        )
    }
    assert [(one.case, one.group) for one in outcome.cases] == [
        (name, f"{stores}/{'plaintext' if name.startswith('log') else 'markdown'}")
        for stores in ("shared", "per-type")
        for name in ("lights_q1", "lights_q2", "lights_neg1", "bread_q1", "log_q1", "log_neg1")
    ]


def test_found_texts_lanes_and_ranks_score(small: Path) -> None:
    outcome = measure(load(folder=small))
    assert outcome.failures == []
    overall = figures(outcome, "shared/overall")
    values = {name: (metric.value, metric.n) for name, metric in overall.items()}
    assert values == {
        "recall_at_1": (1.0, 4), "recall_at_3": (1.0, 4), "recall_at_5": (1.0, 4), "recall_at_10": (1.0, 4),
        "mrr": (1.0, 4), "ndcg_at_10": (1.0, 4), "layer_accuracy": (1.0, 2), "within_rank_ceiling": (1.0, 2),
        "negatives_answered": (0.0, 2), "ties": (0.0, 4),
    }  # fmt: skip
    assert overall["layer_accuracy"].strict
    assert (overall["negatives_answered"].better, overall["negatives_answered"].strict) == ("lower", True)


def test_each_kind_of_failure_is_told(write: Write) -> None:
    entries = deepcopy(SMALL)
    cases = entries["markdown"][0]["cases"]
    cases[0]["expected_layer"] = "cjk"
    cases += [
        case("lights_q3", "sourdough starter rye flour", "Colza oil", expected_rank_ceiling=1),
        case("lights_q4", "gondola ammonite", "tonnes"),
        case("lights_neg2", "lens of the first order"),
    ]
    outcome = measure(load(folder=write(entries)), stores=["shared"])
    told = {(failure.case, failure.failure): failure for failure in outcome.failures}
    assert set(told) == {
        ("lights_q1", "layer"), ("lights_q3", "needle_lost"), ("lights_q3", "rank_ceiling"),
        ("lights_q4", "no_results"), ("lights_neg2", "negative_answered"),
    }  # fmt: skip
    assert {failure.group for failure in outcome.failures} == {"shared/markdown"}
    layer = told["lights_q1", "layer"]
    assert (layer.expected, "porter" in layer.actual) == ("cjk", True)
    assert told["lights_q3", "needle_lost"].actual.startswith("bread.txt: ")
    overall = figures(outcome, "shared/overall")
    assert (overall["recall_at_10"].value, overall["recall_at_10"].n) == (4 / 6, 6)
    assert (overall["negatives_answered"].value, overall["negatives_answered"].n) == (1 / 3, 3)


def test_a_text_of_another_type_distracts_in_the_shared_store_alone(write: Write) -> None:
    entries = deepcopy(SMALL)
    entries["curated"] = [entry("note", "curated", "who winds the clockwork", case("note_q1", "winds", "who winds"))]
    outcome = measure(load(folder=write(entries)))
    assert figures(outcome, "per-type/markdown")["recall_at_1"].value == 1.0
    assert figures(outcome, "shared/markdown")["recall_at_1"].value < 1.0


def test_the_ideal_counts_all_chunks_of_the_store_that_answer(write: Write) -> None:
    answer = "The gate opens at seven.\n"
    entries = {
        "curated": [
            entry("a", "curated", f"# Gates\n\n{answer}", case("a_q1", "gates", answer.strip())),
            entry("b", "curated", f"# Harbour\n\nBoats moor on the left. {answer}", case("b_q1", "boats", "moor")),
        ]
    }
    scores = {one.case: one.scores for one in measure(load(folder=write(entries)), stores=["shared"]).cases}
    both_at_the_top = scores["a_q1"]["ndcg_at_10"]
    assert both_at_the_top == 1.0
    entries["curated"][0]["cases"][0]["query"] = "boats harbour"  # finds one of the two
    scores = {one.case: one.scores for one in measure(load(folder=write(entries)), stores=["shared"]).cases}
    assert (scores["a_q1"]["mrr"], round(scores["a_q1"]["ndcg_at_10"], 3)) == (1.0, 0.613)


def test_the_order_of_the_file_changes_no_score(write: Write) -> None:
    """Eight texts that all fit the question alike: only ties could tell them apart."""
    entries = [
        entry(f"n{i}", "curated", f"The pump station log entry {i}", case(f"n{i}_q1", "pump station", f"entry {i}"))
        for i in range(8)
    ]
    found = []
    for seed in range(3):
        random.Random(seed).shuffle(entries)
        outcome = measure(load(folder=write({"curated": entries})), stores=["shared"])
        found.append({one.case: one.scores for one in outcome.cases})
    assert found[0] == found[1] == found[2]
    assert {scores["ties"] for scores in found[0].values()} == {1.0}
    assert {round(scores["recall_at_1"], 6) for scores in found[0].values()} == {1 / 8}


def test_two_runs_are_the_same(small: Path) -> None:
    assert measure(load(folder=small)) == measure(load(folder=small))


def test_the_steps_are_told(small: Path) -> None:
    steps: list[int] = []
    dataset = load(folder=small)
    measure(dataset, tick=steps.append)
    assert sum(steps) == 2 * dataset.record()["cases"]


def test_nothing_of_the_user_is_touched(small: Path, home: Path) -> None:
    assert isinstance(load(folder=small), Dataset)
    measure(load(folder=small), stores=["per-type"])
    assert list(home.iterdir()) == []
