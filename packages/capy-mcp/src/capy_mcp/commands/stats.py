"""capy stats: what was kept out of the context, and what is stored."""

from __future__ import annotations

import click

from capy_core import config as settings
from capy_core import keys, paths
from capy_core.cli import App, common_options
from capy_core.errors import CapyError
from capy_core.records import Record

from ..stats import Stats, Total


@click.command()
@common_options
@click.pass_obj
def stats(app: App) -> None:
    """Say how much of the tools' output was kept out of the context, in all sessions of this project.

    \b
    Example:
        capy stats
        capy stats | jq .total.kept_out_bytes
    """
    project = paths.project_root(app.project_dir)
    totals = Stats.of_project(project).all_time()
    record: Record = {
        "schema": "capy.savings/1",
        "project": str(project),
        "tools": {tool: _counted(total) for tool, total in sorted(totals.items())},
        "total": _counted(sum(totals.values(), Total())),
        **_stored(app),
    }
    app.emit(record, _told)


def _counted(total: Total) -> Record:
    return {
        "calls": total.calls,
        "output_bytes": total.raw,
        "returned_bytes": total.returned,
        "kept_out_bytes": total.kept_out,
        "kept_out_tokens_estimated": max(0, total.kept_out) // 4,
    }


def _stored(app: App) -> Record:
    """What the knowledge base holds: a capy.stats/1 record, or why there is none."""
    from capy_store.store import Store

    project = paths.project_root(app.project_dir)
    try:
        config = settings.load(project, app.warn)
        database = paths.database_path(config, project)
        with Store.open(database, keys.database_key(config), config.store, create=False, readonly=True) as store:
            return {"store": store.stats(), "store_problem": ""}
    except CapyError as ex:
        return {"store": None, "store_problem": f"{ex.message}; {ex.hint}" if ex.hint else ex.message}


def _told(record: Record) -> str:
    from capy_store.commands.wording import size

    rows = [("tool", "calls", "output", "returned", "kept out")]
    for name, item in [*record["tools"].items(), ("all", record["total"])]:
        kept = item["kept_out_bytes"]
        sizes = (size(item["output_bytes"]), size(item["returned_bytes"]), ("-" if kept < 0 else "") + size(abs(kept)))
        rows.append((name, f"{item['calls']:,}", *sizes))
    width = max(len(row[0]) for row in rows)
    lines = [f"{row[0]:{width}}" + "".join(f"{cell:>12}" for cell in row[1:]) for row in rows]
    lines.append(f"\nabout {record['total']['kept_out_tokens_estimated']:,} tokens kept out (bytes / 4)")
    store = record["store"]
    if store is None:
        lines.append(f"knowledge base: {record['store_problem']}")
    else:
        lines.append(
            f"knowledge base: {store['sources']:,} sources, {store['chunks']:,} chunks, {size(store['file_bytes'])}"
        )
    return "\n".join(lines)
