"""capy-store cleanup, stats, dbsize, doctor, checkpoint, which: look after the store."""

from __future__ import annotations

from dataclasses import asdict

import click

from capy_core import keys
from capy_core.cli import App, common_options
from capy_core.errors import CapyError, NotFound
from capy_core.records import Record

from .opening import open_store, place
from .wording import plural, size


@click.command()
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
@click.option("--purge", type=click.Choice(("ephemeral", "session")), help="Remove all of this kind, whatever its age.")
@click.option("--source", metavar="LABEL", help="Remove this source, whatever its worth.")
@click.option("--vacuum", is_flag=True, help="Rebuild the file even if little of it is free.")
@common_options
@click.pass_obj
def cleanup(app: App, dry_run: bool, purge: str | None, source: str | None, vacuum: bool) -> None:
    """Remove sources that are past their time or no longer worth keeping, and what deleted text left in the file.

    Removed are ephemeral and session sources past their time limit, durable ones with a retention score below 0.15 that
    were not used lately, and those larger than store.max_source_bytes. It removes at once: look first with --dry-run,
    which lists exactly what the same command without it removes.

    \b
    Example:
        capy-store cleanup --dry-run
        capy-store cleanup --purge ephemeral
    """
    from ..transfer import timestamp

    with open_store(app) as store:
        done = store.cleanup(purge=purge or "", label=source, dry_run=dry_run, vacuum=vacuum)
    record = {"schema": "capy.cleanup/1", **asdict(done)}
    for row in record["evicted"]:
        row |= {name: timestamp(row[name]) for name in ("indexed_at", "accessed_at")}
    app.emit(record, _cleaned)


@click.command()
@common_options
@click.pass_obj
def stats(app: App) -> None:
    """Count what the store holds, by kind and by tier.

    \b
    Example:
        capy-store stats
    """
    with open_store(app, readonly=True) as store:
        app.emit(store.stats(), _counted)


@click.command()
@common_options
@click.pass_obj
def dbsize(app: App) -> None:
    """Say where the bytes of the database are: tables, kinds, the largest sources.

    \b
    Example:
        capy-store dbsize
    """
    with open_store(app, readonly=True) as store:
        app.emit(store.sizes(), _sized)


@click.command()
@click.option("--repair", is_flag=True, help="Make the full-text indexes anew from the stored text.")
@common_options
@click.pass_context
def doctor(ctx: click.Context, repair: bool) -> None:
    """Check settings, key and database; exit 1 when something is wrong.

    \b
    Example:
        capy-store doctor
        capy-store doctor --repair
    """
    from .. import health

    app: App = ctx.obj
    well = True

    def tell(check: health.Check) -> None:
        nonlocal well
        well = well and check.ok
        app.emit({"schema": "capy.check/1", **asdict(check)}, _checked)

    def warn(_code: str, message: str, hint: str) -> None:
        tell(health.Check("settings", False, message, hint))

    try:
        where = place(app, warn=warn)
        key = keys.database_key(where.config, warn)
        tell(health.Check("key", True, keys.database_key_source(where.config)))
        if not where.database.exists():
            tell(health.Check("database", True, f"{where.database} does not exist yet"))
        else:
            if repair:
                with open_store(app) as store:
                    tell(health.Check("repair", True, f"{plural(health.repair(store.db), 'chunk')} indexed anew"))
            for check in health.checks(where.database, key):
                tell(check)
    except CapyError as ex:
        tell(health.Check("key" if ex.code == "no_key" else "database", False, ex.message, ex.hint))
    if not well:
        ctx.exit(1)


@click.command()
@common_options
@click.pass_context
def checkpoint(ctx: click.Context) -> None:
    """Fold the write-ahead log into the database file, so that the file alone is whole, e.g. for a copy.

    Exit 5 when another process keeps it from being emptied.

    \b
    Example:
        capy-store checkpoint && cp "$(capy-store which --format json | jq -r .database)" backup.db
    """
    from capy_core.errors import Busy

    app: App = ctx.obj
    try:
        store = open_store(app)
    except NotFound:
        record = {"schema": "capy.checkpoint/1", "database": str(place(app).database), "exists": False}
        app.emit(record, lambda record: f"there is no database at {record['database']}")
        return
    with store:
        if store.checkpoint():
            raise Busy("another process reads or writes the database", "end it, or try again later")
    record = {"schema": "capy.checkpoint/1", "database": str(store.path), "exists": True}
    app.emit(record, lambda record: f"{record['database']} is whole")


@click.command()
@common_options
@click.pass_obj
def which(app: App) -> None:
    """Say which project, database and key the other commands use. The key itself is never shown.

    \b
    Example:
        capy-store which
    """
    where = place(app)
    try:
        source = keys.database_key_source(where.config)
    except CapyError as ex:
        source = f"none: {ex.message}"
    record = {
        "schema": "capy.which/1",
        "project": str(where.root),
        "database": str(where.database),
        "exists": where.database.exists(),
        "key": source,
    }
    app.emit(record, _placed)


def _cleaned(record: Record) -> str:
    done = "to remove" if record["dry_run"] else "removed"
    rows = [
        f"{done}  {row['label']}  ({row['reason']}, {row['tier']}, {size(row['bytes'])})" for row in record["evicted"]
    ]
    freed = record["bytes_before"] - record["bytes_after"]
    smaller = f"; the file is {size(freed)} smaller" if freed > 0 else ""
    return "\n".join([*rows, f"{plural(len(record['evicted']), 'source')} {done}{smaller}"])


def _counted(record: Record) -> str:
    rows = [_sum(record)]
    rows += [f"  {kind:9}  {_sum(facts)}" for kind, facts in record["kinds"].items()]
    if record["tiers"]:
        rows.append("tiers: " + ", ".join(f"{name} {count}" for name, count in record["tiers"].items()))
    rows.append(f"{plural(record['redactions'], 'secret')} redacted; {size(record['file_bytes'])} on disk")
    return "\n".join(rows)


def _sum(facts: Record) -> str:
    return f"{plural(facts['sources'], 'source')}, {plural(facts['chunks'], 'chunk')}, {size(facts['bytes'])} of text"


def _sized(record: Record) -> str:
    rows = [
        f"{size(record['file_bytes'])} ({record['pages']} pages of {record['page_size']}, {record['free_pages']} free)"
    ]
    rows += [f"  {table:16} {size(count):>9}" for table, count in record["tables"].items()]
    rows += ["text by kind"] + [f"  {kind:16} {size(count):>9}" for kind, count in record["kinds"].items()]
    rows += ["largest sources"] + [f"  {size(row['bytes']):>9}  {row['label']}" for row in record["largest"]]
    return "\n".join(rows)


def _checked(record: Record) -> str:
    mark = "ok  " if record["ok"] else "FAIL"
    hint = f"; {record['hint']}" if record["hint"] and not record["ok"] else ""
    return f"{mark} {record['name']}: {record['detail']}{hint}"


def _placed(record: Record) -> str:
    exists = "" if record["exists"] else " (not made yet)"
    return f"project   {record['project']}\ndatabase  {record['database']}{exists}\nkey       {record['key']}"
