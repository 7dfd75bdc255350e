"""`capy-bench compare`: the same as the program capy-qualstat, among the others."""

from __future__ import annotations

import click

from capy_core.cli import App, common_options, write_stdout
from capy_core.errors import UsageError


@click.command
@click.argument("base", type=click.Path(dir_okay=False))
@click.argument("target", type=click.Path(dir_okay=False))
@click.option(
    "--threshold", type=click.FloatRange(0, 1), default=0.02, show_default=True, help="What a ratio may lose."
)
@click.option(
    "--relative",
    type=click.FloatRange(0, 1),
    default=0.10,
    show_default=True,
    help="What a time, size or speed may lose, as a share of the base.",
)
@click.option("--all", "everything", is_flag=True, help="Show the figures that did not change, too.")
@click.option("--markdown", is_flag=True, help="Tables in Markdown, to paste into a pull request.")
@common_options
@click.pass_context
def compare(
    ctx: click.Context,
    base: str,
    target: str,
    threshold: float,
    relative: float,
    everything: bool,
    markdown: bool,
) -> None:
    """Hold one report against an earlier one of the same dataset.

    Metrics marked strict may lose nothing, ratios as much as --threshold, other figures as much as --relative; times
    count as worse only when their intervals do not overlap. A case that fails now and did not before is a regression.
    Exit code 0: none; 1: a regression; 2: no report, or another dataset.

    \b
    Example:
      capy-bench quality --out branch.json
      capy-bench compare main.json branch.json
    """
    from ..compare import Unusable, read
    from ..compare import compare as hold
    from ..qualstat import as_record
    from ..tables import both

    app: App = ctx.obj
    try:
        old, new = read(base), read(target)
        found = hold(old, new, tolerance=threshold, relative=relative)
    except Unusable as ex:
        raise UsageError(str(ex), "compare two reports of the same kind and dataset") from ex
    if markdown or not app.as_json:
        write_stdout(both(old, new, found, markdown=markdown, everything=everything, colour=_coloured()).encode())
    else:
        app.emit(as_record(found))
    if not found.clean:
        ctx.exit(1)


def _coloured() -> bool:
    import os
    import sys

    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
