"""The report of a run, `capy.bench.report/1`: built, and written so that a committed one diffs well."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from capy_core.records import Record, dumps

SCHEMA = "capy.bench.report/1"
_DIGITS = 6
_GIT_TIMEOUT_S = 10


@dataclass(frozen=True)
class Metric:
    """One figure of a report; a comparison knows it by (group, metric).

    Args:
        group: `<variant>/<class>`, such as "shared/overall", "per-type/json", "intent/size 5-20 KB".
        low, high: the 95 % bootstrap interval, or None.
        n: how many cases it is the mean of.
        better: "higher", "lower" or "none".
        unit: "ratio", "ms", "bytes", "MB/s", "x", "tokens" or "count".
        strict: any loss is a regression.
    """

    group: str
    metric: str
    value: float
    low: float | None = None
    high: float | None = None
    n: int = 0
    better: str = "higher"
    unit: str = "ratio"
    strict: bool = False


@dataclass(frozen=True)
class Failure:
    """A case that went wrong. `failure`: layer, no_results, rank_ceiling, negative_answered or needle_lost."""

    case: str
    group: str
    failure: str
    expected: str
    actual: str
    detail: str = ""


@dataclass(frozen=True)
class Scores:
    """What one case scored in the group of its variant and type, for comparing two runs case by case.

    Args:
        groups: every group in whose figures the case counts.
    """

    case: str
    group: str
    groups: tuple[str, ...]
    scores: dict[str, float]


@dataclass
class Outcome:
    """What a run found, before it becomes a report."""

    metrics: list[Metric] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    cases: list[Scores] = field(default_factory=list)


def build(kind: str, dataset: Record, settings: Record, outcome: Outcome) -> Record:
    """The report of a run.

    Args:
        kind: "quality", "reduction", "retrieval" or "perf".
        dataset: `name`, `split`, `hash` ("sha256:..."), `cases`.
        settings: what the run was told, JSON-ready.

    Returns:
        Figures rounded to 6 digits after the point; two runs of the same code on the same data differ in `created_at`
        and `git` alone.
    """
    return {
        "schema": SCHEMA,
        "kind": kind,
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "git": git_state(),
        "versions": versions(),
        "machine": {"cpus": os.cpu_count() or 1, "platform": f"{platform.system()} {platform.machine()}"},
        "dataset": dataset,
        "settings": settings,
        "metrics": [_rounded(asdict(metric)) for metric in outcome.metrics],
        "failures": [asdict(failure) for failure in outcome.failures],
        "cases": [_rounded(asdict(case)) for case in outcome.cases],
    }


def write(path: Path, report: Record) -> None:
    """Write a report to a file: sorted keys, one line for each metric, failure and case.

    Raises:
        Unwritable: the file cannot be written.
    """
    from capy_core.atomic import write_file

    write_file(path, layout(report))


def layout(report: Record) -> bytes:
    """A report as JSON over many lines: the items of its lists stand on one line each."""
    members = []
    for name in sorted(report):
        value = report[name]
        if isinstance(value, list) and value:
            items = ",\n".join(f"  {_compact(item)}" for item in value)
            members.append(f'"{name}": [\n{items}\n]')
        else:
            members.append(f'"{name}": {_compact(value)}')
    return ("{\n" + ",\n".join(members) + "\n}\n").encode()


def versions() -> dict[str, str]:
    """What was measured, by name: our packages, Python, SQLite."""
    from importlib.metadata import version

    from sqlcipher3 import dbapi2

    packages = {name: version(name) for name in ("capy-bench", "capy-exec", "capy-mcp", "capy-store")}
    return {**packages, "python": platform.python_version(), "sqlite": dbapi2.sqlite_version}


def git_state() -> dict[str, Any] | None:
    """`sha` (12 digits), `branch` and `dirty` of the checkout that holds this package; None when it is in none."""
    here = Path(__file__).resolve()
    if _git(here.parent, "ls-files", "--error-unmatch", here.name) is None:  # installed inside of some other checkout
        return None
    sha = _git(here.parent, "rev-parse", "--short=12", "HEAD")
    branch = _git(here.parent, "rev-parse", "--abbrev-ref", "HEAD")
    changes = _git(here.parent, "status", "--porcelain", "--untracked-files=no")
    return {"sha": sha, "branch": branch, "dirty": bool(changes)} if sha else None


def _git(folder: Path, *arguments: str) -> str | None:
    """What git prints, or None when it fails or is not there."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=_GIT_TIMEOUT_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else None


def _compact(value: Any) -> str:
    import json

    return json.dumps(json.loads(dumps(value)), ensure_ascii=False, sort_keys=True)


def _rounded(value: Any) -> Any:
    """The same with every float rounded, so that the last digits of a sum do not show in a diff."""
    if isinstance(value, float):
        return round(value, _DIGITS)
    if isinstance(value, dict):
        return {name: _rounded(item) for name, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list | tuple) else value
