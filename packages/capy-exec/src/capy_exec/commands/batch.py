"""`capy-exec batch`: many items, several at a time."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO

import click

from capy_core.cli import App, common_options, errors_as_json, report
from capy_core.errors import NotFound


@click.command()
@click.argument("source", type=click.Path(path_type=Path), default="-")
@click.option(
    "--jobs",
    type=click.IntRange(1, 64),
    default=os.cpu_count() or 1,
    metavar="N",
    help="Run so many at a time (default: the number of CPUs).",
)
@common_options
@click.pass_context
def batch(ctx: click.Context, source: Path, jobs: int) -> None:
    """Run the items on the lines of SOURCE (default: stdin); print a result for each, in their order.

    An item is a JSON object with `command` (shell) or `language` and `code`, and may have `label`, `timeout`, `file`,
    `args`, `with`, `cwd`, `max_output`. Its other fields come back in the result. An item that cannot or, by a
    permission rule, may not be run gives an error on stderr; the others go on, and the exit code is 1.

    \b
    Example:
        echo '{"label": "tests", "command": "make test"}' | capy-exec batch
    """
    from capy_core.records import read_lines

    from ..batch import ItemFailed, run_batch
    from ..outcome import SUCCESSES
    from ..policy.enforce import gate
    from .settings import settings

    app: App = ctx.obj
    root, config = settings(app)
    failed = False
    items = read_lines(_open(source))
    with closing(run_batch(items, config, jobs=jobs, cwd=root, check=gate(root))) as outcomes:
        for one in outcomes:
            if isinstance(one, ItemFailed):
                report(one.record(), as_json=errors_as_json(app.format))
                failed = True
            else:
                app.emit(one, _block)
                failed |= one["outcome"] not in SUCCESSES
    if failed:
        ctx.exit(1)


def _open(source: Path) -> BinaryIO:
    try:
        if str(source) == "-":
            # Not sys.stdin: the thread that reads may still hold its lock when Python wants to close it
            return open(0, "rb", closefd=False)
        return source.open("rb")
    except OSError as ex:
        raise NotFound(f"cannot read {source}: {ex.strerror}", "SOURCE is a file of items, or - for stdin") from ex


def _block(record: dict[str, Any]) -> str:
    said = record["reason"] or record["outcome"]
    head = f"== {record['label']} ({said}, {record['duration_ms']} ms)"
    from .settings import coloured

    if coloured(sys.stdout):
        head = click.style(head, bold=True)
    return "\n".join(part.rstrip("\n") for part in (head, record["stdout"], record["stderr"]) if part)
