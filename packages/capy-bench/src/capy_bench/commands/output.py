"""What the measuring commands share: a bar while they work, warnings about the data, the report in three places."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from capy_core.cli import App
from capy_core.errors import BadInput, NotFound, UsageError
from capy_core.records import Record

if TYPE_CHECKING:
    from ..scratch import Tick

_MOST_DOUBTS = 5
_DOUBTFUL = "questions whose answers say little about the search"
_MOST_FAILURES = 10
_SHORT = {
    "recall_at_1": "R@1",
    "recall_at_3": "R@3",
    "recall_at_5": "R@5",
    "recall_at_10": "R@10",
    "mrr": "MRR",
    "ndcg_at_10": "NDCG",
    "found_at_10": "found",
    "layer_accuracy": "layer",
    "within_rank_ceiling": "ceiling",
    "negatives_answered": "negatives",
    "compression": "cut",
    "context_recall": "recall",
    "perfect_recall": "perfect",
    "effective_compression": "effective",
    "larger_than_raw": "larger",
}


@contextmanager
def progress(app: App, what: str, total: int) -> Iterator[Tick]:
    """A function to tell of steps that are done; it moves a bar on stderr for people at a terminal."""
    from ..scratch import no_tick

    if not sys.stderr.isatty() or app.format == "json":
        yield no_tick
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda steps: bar.advance(task, steps)


def doubt(app: App, doubts: Sequence[str], *, strict: bool) -> None:
    """Warn of what makes the figures less telling.

    Raises:
        BadInput: there is something, and `strict` is set.
    """
    shown, rest = doubts[:_MOST_DOUBTS], len(doubts) - _MOST_DOUBTS
    text = "; ".join(shown) + (f"; and {rest} more" if rest > 0 else "")
    if doubts and strict:
        raise BadInput(f"{_DOUBTFUL}: {text}", "correct them, or leave --strict out")
    if doubts:
        app.warn("doubtful_fixtures", f"{_DOUBTFUL}: {text}", "figures may say less than they seem")


def deliver(app: App, report: Record, out: Path | None) -> None:
    """Write the report to a file, if one is named, and to stdout: a table for people, one line of JSON in a pipe."""
    try:
        if out is not None:
            from ..record import write

            write(out, report)
    finally:  # what took a minute to measure is not lost with a file that cannot be written
        app.emit(report, describe)


def describe(report: Record) -> str:
    """A report for people: figures by group, intervals of whole variants, the first failures."""
    groups: dict[str, dict[str, Record]] = {}
    for metric in report["metrics"]:
        groups.setdefault(metric["group"], {})[metric["metric"]] = metric
    names = list(dict.fromkeys(metric["metric"] for metric in report["metrics"]))
    head = ["", "cases", *(_SHORT.get(name, name) for name in names)]
    rows = [
        [group, str(max(metric["n"] for metric in metrics.values())), *(_figure(metrics.get(name)) for name in names)]
        for group, metrics in groups.items()
    ]
    whole = [group for group in groups if group.endswith("/overall")]
    every = [[_SHORT.get(name, name), *(_span(groups[group].get(name)) for group in whole)] for name in names]
    spans = [row for row in every if any(row[1:])]
    dataset = report["dataset"]
    parts = [
        f"{report['kind']}: {dataset['name']} {dataset['split']}".rstrip() + f", {dataset['cases']} cases",
        aligned([head, *rows]),
        "95 % intervals\n" + aligned([["", *whole], *spans]) if spans else "",
        _failures(report["failures"]),
    ]
    return "\n\n".join(part for part in parts if part)


def aligned(rows: list[list[str]]) -> str:
    """Rows as columns: the first to the left, figures to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows
    )


def _figure(metric: Record | None) -> str:
    from ..tables import figure

    return figure(metric["value"], metric["unit"]) if metric else ""


def _span(metric: Record | None) -> str:
    from ..tables import figure

    if metric is None or metric["low"] is None:
        return ""
    return f"{figure(metric['low'], metric['unit'])} - {figure(metric['high'], metric['unit'])}"


def _failures(failures: list[Record]) -> str:
    lines = [f"  {item['case']} ({item['group']}): {item['failure']}: {item['detail']}" for item in failures]
    if len(lines) > _MOST_FAILURES:
        lines[_MOST_FAILURES:] = [f"  and {len(lines) - _MOST_FAILURES} more in the report"]
    return "\n".join([f"failures: {len(failures)}", *lines])


class OutFile(click.Path):
    """A file to write, refused at once where it could not be written: measuring takes minutes."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if str(value) == "-":
            raise UsageError("--out names a file", "the report goes to stdout anyway, as JSON with --format json")
        path = Path(str(super().convert(value, param, ctx)))
        if not path.parent.is_dir():
            raise NotFound(f"there is no folder {path.parent}", "make it, or name a file in another")
        return path
