"""capy-store sources, show, delete: what is in the store, its text, and out with it."""

from __future__ import annotations

import re
import sys

import click

from capy_core.cli import App, common_options, errors_as_json, report, write_stdout
from capy_core.display import harmless
from capy_core.errors import NotFound, UsageError
from capy_core.records import Record

from ..documents import KINDS
from .opening import open_store
from .wording import plural, size

_RANGE = re.compile(r"(\d+)(?:(:)(\d*))?\Z")


@click.command()
@click.option("--prefix", metavar="TEXT", default="", help="Only labels that begin with this, taken literally.")
@click.option("--kind", type=click.Choice(KINDS), help="Only this kind.")
@click.option("--stale", is_flag=True, help="Only sources whose file changed or is gone since.")
@common_options
@click.pass_obj
def sources(app: App, prefix: str, kind: str | None, stale: bool) -> None:
    """List the sources, oldest first.

    \b
    Example:
        capy-store sources
        capy-store sources --kind ephemeral --format json | jq -r .label
    """
    with open_store(app, readonly=True) as store:
        for record in store.sources(prefix=prefix, kind=kind or "", stale=stale):
            app.emit(record, _row)


@click.command()
@click.argument("label")
@click.option("--chunks", is_flag=True, help="The pieces it was cut into, one record each.")
@click.option("--lines", metavar="A:B", help="Only these lines, from 1, both included; A: to the end, A one line.")
@common_options
@click.pass_obj
def show(app: App, label: str, chunks: bool, lines: str | None) -> None:
    """Print the stored text of a source: what was indexed, without secrets and colour codes.

    As text, control characters are shown as pictures; --format json has them as they are.

    \b
    Example:
        capy-store show boot-log --lines 100:140
        capy-store show README.md --chunks
    """
    first, last = _range(lines)
    with open_store(app, readonly=True) as store:
        if chunks:
            for record in store.chunks(label):
                if record["line_end"] >= first and (last is None or record["line_start"] <= last):
                    app.emit(record, _chunk)
            return
        record = store.document(label)
    if first > 1 or last is not None:
        every = record["content"].removesuffix("\n").split("\n")
        kept = every[first - 1 : last]
        if not kept:
            raise NotFound(f"{label!r} has {plural(len(every), 'line')}, none of them {first}", label=label)
        record |= {"content": "\n".join(kept), "line_start": first, "line_end": first + len(kept) - 1}
    if app.as_json:
        app.emit(record)
    else:
        text = harmless(record["content"])
        write_stdout(text.encode() + (b"" if text.endswith("\n") or not text else b"\n"))


@click.command()
@click.argument("labels", nargs=-1, required=True, metavar="LABEL...")
@common_options
@click.pass_context
def delete(ctx: click.Context, labels: tuple[str, ...]) -> None:
    """Remove sources by their exact labels. What they said is no longer found at once.

    `capy-store cleanup` then takes the last of their words out of the file too. Exit 1 when some labels do not exist,
    3 when none does.

    \b
    Example:
        capy-store delete boot-log
    """
    app: App = ctx.obj
    missing = []
    with open_store(app) as store:
        for label in labels:
            try:
                record = store.delete(label)
            except NotFound as ex:
                if len(labels) == 1:
                    raise
                missing.append(label)
                report(ex.record(), as_json=errors_as_json(app.format))
            else:
                app.emit(record, lambda record: f"deleted    {record['label']}  ({plural(record['chunks'], 'chunk')})")
    if missing:
        ctx.exit(3 if len(missing) == len(labels) else 1)


def _range(lines: str | None) -> tuple[int, int | None]:
    if lines is None:
        return 1, None
    found = _RANGE.match(lines)
    first = int(found[1]) if found else 0
    last = (int(found[3]) if found[3] else None) if found and found[2] else first
    if first < 1 or (last is not None and last < first):
        raise UsageError(f"--lines {lines!r} is no range of lines", "write it as 10:20, 10: or 10")
    return first, last


def _row(record: Record) -> str:
    stale = f"  [{record['stale']}]" if record.get("stale") else ""
    return (
        f"{record['indexed_at'][:16].replace('T', ' ')}  {record['kind']:9} {record['content_type']:10}"
        f" {record['chunks']:6} {size(record['bytes']):>9}  {record['tier']:9}  {record['label']}{stale}"
    )


def _chunk(record: Record) -> str:
    head = f"── {record['line_start']}-{record['line_end']}  {record['title']}"
    return f"{click.style(head, bold=True) if sys.stdout.isatty() else head}\n{record['content'].rstrip()}\n"
