"""A report or a comparison as a table: for a terminal, or as Markdown. Standard library only."""

from __future__ import annotations

from .compare import on_other_machine
from .reading import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .compare import Comparison, Row
    from .reading import Record

MOST_FAILURES = 10
_MARKS = {
    "same": "~",
    "better": "",
    "worse": "",
    "changed": "",
    "regression": " !",
    "gone": " ! gone",
    "fewer": " ! fewer cases",
    "new": " new",
}
_COLOURS = {"regression": "31", "gone": "31", "fewer": "31", "better": "32", "same": "2"}


def single(report: Record, *, markdown: bool = False) -> str:
    """One report: a line of origin, a table with a row for each group, the failures."""
    groups: dict[str, dict[str, Record]] = {}
    for metric in report["metrics"]:
        groups.setdefault(metric["group"], {})[metric["metric"]] = metric
    parts = [_origin(report, markdown)]
    for columns, names in _alike(groups).items():
        rows = [[name, *(_interval(groups[name][column]) for column in columns)] for name in names]
        parts.append(_table(["group", *columns], rows, markdown))
    parts.append(_failures("failure", report["failures"], markdown))
    return "\n\n".join(part for part in parts if part) + "\n"


def both(
    base: Record,
    target: Record,
    found: Comparison,
    *,
    markdown: bool = False,
    everything: bool = False,
    colour: bool = False,
) -> str:
    """A comparison: where the two come from, the figures that changed, failures that are new or resolved, the verdict.

    Args:
        base, target, found: the two reports and what `compare.compare` says of them.
        markdown: tables in Markdown.
        everything: figures that did not change, too (else they are counted; those of "overall" are always shown).
        colour: regressions red, gains green, by ANSI codes.
    """
    shown = [row for row in found.rows if everything or row.change != "same" or row.group.endswith("overall")]
    table = _table(
        ["group", "metric", "base", "target", "delta"],
        [_cells(row) for row in shown],
        markdown,
        left=2,
        colours=[_COLOURS.get(row.change, "") for row in shown] if colour and not markdown else None,
    )
    hidden = len(found.rows) - len(shown)
    head = [f"base    {_origin(base, markdown)}", f"target  {_origin(target, markdown)}"]
    parts = [
        ("  \n" if markdown else "\n").join(head),
        "other machine: times and speeds are shown, ratios are judged" if on_other_machine(base, target) else "",
        table if shown else "",
        f"{hidden} figures unchanged" if hidden else "",
        _failures("NEW", found.new_failures, markdown),
        _failures("RESOLVED", found.resolved, markdown),
        _verdict(found),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def figure(value: float | None, unit: str) -> str:
    """A value as a reader wants it: three digits after the point for a ratio, whole bytes, else three digits in all."""
    if value is None:
        return "-"
    if unit == "ratio":
        return f"{value:.3f}"
    if unit in ("bytes", "tokens", "count"):
        return f"{value:,.0f}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _verdict(found: Comparison) -> str:
    if found.clean:
        return "no regression"
    worse, failing = len(found.regressions), len(found.new_failures)
    return f"REGRESSION: figures worse than tolerated: {worse}, new failures: {failing}"


def _origin(report: Record, markdown: bool) -> str:
    git, dataset = report.get("git") or {}, report["dataset"]
    changes = " with changes" if git.get("dirty") else ""
    where = f"{git.get('branch') or 'HEAD'} {git['sha']}{changes}" if git.get("sha") else "no git"
    name = " ".join(str(dataset[key]) for key in ("name", "split") if dataset.get(key))
    facts = f"{report['kind']} of {name}: {dataset.get('cases') or 0} cases, {dataset['hash'][:19]} | {where}"
    return _shown(f"{facts} | {report.get('created_at') or ''}".removesuffix(" | "), markdown)


def _alike(groups: dict[str, dict[str, Record]]) -> dict[tuple[str, ...], list[str]]:
    """Groups by the metrics they have: those of one set share a table."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, metrics in groups.items():
        alike.setdefault(tuple(metrics), []).append(name)
    return alike


def _interval(metric: Record) -> str:
    value = figure(metric["value"], metric.get("unit", ""))
    if metric.get("low") is None or metric.get("high") is None:
        return value
    unit = metric.get("unit", "")
    return f"{value} [{figure(metric['low'], unit)} {figure(metric['high'], unit)}]"


def _cells(row: Row) -> list[str]:
    known = row.base is not None and row.target is not None
    sign = "+" if row.delta > 0 else "-"
    delta = "" if not known or row.change == "same" else sign + figure(abs(row.delta), row.unit)
    if known and row.unit != "ratio" and row.base and delta:
        delta += f" ({row.delta / row.base:+.0%})"
    return [
        row.group,
        row.metric,
        figure(row.base, row.unit),
        figure(row.target, row.unit),
        (delta + _MARKS[row.change]).strip(),
    ]


def _failures(title: str, failures: list[Record], markdown: bool) -> str:
    if not failures:
        return ""
    bullet = "- " if markdown else "  "
    lines = []
    for failure in failures[:MOST_FAILURES]:
        detail = f": {failure['detail']}" if failure.get("detail") else ""
        text = f"{failure['case']} ({failure['group']}): {failure['failure']}{detail}"
        lines.append(f"{bullet}{title}: {_shown(text, markdown)}")
    if len(failures) > MOST_FAILURES:
        lines.append(f"{bullet}and {len(failures) - MOST_FAILURES} more")
    return "\n".join(lines)


def _table(
    head: list[str], rows: list[list[str]], markdown: bool, *, left: int = 1, colours: list[str] | None = None
) -> str:
    """Rows under a head; the first `left` columns are words and stand to the left, the others are figures."""
    rows = [[_shown(cell, markdown) for cell in row] for row in rows]
    if markdown:
        body = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
        head = [_shown(cell, markdown).replace("|", "\\|") for cell in head]
        return "| " + " | ".join(head) + " |\n|" + "---|" * len(head) + "\n" + body
    head = [_shown(cell, markdown) for cell in head]
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    lines = []
    for row in [head, *rows]:
        cells = [
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    for index, code in enumerate(colours or [], 1):
        if code:
            lines[index] = f"\x1b[{code}m{lines[index]}\x1b[0m"
    return "\n".join(lines)


def _shown(text: str, markdown: bool) -> str:
    """A text of a report as one line that says what it is and does nothing: no control codes, no tags."""
    line = plain(text)
    return line.replace("\\", "\\\\").replace("<", "\\<") if markdown else line
