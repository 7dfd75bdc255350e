"""Write the figures of docs/benchmarks.md: the tables between its two markers, from the reports in benchmarks/.

Usage: uv run python scripts/write_benchmark_docs.py [--check]

--check writes nothing and exits with 1 when the page does not say what the reports say.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from capy_bench.compare import read
from capy_bench.tables import figure

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- figures: written by scripts/write_benchmark_docs.py -->\n", "<!-- end of figures -->\n"
WANTED = {
    "quality": (
        "Retrieval quality",
        ("recall_at_1", "recall_at_3", "recall_at_10", "mrr", "ndcg_at_10", "negatives_answered"),
    ),
    "reduction": (
        "Context reduction",
        ("compression", "context_recall", "perfect_recall", "effective_compression", "bytes", "tokens"),
    ),
}

Report = dict[str, Any]


def main() -> int:
    old = PAGE.read_text(encoding="utf-8")
    before, _, rest = old.partition(BEGIN)
    after = rest.partition(END)[2]
    new = f"{before}{BEGIN}\n{figures()}\n{END}{after}"
    if "--check" in sys.argv[1:]:
        if new != old:
            print(f"{PAGE.relative_to(ROOT)} is out of date; run scripts/write_benchmark_docs.py", file=sys.stderr)
        return int(new != old)
    PAGE.write_text(new, encoding="utf-8")
    return 0


def figures() -> str:
    parts = [section(title, load(kind), metrics) for kind, (title, metrics) in WANTED.items()]
    return "\n\n".join([*parts, speed(load("perf"))]) + "\n"


def load(kind: str) -> Report:
    return read(str(ROOT / "benchmarks" / f"{kind}.json"))


def section(title: str, report: Report, metrics: tuple[str, ...]) -> str:
    """A row for each group of texts; classes by trait and lane are in the report."""
    groups: dict[str, dict[str, Report]] = {}
    for metric in report["metrics"]:
        if not any(word in metric["group"] for word in ("/trait ", "/layer ")):
            groups.setdefault(metric["group"], {})[metric["metric"]] = metric
    rows = [[name, *(cell(found.get(metric)) for metric in metrics)] for name, found in groups.items()]
    return f"### {title}\n\n{origin(report)}\n\n{table(['group', *metrics], rows)}"


def speed(report: Report) -> str:
    rows = [
        [metric["group"], metric["metric"], f"{cell(metric)} {metric['unit']}", str(metric["n"])]
        for metric in report["metrics"]
        if metric["metric"] not in ("p99", "found")
    ]
    return f"### Speed\n\n{origin(report)}\n\n{table(['group', 'metric', 'median', 'n'], rows)}"


def cell(metric: Report | None) -> str:
    if metric is None:
        return ""
    value = figure(metric["value"], metric["unit"])
    if metric["low"] is None or metric["low"] == metric["high"]:
        return value
    return f"{value} ({figure(metric['low'], metric['unit'])}-{figure(metric['high'], metric['unit'])})"


def origin(report: Report) -> str:
    dataset, machine = report["dataset"], report["machine"]
    split = f", {dataset['split']} split" if dataset.get("split") else ""
    return (
        f"{dataset['name']}{split}, {dataset['cases']} cases, `{dataset['hash'][:19]}`; {machine['cpus']} CPUs, "
        f"{machine['platform']}, Python {report['versions']['python']}. In brackets: 95 % intervals."
    )


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
