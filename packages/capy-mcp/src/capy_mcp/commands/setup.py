"""capy setup: a key, and capy in the settings of AI tools; or out of them again."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from capy_core import config as settings
from capy_core import keys
from capy_core.cli import App, common_options
from capy_core.paths import project_root
from capy_core.records import Record
from capy_hook.install.hosts import HOSTS, SCOPES

from .. import setup as library

_IN_PROJECT = ("project", "local")


@click.command()
@click.option(
    "--platform",
    "platforms",
    multiple=True,
    type=click.Choice(tuple(HOSTS)),
    help="A tool; may be repeated. Default: those that are used here; with --uninstall all.",
)
@click.option(
    "--scope",
    type=click.Choice(SCOPES),
    help="project: the team's files, committed (default). local: yours in this project, Claude Code only. "
    "user: yours in all projects. With --uninstall the default is project and local.",
)
@click.option("--dry-run", is_flag=True, help="Show what would change as a diff, and write nothing.")
@click.option("--uninstall", is_flag=True, help="Take out exactly what setup put in; keys and data stay.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@common_options
@click.pass_context
def setup(
    ctx: click.Context, platforms: tuple[str, ...], scope: str | None, dry_run: bool, uninstall: bool, yes: bool
) -> None:
    """Wire capy into your AI tools: server, hooks, instructions, a guard in git; and make a key if there is none.

    What stands in the files stays, to the byte; --uninstall brings them back as they were. On a terminal it shows what
    it will write, and asks. Doing it again changes nothing.

    \b
    Example:
        capy setup
        capy setup --platform codex --scope user --dry-run
        capy setup --uninstall
    """
    app: App = ctx.obj
    project = project_root(app.project_dir)
    if uninstall:
        steps = library.taking(project, platforms or tuple(HOSTS), (scope,) if scope else _IN_PROJECT, app.warn)
    else:
        chosen = scope or "project"
        hosts = platforms or [host for host in library.found_platforms(project) if chosen in HOSTS[host].files]
        steps = library.putting(project, hosts, chosen, app.warn)
    records = [_record(step, dry_run) for step in steps]
    if not (dry_run or yes or app.as_json) and sys.stdin.isatty() and not _agreed(records):
        click.echo("nothing was written")
        ctx.exit(1)
    if not (dry_run or uninstall):
        _ensure_key(app, project)
    if not dry_run:
        library.carry_out(steps)
    for record in records:
        app.emit(record if dry_run else {**record, "diff": ""}, _told)
    if not app.as_json:
        _say_more(steps, uninstall, dry_run)
    if not (uninstall or dry_run):
        _warn_of_path(app, steps)


def _agreed(records: list[Record]) -> bool:
    """Show what would be written, and ask."""
    from capy_core.display import harmless

    changed = [record for record in records if record["action"] != "unchanged"]
    for record in changed:
        click.echo(harmless(record["diff"]))
    files = len({record["path"] for record in changed})
    return not files or click.confirm(f"Write {files} file{'' if files == 1 else 's'}?", default=True)


def _ensure_key(app: App, project: Path) -> None:
    if made := library.make_key(settings.load(project, lambda *_: None), project):
        app.emit({"schema": "capy.keygen/1", "path": str(made)}, _told_of_key)


def _record(step: library.Step, dry_run: bool) -> Record:
    from capy_core.secrets import redact
    from capy_hook.install import apply

    return {
        "schema": "capy.hook.change/1",
        "platform": step.platform,
        "scope": step.scope,
        "part": step.change.part.name,
        "path": str(step.change.part.path),
        "action": step.change.action,
        "dry_run": dry_run,
        "diff": redact(apply.diff(step.change)),  # the lines around ours may hold anything
    }


def _told(record: Record) -> str:
    would = "would be " if record["dry_run"] and record["action"] != "unchanged" else ""
    return f"{record['diff']}{record['platform']} {record['part']}: {record['path']} {would}{record['action']}"


def _told_of_key(record: Record) -> str:
    return (
        f"made a key: {record['path']}\n  Keep a copy in a safe place, such as a password manager: "
        f"without it the knowledge base cannot be read by anybody.\n  To see it: cat {record['path']}"
    )


def _say_more(steps: list[library.Step], uninstall: bool, dry_run: bool) -> None:
    if uninstall and not steps:
        click.echo("nothing of capy is installed here")
    if uninstall:
        click.echo(f"Keys and knowledge bases stay ({keys.database_key_file()}); remove them yourself if you want.")
    elif not dry_run:
        click.echo("Restart your AI tool, then check with: capy doctor")


def _warn_of_path(app: App, steps: list[library.Step]) -> None:
    """An entry that names the server alone works only where the PATH of the AI tool leads to it."""
    from shutil import which

    from capy_hook.install.command import outer_path, program_for
    from capy_hook.install.plan import SERVER_COMMAND

    from ..wiring import link_hint

    names_it = any(
        step.change.part.name == "mcp" and program_for(SERVER_COMMAND, step.scope) == SERVER_COMMAND for step in steps
    )
    if names_it and which(SERVER_COMMAND, path=outer_path()) is None:
        here = Path(sys.executable).parent
        app.warn(
            "not_on_path",
            f"{SERVER_COMMAND} is installed in {here} only, and your AI tool looks for it on the PATH",
            link_hint(here),
        )
