"""The command line of capy-store: commands by name, each in its own module under commands/."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from capy_core.cli import App, CommandGroup, common_options, run

from . import __version__

_COMMANDS = {
    "index": "capy_store.commands.index:index",
    "search": "capy_store.commands.search:search",
    "evidence": "capy_store.commands.evidence:evidence",
    "fetch": "capy_store.commands.fetch:fetch",
    "sources": "capy_store.commands.sources:sources",
    "show": "capy_store.commands.sources:show",
    "delete": "capy_store.commands.sources:delete",
    "cleanup": "capy_store.commands.upkeep:cleanup",
    "stats": "capy_store.commands.upkeep:stats",
    "dbsize": "capy_store.commands.upkeep:dbsize",
    "doctor": "capy_store.commands.upkeep:doctor",
    "checkpoint": "capy_store.commands.upkeep:checkpoint",
    "which": "capy_store.commands.upkeep:which",
    "keygen": "capy_store.commands.keys:keygen",
    "encrypt": "capy_store.commands.keys:encrypt",
    "export": "capy_store.commands.transfer:export",
    "import": "capy_store.commands.transfer:import_",
}


@click.group(cls=CommandGroup, commands_by_name=_COMMANDS)
@click.version_option(__version__, prog_name="capy-store")
@click.option(
    "--project-dir", type=click.Path(path_type=Path), help="The project (default: found from the current folder)."
)
@click.option("--db", "database", type=click.Path(path_type=Path), help="Use this database file.")
@common_options
@click.pass_obj
def group(app: App, project_dir: Path | None, database: Path | None) -> None:
    """Keep text in an encrypted knowledge base and find it again.

    \b
    Example:
        capy-exec shell -c 'make test' | capy-store index
        capy-store search "which test failed"
    """
    app.project_dir, app.database = project_dir, database


def main() -> None:
    """The `capy-store` command."""
    sys.exit(run(group, "capy-store"))
