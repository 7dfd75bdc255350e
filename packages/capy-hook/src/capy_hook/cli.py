"""The command line of capy-hook for people; events of hosts never come here, see `main`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from capy_core.cli import App, CommandGroup, common_options, run

from . import __version__

_COMMANDS = {
    "install": "capy_hook.commands.install:install",
    "uninstall": "capy_hook.commands.install:uninstall",
    "status": "capy_hook.commands.status:status",
}


@click.group(
    cls=CommandGroup,
    commands_by_name=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="capy-hook")
@click.option(
    "--project-dir", type=click.Path(path_type=Path), help="The project (default: found from the current folder)."
)
@common_options
@click.pass_obj
def group(app: App, project_dir: Path | None) -> None:
    """Wire capy into AI coding tools, and answer their hook events.

    The tools themselves run `capy-hook EVENT --platform P` with one JSON object on stdin: pretooluse, sessionstart and
    sessionend have work, other events get no answer.

    \b
    Example:
        capy-hook install --platform claude
        capy-hook status
    """
    app.project_dir = project_dir


def main() -> None:
    """The entry point for people."""
    sys.exit(run(group, "capy-hook"))
