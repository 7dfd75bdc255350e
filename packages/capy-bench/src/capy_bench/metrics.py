"""Figures from ranked answers and from groups of cases. Pure functions; the formulas: docs/adr/0014-bench.md.

One rule for ties holds for all figures: hits of one score share their places, so a figure is the mean over all orders
of them. What decides between equals in the program - mostly the order of indexing - then decides no figure.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from math import comb, log2

DEPTH = 10  # ranks that are looked at
CUTS = (1, 3, 5, 10)
RESAMPLES = 2000
_TAIL = 0.025  # of each side of a 95 % interval

Hits = Sequence[tuple[float, bool]]  # score and whether it is relevant, best first


def ranking(hits: Hits, total: int) -> dict[str, float]:
    """recall_at_1/3/5/10, mrr, ndcg_at_10 of one answer.

    Args:
        hits: more than DEPTH are of use where a tie reaches below it.
        total: relevant items that could have been found; fewer than were found counts as those.

    recall_at_k is 1 when a relevant hit stands in the first k. NDCG: gains of 0 and 1, discount 1 / log2(rank + 1), and
    its ideal is all relevant items at the top.
    """
    first, gains = (places[:DEPTH] for places in _places(hits))
    dcg = sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, 1))
    known = max(total, sum(relevant for _, relevant in hits))
    ideal = sum(1 / log2(rank + 1) for rank in range(1, min(known, DEPTH) + 1))
    scores = {f"recall_at_{cut}": min(1.0, sum(first[:cut])) for cut in CUTS}
    scores["mrr"] = sum(share / rank for rank, share in enumerate(first, 1))
    scores["ndcg_at_10"] = dcg / ideal if ideal else 0.0
    return scores


def found(hits: Hits) -> float:
    """How many relevant hits stand in the first DEPTH."""
    return sum(_places(hits)[1][:DEPTH])


def first_rank(hits: Hits) -> int:
    """The place of the first relevant hit as the program ordered them, from 1; 0 when there is none."""
    return next((rank for rank, (_, relevant) in enumerate(hits, 1) if relevant), 0)


def is_tied(hits: Hits) -> bool:
    """True when the first relevant hit has the score of one that is not: then only a tie decides its place."""
    rank = first_rank(hits)
    return rank > 0 and any(score == hits[rank - 1][0] and not relevant for score, relevant in hits)


def _places(hits: Hits) -> tuple[list[float], list[float]]:
    """By rank, over all orders of equals: the chance that the first relevant hit is there; the mean gain there."""
    first: list[float] = []
    gains: list[float] = []
    reached = False
    for _, block in groupby(hits, key=lambda hit: hit[0]):
        flags = [relevant for _, relevant in block]
        size, good = len(flags), sum(flags)
        gains += [good / size] * size
        if good and not reached:
            # of all ways to place `good` among `size`, those whose first is at `place`
            first += [comb(size - place, good - 1) / comb(size, good) for place in range(1, size + 1)]
            reached = True
        else:
            first += [0.0] * size
    return first, gains


def mean(values: Iterable[float]) -> float:
    """The mean; 0.0 of nothing."""
    items = list(values)
    return sum(items) / len(items) if items else 0.0


def interval(
    values: Mapping[str, Sequence[float]], *, seed: int, resamples: int = RESAMPLES
) -> tuple[float | None, float | None]:
    """The 95 % percentile bootstrap interval of the mean, by clusters.

    Args:
        values: cluster -> the values of its cases. Cases about one text succeed and fail together, so whole clusters
            are drawn, with replacement, as many as there are (Davison and Hinkley 1997, 3.8).

    Returns:
        (None, None) for fewer than two clusters: nothing tells how far another text would be off.
    """
    sums = [(sum(cases), len(cases)) for cases in values.values() if cases]
    if len(sums) < 2:
        return None, None
    totals, counts = [total for total, _ in sums], [count for _, count in sums]
    means = sorted(
        sum(map(totals.__getitem__, chosen)) / sum(map(counts.__getitem__, chosen))
        for chosen in _draws(len(sums), seed, resamples)
    )
    cut = int(_TAIL * resamples)
    return means[cut], means[-cut - 1]


@lru_cache(maxsize=2)  # the metrics of a group are asked for one after the other
def _draws(size: int, seed: int, resamples: int) -> list[list[int]]:
    source, population = random.Random(seed), range(size)
    return [source.choices(population, k=size) for _ in range(resamples)]
