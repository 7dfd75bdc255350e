"""Reports -> one page for a browser: tables and charts, no script, nothing fetched."""

from __future__ import annotations

import re
from html import escape

from .charts import SERIES, Bar, Point, bars, lines, scatter
from .tables import figure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .reading import Record

Named = tuple[str, "Record"]  # a name that tells the run, its report

_SEARCH = re.compile(r"search/([0-9]{1,6}) MB/(.+)")  # the group of a latency: size of the store, lane
_KINDS = {
    "quality": "Retrieval quality",
    "retrieval": "Retrieval on other collections",
    "reduction": "Context reduction",
    "perf": "Speed",
}
_COLOURS = ("#2563eb", "#d97706", "#059669", "#dc2626", "#7c3aed", "#0891b2", "#be185d", "#65a30d")
_STYLE = """
:root { color-scheme: light dark; --line: #8884; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
h3 { margin: 1.5rem 0 .3rem; }
table { border-collapse: collapse; font-size: 13px; margin: .5rem 0; } .wide { overflow-x: auto; }
th, td { padding: .15rem .6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; } td small { opacity: .65; }
svg { width: 100%; height: auto; } svg text { font: 12px system-ui, sans-serif; fill: currentColor; }
.grid { stroke: var(--line); } .whisker { stroke: currentColor; stroke-width: 1.5; opacity: .55; }
polyline { fill: none; stroke-width: 2; } .legend span { margin-right: 1.2rem; font-size: 13px; }
.legend span::before { content: "\\25A0\\00A0"; } .origin { opacity: .75; font-size: 13px; }
summary { cursor: pointer; }
""" + "".join(
    f".s{index} {{ fill: {colour}; }} .l{index} {{ stroke: {colour}; }} .k{index}::before {{ color: {colour}; }}\n"
    for index, colour in enumerate(_COLOURS[:SERIES])
)


def page(reports: list[Named]) -> str:
    """An HTML document.

    Args:
        reports: at least one; those of one kind share a section and its charts.
    """
    by_kind: dict[str, list[Named]] = {}
    for name, report in reports:
        by_kind.setdefault(report["kind"], []).append((name, report))
    sections = [
        _section(kind, by_kind[kind]) for kind in (*_KINDS, *sorted(set(by_kind) - set(_KINDS))) if kind in by_kind
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>capy-bench</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><h1>capy-bench</h1>{''.join(sections)}</body></html>\n"
    )


def _section(kind: str, reports: list[Named]) -> str:
    charts = {"quality": _quality, "retrieval": _quality, "reduction": _reduction, "perf": _perf}
    drawn = charts[kind](reports) if kind in charts else ""
    origins = "".join(f'<p class="origin"><b>{escape(name)}</b>: {_origin(report)}</p>' for name, report in reports)
    tables = "".join(_tables(name, report) for name, report in reports)
    return f"<h2>{escape(_KINDS.get(kind, kind))}</h2>{origins}{drawn}{tables}"


def _quality(reports: list[Named]) -> str:
    parts = []
    for metric, title in (("mrr", "MRR"), ("recall_at_1", "R@1"), ("recall_at_10", "R@10")):
        series = {name: _bars(report, metric) for name, report in reports}
        if any(series.values()):
            parts.append(f"<h3>{title} by group</h3>{bars(series, top=1.0)}")
    return "".join(parts)


def _reduction(reports: list[Named]) -> str:
    """What a reply costs against what it holds: up and to the left is better."""
    series = {name: list(_costs(report)) for name, report in reports}
    if not any(series.values()):
        return ""
    chart = scatter(series, x_title="bytes of the reply (mean)", y_title="recall")
    return f"<h3>Recall against bytes: up and to the left is better</h3>{chart}"


def _costs(report: Record) -> list[Point]:
    """A point for each way of answering, over all cases."""
    values: dict[str, dict[str, float]] = {}
    for metric in report["metrics"]:
        group, _, rest = metric["group"].partition("/")
        if rest in ("", "overall"):
            values.setdefault(group, {})[metric["metric"]] = metric["value"]
    return [
        Point(group, found["bytes"], found["context_recall"])
        for group, found in values.items()
        if {"bytes", "context_recall"} <= set(found)
    ]


def _perf(reports: list[Named]) -> str:
    medians: dict[str, list[Point]] = {}
    for name, report in reports:
        prefix = f"{name} " if len(reports) > 1 else ""
        for metric in report["metrics"]:
            place = _SEARCH.fullmatch(metric["group"])
            if place and metric["metric"] == "p50":
                point = Point("", float(place[1]), metric["value"])
                medians.setdefault(f"{prefix}{place[2]} p50", []).append(point)
    parts = []
    if medians:
        chart = lines(medians, x_title="MB of text in the store", y_title="ms (p50)")
        parts.append(f"<h3>Search latency by size of the store</h3>{chart}")
    ratios = {name: [_bar(metric) for metric in report["metrics"] if metric["unit"] == "x"] for name, report in reports}
    if any(ratios.values()):
        parts.append(f"<h3>Time against the bare command: 1 is no overhead</h3>{bars(ratios, digits=2)}")
    return "".join(parts)


def _bars(report: Record, wanted: str) -> list[Bar]:
    return [_bar(metric) for metric in report["metrics"] if metric["metric"] == wanted]


def _bar(metric: Record) -> Bar:
    low, high = (metric["value"] if metric.get(end) is None else metric[end] for end in ("low", "high"))
    return Bar(metric["group"], metric["value"], low, high)


def _tables(name: str, report: Record) -> str:
    """All figures of a report, folded away: a table for each set of groups with the same metrics."""
    groups: dict[str, dict[str, Record]] = {}
    for metric in report["metrics"]:
        groups.setdefault(metric["group"], {})[metric["metric"]] = metric
    alike: dict[tuple[str, ...], list[str]] = {}
    for group, metrics in groups.items():
        alike.setdefault(tuple(metrics), []).append(group)
    tables = "".join(
        f'<div class="wide"><table><tr><th>group</th>{"".join(f"<th>{escape(column)}</th>" for column in columns)}</tr>'
        + "".join(_row(group, [groups[group][column] for column in columns]) for group in names)
        + "</table></div>"
        for columns, names in alike.items()
    )
    failures = "".join(
        f"<li>{escape(failure['case'])} ({escape(failure['group'])}): {escape(failure['failure'])}</li>"
        for failure in report["failures"]
    )
    failed = f"<p>{len(report['failures'])} cases failed</p><ul>{failures}</ul>" if failures else ""
    return f"<details><summary>All figures of {escape(name)}</summary>{tables}{failed}</details>"


def _row(group: str, metrics: list[Record]) -> str:
    cells = "".join(f"<td>{_cell(metric)}</td>" for metric in metrics)
    return f"<tr><td>{escape(group)}</td>{cells}</tr>"


def _cell(metric: Record) -> str:
    unit = metric.get("unit", "")
    shown = figure(metric["value"], unit) + (f" {unit}" if unit in ("ms", "MB/s", "x") else "")
    if metric.get("low") is None or metric["low"] == metric["high"]:
        return escape(shown)
    return f"{escape(shown)} <small>{figure(metric['low'], unit)}-{figure(metric['high'], unit)}</small>"


def _origin(report: Record) -> str:
    git, dataset, machine = report.get("git") or {}, report["dataset"], report.get("machine") or {}
    versions = ", ".join(f"{name} {version}" for name, version in (report.get("versions") or {}).items())
    facts = [
        f"{dataset.get('name', '')} {dataset.get('split', '')}",
        f"{dataset.get('cases', 0)} cases, {dataset['hash'][:19]}",
        f"{git.get('branch') or 'HEAD'} {git['sha']}" if git.get("sha") else "",
        str(report.get("created_at", "")),
        f"{machine.get('cpus', '?')} CPUs, {machine.get('platform', '')}",
        versions,
    ]
    return escape(" | ".join(fact for fact in facts if fact))
