"""capy-bench perf: how fast each part is on this machine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from capy_core.cli import App, common_options

from .output import OutFile, deliver

PARTS = ("open", "index", "exec", "output", "hook", "mcp", "start")


@click.command()
@click.option("--quick", is_flag=True, help="Smaller stores and fewer rounds: about a minute.")
@click.option("--only", multiple=True, type=click.Choice(PARTS), help="Only this part and the floors (repeatable).")
@click.option("--out", type=OutFile(), help="Write the report to this file, too.")
@common_options
@click.pass_obj
def perf(app: App, quick: bool, only: tuple[str, ...], out: Path | None) -> None:
    """Measure how fast this machine runs each part of capy, and the machine itself beside it.

    open: a store, by kind of key. index: MB/s by type and size, then searches by lane and size. exec: code in each
    language beside the bare command, in turns. output: much of it, beside a bare pipe. hook, mcp, start: installed
    programs.

    Medians with 95 % intervals. Times depend on the machine: compare the ratios (unit x), or two runs of one machine.
    Your own store and key are not touched. Nothing else should run meanwhile.

    \b
    Example:
        capy-bench perf --quick
        capy-bench perf --only index --out now.json
    """
    from ..perf.measure import QUICK, Plan, measure
    from ..record import Outcome, build

    plan = QUICK if quick else Plan()
    parts = only or PARTS
    with _status(app) as tell:
        metrics = list(measure(plan, parts, tell))
    dataset = {
        "name": "made-up text",
        "split": "quick" if quick else "full",
        "hash": plan.hash(),
        "cases": len(metrics),
    }
    deliver(app, build("perf", dataset, {**plan._asdict(), "parts": list(parts)}, Outcome(metrics)), out)


@contextmanager
def _status(app: App) -> Iterator[Callable[[str], None]]:
    """A function to tell what is measured now; a line on stderr that people at a terminal see."""
    if not sys.stderr.isatty() or app.format == "json":
        yield lambda _now: None
        return
    from rich.console import Console

    with Console(stderr=True).status("measuring") as status:
        yield lambda now: status.update(f"measuring: {now}")
