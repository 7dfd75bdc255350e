"""capy-store fetch: pages of the web into the store."""

from __future__ import annotations

import re
import shlex
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

import click

from capy_core.cli import App, common_options, errors_as_json, report
from capy_core.errors import CapyError, DatabaseError, UsageError
from capy_core.records import Record

from .opening import open_store, place
from .wording import plural, size

if TYPE_CHECKING:
    from ..fetch.stored import Fetched
    from ..store import Store

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # a page does not drive the terminal
_PREVIEW = 3000  # characters of a page that people are shown


@click.command()
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@click.option("--label", metavar="NAME", help="Name of the source (default: the URL).")
@click.option(
    "--kind",
    type=click.Choice(("ephemeral", "durable")),
    default="ephemeral",
    help="ephemeral (default): a day, found when asked for; durable: until it is no longer used.",
)
@click.option("--force", is_flag=True, help="Fetch although the store has it fresh.")
@click.option(
    "--timeout",
    type=click.FloatRange(0.1, 3600),
    metavar="SECONDS",
    help="For a whole page (default: fetch.timeout_s).",
)
@common_options
@click.pass_context
def fetch(
    ctx: click.Context, urls: tuple[str, ...], label: str | None, kind: str, force: bool, timeout: float | None
) -> None:
    """Fetch pages and index their text: HTML as Markdown.

    A page fetched within fetch.ttl_hours is answered from the store. Only public addresses are fetched, on every
    redirect. Exit 1 when some of several pages failed.

    \b
    Example:
        capy-store fetch https://docs.python.org/3/library/sqlite3.html
        capy-store search "row factory" --kind ephemeral
    """
    from ..fetch import network, stored

    app: App = ctx.obj
    if timeout is not None and not timeout > 0:  # click lets NaN through
        raise UsageError("the timeout must be a number of seconds, not NaN", "leave it out")
    if label is not None and len(urls) > 1:
        raise UsageError("--label names one source, and there are several URLs", "leave it out, or give one URL")
    config = place(app, warn=lambda *_: None).config.fetch  # `open_store` warns
    failures = 0
    with open_store(app, create=True) as store:
        for url in urls:
            try:
                fetched = stored.fetch(
                    store,
                    url,
                    config,
                    label=label or "",
                    kind=kind,
                    force=force,
                    timeout_s=timeout,
                    network=network.INTERNET,
                )
            except CapyError as ex:
                if len(urls) == 1 or isinstance(ex, DatabaseError):
                    raise
                failures += 1
                report({"url": url, **ex.record()}, as_json=errors_as_json(app.format))
            else:
                for note in fetched.notes:
                    app.warn("page_note", f"{fetched.url}: {note}")
                app.emit(_record(fetched), partial(_sentences, store=store))
    if failures:
        ctx.exit(1)


def _record(fetched: Fetched) -> Record:
    return {
        "schema": "capy.index.result/1",
        "url": fetched.url,
        "final_url": fetched.final_url,
        "status_code": fetched.status_code,
        "content_type_http": fetched.media_type,
        "bytes_fetched": fetched.bytes,
        "title": fetched.title,
        "cached": fetched.cached,
        "age_s": fetched.age_s,
        **asdict(fetched.result),
    }


def _sentences(record: Record, store: Store) -> str:
    """What fetching did, and how the page begins, for people."""
    how = f"{record['age_s']} s old, from the store" if record["cached"] else record["status"]
    facts = f"{plural(record['chunks'], 'chunk')}, {size(record['bytes'])}"
    text = store.document(record["source"])["content"]
    rest = len(text) - _PREVIEW
    more = f"\n... {rest:,} more characters: capy-store show {shlex.quote(record['source'])}" if rest > 0 else ""
    head = f"{record['title'] or record['source']} ({record['kind']}, {facts}; {how})"
    return _CONTROLS.sub("", f"{head}\n{record['final_url']}\n\n{text[:_PREVIEW].rstrip()}{more}")
