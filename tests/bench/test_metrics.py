"""Figures of ranked answers and their intervals, against values worked out by hand and by brute force."""

from __future__ import annotations

from itertools import permutations
from math import log2
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capy_bench.metrics import first_rank, found, interval, is_tied, mean, ranking


def distinct(*relevant: bool) -> list[tuple[float, bool]]:
    return [(1.0 - rank / 100, hit) for rank, hit in enumerate(relevant)]


def test_a_hit_at_rank_two() -> None:
    scores = ranking(distinct(False, True, False), 1)
    assert scores == {
        "recall_at_1": 0.0, "recall_at_3": 1.0, "recall_at_5": 1.0, "recall_at_10": 1.0, "mrr": 0.5,
        "ndcg_at_10": pytest.approx(1 / log2(3)),
    }  # fmt: skip


def test_no_hit_and_no_relevant_hit_score_nothing() -> None:
    assert set(ranking([], 1).values()) == {0.0}
    assert set(ranking(distinct(False, False), 3).values()) == {0.0}


def test_what_stands_below_the_tenth_rank_does_not_count() -> None:
    assert set(ranking(distinct(*[False] * 10, True), 1).values()) == {0.0}


def test_the_ideal_of_ndcg_is_all_that_could_be_found_not_all_that_was() -> None:
    one_of_two = ranking(distinct(True, False), 2)
    assert one_of_two["ndcg_at_10"] == pytest.approx(1 / (1 + 1 / log2(3)))
    assert ranking(distinct(True, False), 1)["ndcg_at_10"] == 1.0


def test_ndcg_is_at_most_one_with_more_relevant_items_than_ranks_or_than_were_counted() -> None:
    assert ranking(distinct(*[True] * 10), 50)["ndcg_at_10"] == pytest.approx(1.0)
    assert ranking(distinct(True, True, True), 1)["ndcg_at_10"] == pytest.approx(1.0)


@pytest.mark.parametrize("gold", [0, 7, 9])
def test_equal_scores_give_the_same_figures_wherever_the_gold_stands(gold: int) -> None:
    hits = [(0.5, rank == gold) for rank in range(10)]
    scores = ranking(hits, 1)
    assert scores["recall_at_1"] == pytest.approx(0.1)
    assert scores["recall_at_5"] == pytest.approx(0.5)
    assert scores["mrr"] == pytest.approx(fmean(1 / rank for rank in range(1, 11)))
    assert is_tied(hits)


def test_a_tie_that_reaches_below_the_tenth_rank_shares_its_places_too() -> None:
    hits = [(0.5, rank == 19) for rank in range(20)]
    scores = ranking(hits, 1)
    assert (scores["recall_at_1"], scores["recall_at_10"]) == (pytest.approx(1 / 20), pytest.approx(10 / 20))
    assert found(hits) == pytest.approx(10 / 20)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([3.0, 2.0, 1.0]), st.booleans()), max_size=6))
def test_ties_are_the_mean_over_all_orders_of_equals(hits: list[tuple[float, bool]]) -> None:
    hits.sort(key=lambda hit: -hit[0])
    orders = [order for order in permutations(hits) if [hit[0] for hit in order] == [hit[0] for hit in hits]]
    total = sum(relevant for _, relevant in hits)
    apart = [ranking(distinct(*(relevant for _, relevant in order)), total) for order in orders]
    for name, value in ranking(hits, total).items():
        assert value == pytest.approx(fmean(scores[name] for scores in apart))
    assert found(hits) == pytest.approx(total)


def test_the_first_rank_is_the_one_that_the_program_gave() -> None:
    assert first_rank(distinct(False, False, True, True)) == 3
    assert first_rank(distinct(False)) == 0


def test_a_tie_counts_only_where_it_decides() -> None:
    assert not is_tied([(0.9, True), (0.5, False), (0.5, False)])
    assert not is_tied([(0.9, True), (0.9, True)])
    assert not is_tied([(0.9, False), (0.9, False)])
    assert is_tied([(0.9, True), (0.8, True), (0.9, False)])


def test_an_interval_holds_the_mean_and_narrows_with_more_clusters() -> None:
    few = {str(i): [float(i % 4 > 0)] for i in range(12)}
    many = {str(i): [float(i % 4 > 0)] for i in range(1200)}
    (low, high), (lower, higher) = interval(few, seed=1), interval(many, seed=1)
    assert low is not None and high is not None and lower is not None and higher is not None
    assert low < lower < 0.75 < higher < high
    # the normal approximation of a share of .75 among 1,200
    assert (lower, higher) == (pytest.approx(0.75 - 0.0245, abs=0.004), pytest.approx(0.75 + 0.0245, abs=0.004))


def test_cases_of_one_text_widen_the_interval_by_standing_or_falling_together() -> None:
    together = {str(i): [float(i % 2)] * 10 for i in range(20)}
    apart = {f"{i} {j}": [float(i % 2)] for i in range(20) for j in range(10)}
    (low, high), (lower, higher) = interval(together, seed=1), interval(apart, seed=1)
    assert low is not None and high is not None and lower is not None and higher is not None
    assert high - low > 2 * (higher - lower)


def test_the_interval_of_a_seed_is_always_the_same() -> None:
    values = {str(i): [i / 7 % 1.0] for i in range(30)}
    assert interval(values, seed=3) == interval(values, seed=3) != interval(values, seed=4)


def test_one_cluster_has_no_interval() -> None:
    assert interval({"a": [1.0, 0.0]}, seed=1) == (None, None)
    assert interval({}, seed=1) == (None, None)
    assert interval({"a": [1.0], "b": []}, seed=1) == (None, None)


def test_the_mean_of_nothing_is_zero() -> None:
    assert mean([]) == 0.0
