"""capy-bench report: reports as one page to read in a browser."""

from __future__ import annotations

from pathlib import Path

import click

from capy_core.cli import App, common_options
from capy_core.errors import BadInput


@click.command()
@click.argument("reports", nargs=-1, required=True, type=click.Path(dir_okay=False))
@click.option(
    "--html", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The page to write, e.g. bench.html."
)
@common_options
@click.pass_obj
def report(app: App, reports: tuple[str, ...], html: Path) -> None:
    """Draw one or several reports as one page of tables and charts, which needs no network.

    Reports of one kind share their charts: quality by type, recall against bytes, latency by size of the store.

    \b
    Example:
        capy-bench quality --out quality.json
        capy-bench reduction --out reduction.json
        capy-bench report quality.json reduction.json --html bench.html
    """
    from capy_core.atomic import write_file

    from ..compare import Unusable, read
    from ..page import page

    try:
        named = list(zip(_names(reports), map(read, reports), strict=True))
    except Unusable as ex:
        raise BadInput(str(ex), "write one with --out, e.g. capy-bench quality --out quality.json") from ex
    text = page(named).encode()
    write_file(html, text)
    record = {"schema": "capy.bench.page/1", "path": str(html), "bytes": len(text), "reports": len(named)}
    app.emit(record, lambda facts: f"wrote {facts['path']}: {facts['reports']} reports, {facts['bytes']:,} bytes")


def _names(paths: tuple[str, ...]) -> list[str]:
    """A name for each run: its file's, or its whole path where two files have one name; a number where that is twice.

    Charts draw each name once: two runs of one name would be one.
    """
    stems = [Path(path).stem for path in paths]
    names = [path if stems.count(stem) > 1 else stem for path, stem in zip(paths, stems, strict=True)]
    return [f"{name} ({names[:at].count(name) + 1})" if name in names[:at] else name for at, name in enumerate(names)]
