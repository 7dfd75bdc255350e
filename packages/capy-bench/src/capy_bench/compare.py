"""Two reports of one dataset -> what got better, what got worse, which cases fail now. Standard library only.

A report is `capy.bench.report/1` (docs/formats): metrics by (group, metric), each with a direction, and the failures.
"""

from __future__ import annotations

from .reading import Unusable, plain, read

EPSILON = 1e-4  # a difference below this is rounding
_OF_THE_MACHINE = ("ms", "MB/s")  # units that say as much about the machine as about us
_FREE = ("seed",)  # settings that may differ: what they change is chance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .reading import Record

__all__ = ("Comparison", "Row", "Unusable", "compare", "read")


class Row:
    """One metric in both reports.

    Attributes:
        group, metric, unit: as in the reports.
        base, target: the values, or None where a report lacks the metric.
        change: "same", "better", "worse" (against its direction, within what is tolerated), "regression", "changed" (it
            has no direction, or is a time of another machine or of bare commands), "gone" (only in the base) and
            "fewer" (the mean of fewer cases than in the base), both as bad as a regression: no figure improves by
            vanishing; "new" (only in the target).
    """

    __slots__ = ("base", "change", "group", "metric", "target", "unit")

    def __init__(
        self, group: str, metric: str, unit: str, base: float | None, target: float | None, change: str
    ) -> None:
        self.group, self.metric, self.unit = group, metric, unit
        self.base, self.target, self.change = base, target, change

    @property
    def delta(self) -> float:
        return (self.target or 0.0) - (self.base or 0.0)


class Comparison:
    """What `compare` found: `rows` in the order of the reports, failures that are new and that are resolved."""

    __slots__ = ("new_failures", "resolved", "rows")

    def __init__(self, rows: list[Row], new_failures: list[Record], resolved: list[Record]) -> None:
        self.rows, self.new_failures, self.resolved = rows, new_failures, resolved

    @property
    def regressions(self) -> list[Row]:
        return [row for row in self.rows if row.change in ("regression", "gone", "fewer")]

    @property
    def clean(self) -> bool:
        return not self.regressions and not self.new_failures


def compare(base: Record, target: Record, *, tolerance: float = 0.02, relative: float = 0.10) -> Comparison:
    """Hold `target` against `base`.

    Args:
        base, target: reports, as `read` gives them.
        tolerance: what a metric between 0 and 1 may lose, absolute. Metrics marked `strict` may lose nothing.
        relative: what any other metric (times, sizes, speeds) may lose, as a share of the base.

    Measured speeds are noisy: in reports of kind "perf" a loss counts only if the two intervals do not overlap either,
    and times only on one machine. All other reports are the same for the same code, so there each figure is taken as it
    is.

    Raises:
        Unusable: other kinds, datasets or settings (but for the seed), or a metric that changed its unit or direction.
    """
    for name, old, new in _must_agree(base, target):
        if old != new:
            raise Unusable(plain(f"not comparable: {name} {old} against {new}"))
    old_metrics = {_key(metric): metric for metric in base["metrics"]}
    new_metrics = {_key(metric): metric for metric in target["metrics"]}
    noisy, moved = base["kind"] == "perf", on_other_machine(base, target)
    rows = [
        _row(old_metrics.get(key), new_metrics.get(key), noisy, moved, tolerance, relative)
        for key in dict.fromkeys((*old_metrics, *new_metrics))
    ]
    old_failures = {_failure(failure): failure for failure in base["failures"]}
    new_failures = {_failure(failure): failure for failure in target["failures"]}
    return Comparison(
        rows,
        [failure for key, failure in new_failures.items() if key not in old_failures],
        [failure for key, failure in old_failures.items() if key not in new_failures],
    )


def on_other_machine(base: Record, target: Record) -> bool:
    """Whether two reports of speed tell of different machines: their times then say nothing about each other."""
    return bool(base["kind"] == "perf" and base.get("machine") != target.get("machine"))


def _must_agree(base: Record, target: Record) -> Iterator[tuple[str, object, object]]:
    """What must be the same in both, by name: else their figures are of different things."""
    yield "kind", base["kind"], target["kind"]
    yield "dataset", _dataset(base), _dataset(target)
    old_settings, new_settings = base.get("settings") or {}, target.get("settings") or {}
    for name in old_settings:
        if name in new_settings and name not in _FREE:
            yield f"setting {name}", old_settings[name], new_settings[name]
    old_metrics = {_key(metric): metric for metric in base["metrics"]}
    for metric in target["metrics"]:
        old = old_metrics.get(_key(metric), metric)
        for field in ("unit", "better"):
            yield f"{field} of {' '.join(_key(metric))}", old[field], metric[field]


def _dataset(report: Record) -> str:
    dataset = report["dataset"]
    return f"{dataset.get('name') or ''} {dataset.get('split') or ''} {dataset['hash']}".strip()


def _key(metric: Record) -> tuple[str, str]:
    return metric["group"], metric["metric"]


def _failure(failure: Record) -> tuple[str, str, str]:
    return failure["case"], failure["group"], failure["failure"]


def _row(old: Record | None, new: Record | None, noisy: bool, moved: bool, tolerance: float, relative: float) -> Row:
    known = new or old or {}
    before, after = (item["value"] if item else None for item in (old, new))
    if old is None or new is None:
        change = "gone" if old else "new"
    elif not noisy and (new.get("n") or 0) < (old.get("n") or 0):
        change = "fewer"
    else:
        change = _change(old, new, noisy, tolerance, relative)
        is_machine = noisy and (new["group"] == "floor" or new["metric"] == "bare")  # what runs there is not ours
        if change != "same" and (is_machine or (moved and new["unit"] in _OF_THE_MACHINE)):
            change = "changed"
    return Row(known["group"], known["metric"], known["unit"], before, after, change)


def _change(old: Record, new: Record, noisy: bool, tolerance: float, relative: float) -> str:
    """How a figure changed that has one meaning in both reports."""
    delta, unit, better = new["value"] - old["value"], new["unit"], new["better"]
    if abs(delta) < EPSILON * (1 if unit == "ratio" else max(1.0, abs(old["value"]))):
        return "same"
    if better == "none":
        return "changed"
    if (delta > 0) == (better == "higher"):
        return "better"
    if noisy and _overlap(old, new):
        return "worse"
    strict = new["strict"] or old["strict"]  # a report does not loosen what the other is held to
    allowed = 0.0 if strict else tolerance if unit == "ratio" else relative * abs(old["value"])
    return "regression" if abs(delta) > allowed + EPSILON else "worse"


def _overlap(old: Record, new: Record) -> bool:
    """Whether the intervals of two figures share a point; a figure without an interval is a point."""
    (old_low, old_high), (new_low, new_high) = (
        (metric["value"] if metric.get("low") is None else metric["low"], _high(metric)) for metric in (old, new)
    )
    return bool(old_low <= new_high and new_low <= old_high)


def _high(metric: Record) -> float:
    high = metric.get("high")
    return float(metric["value"] if high is None else high)
