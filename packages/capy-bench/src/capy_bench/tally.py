"""Scores of cases -> the metrics of groups, each with its interval."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from zlib import crc32

from .metrics import interval, mean
from .record import Metric, Scores


class Kind(NamedTuple):
    """How a score is read: which direction is better, in what unit, and whether any loss counts."""

    better: str = "higher"
    unit: str = "ratio"
    strict: bool = False
    total: bool = False  # the sum of the cases, not their mean


class Scored(NamedTuple):
    """A case with its scores.

    Args:
        cluster: what it shares with cases that stand or fall with it, such as its text.
        variant: how it was asked ("shared", "intent"); its groups are `<variant>/<class>`.
        classes: those that it counts in; the first is its own in the list of cases.
    """

    case: str
    cluster: str
    variant: str
    classes: tuple[str, ...]
    scores: dict[str, float]


def metrics(scored: Sequence[Scored], kinds: dict[str, Kind], *, seed: int) -> list[Metric]:
    """A metric for each group and each kind of score that a case of the group has.

    Args:
        kinds: every name of a score -> how it is read, in the order of the report.
        seed: of the bootstrap; each group draws its own numbers, so that one group's figures do not move another's.
    """
    groups: dict[str, list[Scored]] = {}
    for case in scored:
        for class_ in case.classes:
            groups.setdefault(f"{case.variant}/{class_}", []).append(case)
    variants = list(dict.fromkeys(case.variant for case in scored))
    return [
        metric
        for group in sorted(groups, key=lambda group: _place(group, variants))
        for metric in _of_group(group, groups[group], kinds, seed ^ crc32(group.encode()))
    ]


def cases(scored: Iterable[Scored]) -> list[Scores]:
    """The list of cases of a report."""
    return [
        Scores(
            case.case,
            f"{case.variant}/{case.classes[0]}",
            tuple(f"{case.variant}/{class_}" for class_ in case.classes),
            case.scores,
        )
        for case in scored
    ]


def _place(group: str, variants: list[str]) -> tuple[int, bool, str]:
    """Within a variant: overall first, then plain classes, then by the first word of those such as `size 5-20 KB`."""
    variant, _, class_ = group.partition("/")
    family, several, _ = class_.partition(" ")
    return variants.index(variant), class_ != "overall", family if several else ""


def _of_group(group: str, scored: list[Scored], kinds: dict[str, Kind], seed: int) -> Iterable[Metric]:
    for name, kind in kinds.items():
        clusters: dict[str, list[float]] = {}
        for case in scored:
            if name in case.scores:
                clusters.setdefault(case.cluster, []).append(case.scores[name])
        values = [value for cluster in clusters.values() for value in cluster]
        if not values:
            continue
        if kind.total:
            value, low, high = sum(values), None, None
        else:
            value, (low, high) = mean(values), interval(clusters, seed=seed)
        yield Metric(group, name, value, low, high, len(values), kind.better, kind.unit, kind.strict)
