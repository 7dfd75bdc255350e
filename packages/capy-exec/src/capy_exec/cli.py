"""The command line of capy-exec: one command for each language, and a few about them."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import FrameType

import click

from capy_core.cli import App, CommandGroup, common_options, run

from . import __version__
from .runtimes import ALIASES, LANGUAGES

_COMMANDS = {
    "runtimes": "capy_exec.commands.runtimes:runtimes",
    "batch": "capy_exec.commands.batch:batch",
    "check": "capy_exec.commands.check:check",
    "ps": "capy_exec.commands.jobs:ps",
    "kill": "capy_exec.commands.jobs:kill",
}
_BY_LANGUAGE = {name: f"capy_exec.commands.run:{ALIASES.get(name, name)}" for name in (*LANGUAGES, *ALIASES)}


class ExecGroup(CommandGroup):
    """A command for each language, made from one pattern, beside the commands loaded by name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*LANGUAGES, *_COMMANDS]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Languages (and other names for them)"):
            formatter.write_dl([(name, " ".join(language.aliases)) for name, language in LANGUAGES.items()])
        rows = [
            (name, command.get_short_help_str(200)) for name in _COMMANDS if (command := self.get_command(ctx, name))
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


@click.group(
    cls=ExecGroup,
    commands_by_name=_BY_LANGUAGE | _COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__)
@click.option(
    "--project-dir", type=click.Path(path_type=Path), help="The project (default: found from the current folder)."
)
@common_options
@click.pass_obj
def group(app: App, project_dir: Path | None) -> None:
    """Run code in 11 languages, with bounded output and time, and nothing left running.

    \b
    Example:
        capy-exec shell -c 'make test'
        capy-exec python analyse.py --file big.csv
        capy-exec COMMAND --help

    \b
    Exit codes:
        0  the code did its work (so did grep without a match) or is in background
        1  it failed, timed out, was ended or not started; the record says which
        2  the command line is wrong
        3  no such runtime, file or folder
        4  unusable input
        7  a permission rule denies it (capy-exec check)
      130  Ctrl-C or SIGTERM; the code was ended
    """
    app.project_dir = project_dir


def main() -> None:
    """The entry point."""
    signal.signal(signal.SIGTERM, _interrupt)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as nohup sets it
        signal.signal(signal.SIGHUP, _interrupt)
    if any(name.startswith("CAPY_") for name in os.environ):
        from .environment import scrub_own_keys

        scrub_own_keys()
    sys.exit(run(group, "capy-exec"))


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
