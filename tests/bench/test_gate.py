"""The gate of CI: a search that lost one of its parts does not pass against the committed baseline.

Held are the figures of the store that has all texts; the baseline is narrowed to it, so that a figure that vanishes is
still missed. No figure stands here: whoever renews benchmarks/quality.json renews what is expected.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capy_bench import quality
from capy_bench.compare import Comparison, compare, read
from capy_bench.fixtures import load
from capy_bench.record import build
from capy_store.search import answer, guesses, rank, terms

STORE = "shared"
RANKED = ("recall_at_1", "recall_at_3", "recall_at_5", "recall_at_10", "mrr", "ndcg_at_10")
BASELINE = Path(__file__).parents[2] / "benchmarks" / "quality.json"


def held() -> Comparison:
    """A run of the search as it is now, against the baseline."""
    dataset = load("test")
    outcome = quality.measure(dataset, stores=(STORE,))
    now = build("quality", dataset.record(), {"stores": [STORE]}, outcome)
    base = read(str(BASELINE))
    for part in ("metrics", "failures"):
        base[part] = [item for item in base[part] if item["group"].startswith(f"{STORE}/")]
    base["settings"]["stores"] = [STORE]
    assert len(base["metrics"]) > 100, "the baseline holds the store that is asked"
    return compare(base, now)


def without_stop_list(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(terms, "STOP_WORDS", frozenset())


def without_typo_layer(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(guesses, "nearest", lambda *_given, **_options: [])


def without_rerank(patch: pytest.MonkeyPatch) -> None:
    """Candidates in the order of SQLite's scores; the windows of one stay in their order."""

    def by_bm25(question: Any, rows: Any, bm25: dict[int, float], window: int) -> list[rank.Ranked]:
        found = rank.rank(question, rows, bm25, window)
        for item in found:
            item.score = bm25.get(item.match.row.id, 0.0)
        return sorted(found, key=lambda item: -item.score)

    patch.setattr(answer, "rank", by_bm25)


def test_the_search_as_it_is_passes() -> None:
    found = held()
    assert [(row.group, row.metric, row.base, row.target) for row in found.regressions] == []
    assert [failure["case"] for failure in found.new_failures] == []


@pytest.mark.parametrize("disable", [without_stop_list, without_typo_layer, without_rerank])
def test_a_search_without_one_of_its_parts_is_caught_by_its_figures(
    disable: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    disable(monkeypatch)
    found = held()
    assert not found.clean
    worse = {(row.group, row.metric) for row in found.rows if row.change == "regression" and row.metric in RANKED}
    assert worse, "some question is answered lower, or no longer"
