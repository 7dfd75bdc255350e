"""capy demo: see what it does before anything is installed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from capy_core.cli import App, common_options
from capy_core.records import Record

if TYPE_CHECKING:
    from ..demo import Outcome

_NEXT = """
The server was a real one; it worked in a folder of its own, which is gone again. The page came by a command, because
capy_fetch_and_index refuses addresses of this machine and its network, as it should.

Next:
  {run}capy setup      wire it into your AI tools; it shows what it writes, and --uninstall brings all back
  {run}capy doctor     check that it works
  {run}capy store --help, {run}capy exec --help      the same tools for you and your scripts
"""


@click.command()
@common_options
@click.pass_context
def demo(ctx: click.Context) -> None:
    """Show in half a minute what capy keeps out of a context, and that the answers are still there; exit 1 if not.

    It starts the server in a scratch folder with a scratch key, and asks it about a git history, a test run, a log, an
    API's reply and a web page. Nothing is installed, and nothing stays.

    \b
    Example:
        capy demo
    """
    from ..demo import run

    app: App = ctx.obj
    outcomes: list[Outcome] = []

    def tell(outcome: Outcome) -> None:
        outcomes.append(outcome)
        app.emit(_record(outcome), _row)

    if not app.as_json:
        click.echo(f"Starting the server ...\n\n{_line('', 'raw', 'to context', 'kept out', 'answer there')}")
    run(tell, app.project_dir or Path.cwd())
    if not app.as_json:
        raw = sum(outcome.ask.raw_bytes for outcome in outcomes)
        returned = sum(outcome.returned_bytes for outcome in outcomes)
        click.echo(_counted("all", raw, returned, f"{sum(item.answered for item in outcomes)} of {len(outcomes)}"))
        click.echo(_NEXT.format(run="uv run " if os.environ.get("UV") else ""), nl=False)
    if not all(outcome.answered for outcome in outcomes):
        ctx.exit(1)


def _record(outcome: Outcome) -> Record:
    return {
        "schema": "capy.demo/1",
        "name": outcome.ask.name,
        "tool": outcome.tools,
        "question": outcome.ask.question,
        "raw_bytes": outcome.ask.raw_bytes,
        "returned_bytes": outcome.returned_bytes,
        "answered": outcome.answered,
        "answer": outcome.ask.answer,
        "seconds": round(outcome.seconds, 3),
    }


def _row(record: Record) -> str:
    answered = "yes" if record["answered"] else "NO"
    row = _counted(record["name"], record["raw_bytes"], record["returned_bytes"], answered)
    return f"{row}\n    asked: {record['question']}\n    answer: {record['answer']}"


def _counted(name: str, raw: int, returned: int, answered: str) -> str:
    return _line(name, _bytes(raw), _bytes(returned), f"{100 * (1 - returned / raw):.1f} %", answered)


def _line(name: str, raw: str, returned: str, kept: str, answered: str) -> str:
    return f"{name:26} {raw:>11} {returned:>11} {kept:>9}  {answered}"


def _bytes(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.1f} KB"
