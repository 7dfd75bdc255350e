"""Times -> figures with intervals, without any assumption on how times are spread."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter

from ..record import Metric


def times(action: Callable[[], object], rounds: int) -> list[float]:
    """Milliseconds of each of `rounds` calls, after one that does not count."""
    action()
    return [once(action) for _ in range(rounds)]


def once(action: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    start = perf_counter()
    action()
    return (perf_counter() - start) * 1000


def interleaved(actions: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Milliseconds of `rounds` calls of each action, taken in turns: what disturbs the machine then hits all alike."""
    for action in actions.values():
        action()
    taken: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            taken[name].append(once(action))
    return taken


def quantile(values: Sequence[float], share: float) -> tuple[float, float, float]:
    """A quantile and its 95 % interval by order statistics (the binomial's normal approximation).

    Args:
        values: at least one; any order.
        share: 0.5 for the median.

    Returns:
        value, low, high. With few values the interval is their whole range.
    """
    ordered = sorted(values)
    count = len(ordered)
    reach = 1.96 * math.sqrt(count * share * (1 - share))
    low = math.floor(count * share - reach)
    high = math.ceil(count * share + reach)
    return (
        ordered[min(count - 1, int(count * share))],
        ordered[max(0, low)],
        ordered[min(count - 1, max(high, 0))],
    )


def metric(group: str, name: str, values: Sequence[float], unit: str = "ms", share: float = 0.5) -> Metric:
    """One figure of a report: the quantile of what was measured. Times and ratios are better low, speeds high."""
    value, low, high = quantile(values, share)
    better = "higher" if unit in ("MB/s", "ratio") else "lower"
    if len(values) == 1:  # no interval
        return Metric(group, name, _round(value), n=1, better=better, unit=unit)
    return Metric(group, name, _round(value), _round(low), _round(high), len(values), better, unit)


def percentiles(group: str, values: Sequence[float]) -> Iterator[Metric]:
    """p50, p95 and p99 of latencies in milliseconds."""
    for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
        yield metric(group, name, values, share=share)


def ratio(group: str, name: str, values: Sequence[float], base: Sequence[float]) -> Metric:
    """How many times `base` the `values` took, round by round: both were taken in turns."""
    return metric(group, name, [value / floor for value, floor in zip(values, base, strict=True)], unit="x")


def _round(value: float) -> float:
    return float(f"{value:.4g}")
