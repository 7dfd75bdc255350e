"""Two reports of one dataset -> what got better, what got worse, which cases fail now. Standard library only.

A report is `capy.bench.report/1` (docs/formats): metrics by (group, metric), each with a direction, and the failures.
"""

from __future__ import annotations

EPSILON = 1e-4  # a difference below this is rounding
SCHEMA = "capy.bench.report/1"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Record = dict[str, Any]  # as read from JSON


class Unusable(Exception):
    """A file that is no report, or two reports that cannot be compared; the message says why."""


class Row:
    """One metric in both reports.

    Attributes:
        group, metric, unit: as in the reports.
        base, target: the values, or None where a report lacks the metric.
        change: "same", "better", "worse" (against its direction, within what is tolerated), "regression", "changed" (it
            has no direction), "gone" (only in the base; as bad as a regression: no figure improves by vanishing), "new"
            (only in the target).
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
        return [row for row in self.rows if row.change in ("regression", "gone")]

    @property
    def clean(self) -> bool:
        return not self.regressions and not self.new_failures


def read(path: str) -> Record:
    """The report in a file.

    Raises:
        Unusable: it cannot be read, is not JSON, or is not a report.
    """
    import json

    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - pathlib would double the start of this program
            report = json.load(file)
    except OSError as ex:
        raise Unusable(f"{path}: {ex.strerror}") from ex
    except (ValueError, RecursionError) as ex:
        raise Unusable(f"{path} is not JSON: {ex}") from ex
    if not isinstance(report, dict) or report.get("schema") != SCHEMA:
        raise Unusable(f"{path} is no report of capy-bench ({SCHEMA}); write one with --out, e.g. capy-bench quality")
    try:
        _ = [(_key(metric), metric["value"] + 0) for metric in report["metrics"]], report["dataset"]["hash"]
        _ = [_failure(failure) for failure in report["failures"]]
    except (KeyError, TypeError) as ex:
        raise Unusable(f"{path} is a damaged report: {ex!r} is missing or wrong") from ex
    return report


def compare(base: Record, target: Record, *, tolerance: float = 0.02, relative: float = 0.10) -> Comparison:
    """Hold `target` against `base`.

    Args:
        base, target: reports, as `read` gives them.
        tolerance: what a metric between 0 and 1 may lose, absolute. Metrics marked `strict` may lose nothing.
        relative: what any other metric (times, sizes, speeds) may lose, as a share of the base.

    Measured speeds are noisy: in reports of kind "perf" a loss counts only if the two intervals do not overlap either.
    All other reports are the same for the same code, so there each figure is taken as it is.

    Raises:
        Unusable: other kinds, or other datasets.
    """
    for name, old, new in (
        ("kind", base["kind"], target["kind"]),
        ("dataset", _dataset(base), _dataset(target)),
    ):
        if old != new:
            raise Unusable(f"not comparable: {name} {old} against {new}")
    old_metrics = {_key(metric): metric for metric in base["metrics"]}
    new_metrics = {_key(metric): metric for metric in target["metrics"]}
    noisy = base["kind"] == "perf"
    rows = [
        _row(old_metrics.get(key), new_metrics.get(key), noisy, tolerance, relative)
        for key in dict.fromkeys((*old_metrics, *new_metrics))
    ]
    old_failures = {_failure(failure): failure for failure in base["failures"]}
    new_failures = {_failure(failure): failure for failure in target["failures"]}
    return Comparison(
        rows,
        [failure for key, failure in new_failures.items() if key not in old_failures],
        [failure for key, failure in old_failures.items() if key not in new_failures],
    )


def _dataset(report: Record) -> str:
    dataset = report["dataset"]
    return f"{dataset.get('name', '')} {dataset.get('split', '')} {dataset['hash']}".strip()


def _key(metric: Record) -> tuple[str, str]:
    return metric["group"], metric["metric"]


def _failure(failure: Record) -> tuple[str, str, str]:
    return failure["case"], failure["group"], failure["failure"]


def _row(old: Record | None, new: Record | None, noisy: bool, tolerance: float, relative: float) -> Row:
    known = new or old or {}
    before, after = (item["value"] if item else None for item in (old, new))
    if old and new:
        change = _change(old, new, noisy, tolerance, relative)
    else:
        change = "gone" if old else "new"
    return Row(known["group"], known["metric"], known.get("unit", ""), before, after, change)


def _change(old: Record, new: Record, noisy: bool, tolerance: float, relative: float) -> str:
    delta = new["value"] - old["value"]
    if abs(delta) < EPSILON * (1 if new.get("unit") == "ratio" else max(1.0, abs(old["value"]))):
        return "same"
    better = new.get("better", "none")
    if better not in ("higher", "lower"):
        return "changed"
    if (delta > 0) == (better == "higher"):
        return "better"
    if noisy and _overlap(old, new):
        return "worse"
    allowed = 0.0 if new.get("strict") else tolerance if new.get("unit") == "ratio" else relative * abs(old["value"])
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
