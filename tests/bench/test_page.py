"""capy-bench report: one page, self-contained, with a chart for each kind of report."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from capy_bench.page import page

Report = dict[str, Any]


def report(kind: str, metrics: list[tuple[str, str, float, str]], **more: Any) -> Report:
    return {
        "schema": "capy.bench.report/1",
        "kind": kind,
        "created_at": "2026-11-30T12:00:00+00:00",
        "git": {"sha": "abc1234", "branch": "main", "dirty": False},
        "versions": {"capy-store": "0.1.0"},
        "machine": {"cpus": 2, "platform": "Linux x86_64"},
        "dataset": {"name": "fixtures", "split": "test", "hash": "sha256:" + "a" * 64, "cases": 3},
        "metrics": [
            {"group": group, "metric": name, "value": value, "low": value * 0.9, "high": value * 1.1, "n": 3,
             "better": "higher", "unit": unit, "strict": False}
            for group, name, value, unit in metrics
        ],
        "failures": [],
        "cases": [],
        **more,
    }  # fmt: skip


QUALITY = report("quality", [("shared/overall", "mrr", 0.95, "ratio"), ("shared/json", "mrr", 0.9, "ratio")])
REDUCTION = report(
    "reduction",
    [
        ("intent/overall", "bytes", 4200, "bytes"), ("intent/overall", "context_recall", 0.99, "ratio"),
        ("tail-200/overall", "bytes", 18_000, "bytes"), ("tail-200/overall", "context_recall", 0.48, "ratio"),
    ],
)  # fmt: skip
PERF = report(
    "perf",
    [
        ("search/1 MB/porter", "p50", 0.9, "ms"), ("search/10 MB/porter", "p50", 4.0, "ms"),
        ("exec/shell", "ratio", 3.1, "x"),
    ],
)  # fmt: skip


def charts(text: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL)]


def texts(text: str) -> str:
    return " ".join("".join(chart.itertext()) for chart in charts(text))


def test_each_kind_has_its_chart() -> None:
    quality, reduction, perf = (page([("run", item)]) for item in (QUALITY, REDUCTION, PERF))
    assert "shared/json" in texts(quality)
    assert "0.900" in texts(quality)
    assert "tail-200" in texts(reduction)
    assert "10,000" in texts(reduction), "a tick of the logarithmic axis"
    assert len(charts(perf)) == 2
    assert "exec/shell" in texts(perf)


def test_the_page_needs_no_network_and_no_script() -> None:
    text = page([("a", QUALITY), ("b", REDUCTION), ("c", PERF)])
    assert not re.search(r"https?:|<script|<link|src=|@import|url\(", text)


def test_two_runs_of_a_kind_share_a_chart_with_a_legend() -> None:
    text = page([("before", QUALITY), ("after", QUALITY)])
    assert len(charts(text)) == len(charts(page([("before", QUALITY)])))
    assert 'class="k1">after' in text


def test_names_from_a_report_are_text_not_markup() -> None:
    hostile = report("quality", [("<script>alert(1)</script>", "mrr", 0.5, "ratio")])
    hostile["failures"] = [{"case": "<b>", "group": "g", "failure": "no_results"}]
    text = page([("<img onerror=x>", hostile)])
    assert not re.search(r"<script|<img|<b>(?!&lt;img)", text)
    assert len(charts(text)) == 1


def test_a_kind_that_the_page_does_not_know_still_has_its_figures() -> None:
    assert "some-figure" in page([("run", report("other", [("g", "some-figure", 1.0, "count")]))])


def test_the_command_writes_the_page_and_says_so(tmp_path: Path) -> None:
    source, target = tmp_path / "quality.json", tmp_path / "bench.html"
    source.write_text(json.dumps(QUALITY))
    program = Path(sys.executable).with_name("capy-bench")
    done = subprocess.run(
        [str(program), "report", str(source), "--html", str(target)], capture_output=True, text=True, check=True
    )
    record = json.loads(done.stdout)
    assert (record["schema"], record["bytes"]) == ("capy.bench.page/1", target.stat().st_size)
    assert "shared/json" in target.read_text()


def test_a_file_that_is_no_report_is_bad_input(tmp_path: Path) -> None:
    source = tmp_path / "x.json"
    source.write_text("{}")
    program = Path(sys.executable).with_name("capy-bench")
    done = subprocess.run(
        [str(program), "report", str(source), "--html", str(tmp_path / "y.html")], capture_output=True, check=False
    )
    assert done.returncode == 4
    assert not (tmp_path / "y.html").exists()


def test_two_files_of_one_name_are_two_runs_and_odd_groups_no_failure(tmp_path: Path) -> None:
    for folder in ("before", "after"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "run.json").write_text(json.dumps(QUALITY))
    odd = [("search", "p50", 1.0, "ms"), ("search/x/y", "p50", 1.0, "ms"), ("search/1 MB/part", "p50", -1.0, "ms")]
    (tmp_path / "odd.json").write_text(json.dumps(report("perf", odd, git={"sha": "abc"}, machine=None)))
    program = Path(sys.executable).with_name("capy-bench")
    names = ["before/run.json", "after/run.json", "after/run.json", "odd.json"]
    subprocess.run([str(program), "report", *names, "--html", "x.html"], cwd=tmp_path, capture_output=True, check=True)
    text = (tmp_path / "x.html").read_text()
    assert re.findall(r'class="k[0-9]">([^<]*)', text)[:3] == [*names[:2], "after/run.json (2)"]
