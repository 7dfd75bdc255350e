"""capy-store export and import: move sources between stores without loss."""

from __future__ import annotations

import sys
from dataclasses import asdict

import click

from capy_core.cli import App, common_options, errors_as_json, report, write_stdout
from capy_core.errors import BadInput, UsageError
from capy_core.records import Record, dumps, parse_record, read_lines

from .index import handed_on, sentence
from .opening import open_store


@click.command()
@click.argument("labels", nargs=-1, metavar="[LABEL]...")
@common_options
@click.pass_obj
def export(app: App, labels: tuple[str, ...]) -> None:
    """Write sources as records, all or those named: text, kind, times, use. `import` takes them in again.

    The text leaves the encryption: keep the output where others cannot read it.

    \b
    Example:
        capy-store export | CAPY_DB_KEY=... capy-store --db other.db import
        capy-store export README.md | jq -r '.chunks[].content'
    """
    with open_store(app, readonly=True) as store:
        for record in store.export(list(labels) or None):
            write_stdout(dumps(record))


@click.command("import")
@click.option("--replace", is_flag=True, help="Let the record win even where the store has a newer text.")
@common_options
@click.pass_context
def import_(ctx: click.Context, replace: bool) -> None:
    """Take in what `export` wrote, from stdin; a source that is newer in the store stays.

    Exit 1 when some records were refused.

    \b
    Example:
        capy-store import < sources.ndjson
    """
    app: App = ctx.obj
    if sys.stdin.isatty():
        raise UsageError("nothing to import", "pipe the output of capy-store export into it")
    failures = 0
    with open_store(app, create=True) as store:
        for number, line in read_lines(sys.stdin.buffer):
            record: Record = {}
            try:
                record = parse_record(line, number)
                result = store.restore(record, number, replace=replace)
            except BadInput as ex:
                failures += 1
                where = {"line": number, **({"label": record["label"]} if record.get("label") else {})}
                report({**ex.record(), **where}, as_json=errors_as_json(app.format))
            else:
                record.pop("store", None)
                app.emit({"schema": "capy.index.result/1", **handed_on(record, result), **asdict(result)}, sentence)
    if failures:
        ctx.exit(1)
