"""capy-store search: find again what was indexed."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from capy_core.cli import App, common_options, errors_as_json, report, write_stdout
from capy_core.errors import BadInput, Unwritable, UsageError
from capy_core.records import Record, parse_record, read_lines

from ..documents import CONTENT_TYPES, KINDS
from .opening import open_store
from .wording import plural

if TYPE_CHECKING:
    from ..documents import Hit, SearchResult
    from ..store import Store

_AGE = re.compile(r"(\d+)\s*([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_FILTERS = {"source": "sources", "kind": "kinds", "type": "content_types"}


class _When(click.ParamType[int]):
    """A time as UTC seconds: `2h` and the like count back from now, dates and times are ISO 8601, local if unmarked."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return _seconds(value)
        except ValueError:
            self.fail(f"{value!r} is no time; write 30m, 2h, 3d or 2026-11-30T12:00", param, ctx)


class _Query(click.Command):
    """Takes `-client` for a word of the query, but not `--limt`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        options = {name for param in self.get_params(ctx) for name in param.opts}
        for argument in args[: args.index("--") if "--" in args else None]:
            name = argument.partition("=")[0]
            if name.startswith("--") and name not in options:
                raise click.NoSuchOption(name, possibilities=sorted(options), ctx=ctx)
        return super().parse_args(ctx, args)


@click.command(cls=_Query, context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, metavar="QUERY...")
@click.option("--limit", type=click.IntRange(1, 1000, clamp=True), default=10, help="Hits at most (default 10).")
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="LABEL",
    help="Only this label, or labels that begin with it, or hold it.",
)
@click.option("--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only this kind.")
@click.option("--type", "types", multiple=True, type=click.Choice(CONTENT_TYPES), help="Only texts of this type.")
@click.option("--since", type=_When(), help="Only what was indexed since: 2h, 3d, 2026-11-30.")
@click.option("--until", type=_When(), help="Only what was indexed until then.")
@click.option(
    "--queries", type=click.File("rb"), metavar="FILE", help="Read queries as records, one a line; - is stdin."
)
@common_options
@click.pass_context
def search(
    ctx: click.Context,
    words: tuple[str, ...],
    limit: int,
    sources: tuple[str, ...],
    kinds: tuple[str, ...],
    types: tuple[str, ...],
    since: int | None,
    until: int | None,
    queries: BinaryIO | None,
) -> None:
    """Search the knowledge base; exit 1 when nothing is found.

    Any text is a query, nothing in it is syntax. "Words in double quotes" and names such as src/main.py count more
    where they are met verbatim. A word that is not known is looked for inside longer ones, then taken for the nearest
    known one. Every hit counts as a use of its source, which keeps it longer; with --queries none does.

    A record of --queries holds `query`, and if wanted `id`, `limit`, `source`, `kind`, `type`, `since`, `until`.

    \b
    Example:
        capy-store search "why did the build fail" --source batch:
        capy-store search --kind durable --since 3d connection pool
        echo '{"id": 1, "query": "OPS-417"}' | capy-store search --queries -
    """
    app: App = ctx.obj
    filters: dict[str, Any] = {"limit": limit, "sources": sources, "kinds": kinds, "content_types": types}
    filters |= {"since": since, "until": until}
    if queries is None:
        found = _search_once(app, " ".join(words), filters)
    elif words:
        raise UsageError("there is a query beside --queries", "give one or the other")
    else:
        found = _search_many(app, queries, filters)
    if not found:
        ctx.exit(1)


def _search_once(app: App, query: str, filters: dict[str, Any]) -> bool:
    with _opened(app) as store:
        begun = time.perf_counter()
        result = store.search(query, **filters)
        took_ms = (time.perf_counter() - begun) * 1000
    if app.as_json:
        from capy_core.records import dumps

        write_stdout(
            b"".join(dumps({"schema": "capy.search.hit/1", **fields(hit, rank)}) for rank, hit in _ranks(result))
        )
        for note in result.notes:
            app.warn("search_note", note)
    else:
        from .found import describe

        colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        write_stdout(describe(result, took_ms, colour=colour).encode("utf-8", "replace"))
    return bool(result.hits)


def _opened(app: App) -> Store:
    try:
        return open_store(app)
    except Unwritable:  # then no use is counted
        return open_store(app, readonly=True)


def _search_many(app: App, stream: BinaryIO, filters: dict[str, Any]) -> bool:
    """Answer each record with one; False when some could not be answered."""
    whole = True
    with open_store(app, readonly=True) as store:
        for number, line in read_lines(stream):
            try:
                record = parse_record(line, number)
                result = store.search(_query_of(record, number), **(filters | _filters_of(record, number)))
            except (BadInput, UsageError) as ex:
                whole = False
                report({**ex.record(), "line": number}, as_json=errors_as_json(app.format))
                continue
            app.emit(_answer(record, number, result), _counted)
    return whole


def _answer(record: Record, number: int, result: SearchResult) -> Record:
    from capy_core.secrets import redact_values

    return {
        **redact_values(record),
        "schema": "capy.search.result/1",
        "id": redact_values(record.get("id", number)),
        "hits": [fields(hit, rank) for rank, hit in _ranks(result)],
        "corrected": result.corrected,
        "notes": result.notes,
    }


def _query_of(record: Record, number: int) -> str:
    query = record.get("query")
    if not isinstance(query, str):
        raise BadInput(f"line {number} has no query", "put the text to search for into `query`", line=number)
    if not isinstance(record.get("id", number), str | int):
        raise BadInput(f"the id of line {number} is neither text nor a number", "correct it", line=number)
    return query


def _filters_of(record: Record, number: int) -> dict[str, Any]:
    """The filters that a record names, checked; a single text stands for a list of one."""
    filters: dict[str, Any] = {}
    for name, parameter in _FILTERS.items():
        if name in record:
            given = [record[name]] if isinstance(record[name], str) else record[name]
            if not isinstance(given, list) or not all(isinstance(item, str) for item in given):
                raise BadInput(f"{name} of line {number} is neither a text nor a list of texts", line=number)
            filters[parameter] = given
    if "limit" in record:
        if type(record["limit"]) is not int:
            raise BadInput(f"limit of line {number} is no whole number", line=number)
        filters["limit"] = record["limit"]
    for name in ("since", "until"):
        if name in record:
            try:
                filters[name] = _seconds(str(record[name]))
            except ValueError as ex:
                raise BadInput(f"{name} of line {number} is no time", "write 2h or 2026-11-30", line=number) from ex
    return filters


def _seconds(text: str) -> int:
    age = _AGE.fullmatch(text.strip())
    if age:
        return int(time.time()) - int(age[1]) * _SECONDS[age[2]]
    from datetime import datetime

    return int(datetime.fromisoformat(text.strip()).timestamp())


def _ranks(result: SearchResult) -> Iterator[tuple[int, Hit]]:
    return enumerate(result.hits, 1)


def fields(hit: Hit, rank: int) -> Record:
    """The fields of a capy.search.hit/1."""
    from ..transfer import timestamp

    record: Record = {
        "label": hit.label,
        "title": hit.title,
        "content": hit.content,
        "snippet": hit.snippet,
        "score": hit.score,
        "rank": rank,
        "layers": hit.layers,
        "line_start": hit.line_start,
        "line_end": hit.line_end,
        "kind": hit.kind,
        "content_type": hit.content_type,
        "chunk": hit.chunk,
        "indexed_at": timestamp(hit.indexed_at),
    }
    for name in ("path", "url", "stale"):
        if getattr(hit, name):
            record[name] = getattr(hit, name)
    return record


def _counted(record: Record) -> str:
    return f"{record['id']}: {plural(len(record['hits']), 'hit')} for {record['query']}"
