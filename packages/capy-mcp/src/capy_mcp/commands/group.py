"""The command line of capy for people: its own commands, and those of the other tools under their names."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path

import click

from capy_core.cli import App, CommandGroup, common_options
from capy_core.errors import NotFound

from .. import __version__
from ..umbrella import ELSEWHERE, HERE, hand_over

_OWN = {
    "setup": "capy_mcp.commands.setup:setup",
    "doctor": "capy_mcp.commands.doctor:doctor",
    "demo": "capy_mcp.commands.demo:demo",
    "stats": "capy_mcp.commands.stats:stats",
    "completion": "capy_mcp.commands.completion:completion",
}
# word -> the click command behind it ("module:attribute", "" for none), what it does, an example
_OTHERS = {
    "serve": ("", "Serve capy's tools to an AI agent over stdin and stdout (capy-mcp).", ""),
    "statusline": (
        "",
        "Print one line for Claude Code's status bar: bytes kept out of the context, bytes returned, sources.",
        "echo '{}' | capy statusline",
    ),
    "hook": ("capy_hook.cli:group", "Wire capy into AI coding tools, and answer their hook events.", "status"),
    "store": ("capy_store.cli:group", "Keep text in an encrypted knowledge base and find it again.", "search 'a word'"),
    "exec": ("capy_exec.cli:group", "Run code in 11 languages, with bounded output and time.", "shell -c 'make test'"),
    "which": ("capy_store.commands.upkeep:which", "Say which project and database are meant here.", ""),
    "cleanup": ("capy_store.commands.upkeep:cleanup", "Remove sources that are past their time.", "--dry-run"),
    "checkpoint": ("capy_store.commands.upkeep:checkpoint", "Fold the write-ahead log into the database file.", ""),
    "encrypt": ("capy_store.commands.keys:encrypt", "Encrypt the database, or change its key.", ""),
    "dbsize": ("capy_store.commands.upkeep:dbsize", "Say where the bytes of the database are.", ""),
    "bench": ("capy_bench.cli:group", "Measure how well the tools search, what they save, how fast they are.", ""),
    "sweep": ("capy_sweep.cli:group", "Make past sessions of AI tools searchable (capy-sweep).", ""),
    "vault": ("capy_vault.cli:group", "Keep sessions of AI tools verbatim (capy-vault).", ""),
}


class _Other(click.Command):
    """A command of another tool: its usage and options in the help, its program to run."""

    def __init__(self, word: str) -> None:
        self._target, about, example = _OTHERS[word]
        example = example if example.startswith("echo") else f"capy {word} {example}".rstrip()
        super().__init__(
            word,
            help=f"{about}\n\n\b\nExample:\n    {example}",
            params=[click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED)],
            context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
        )

    def behind(self) -> click.Command | None:
        """The click command of the other tool, where it has one and is installed in this environment."""
        module, _, attribute = self._target.partition(":")
        try:
            command: click.Command | None = getattr(import_module(module), attribute) if module else None
        except ModuleNotFoundError:
            return None
        return command

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        behind = self.behind()
        return behind.collect_usage_pieces(ctx) if behind else ["[ARGUMENTS]..."]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if behind := self.behind():
            behind.format_options(behind.context_class(behind, ctx.parent, self.name), formatter)
        else:
            super().format_options(ctx, formatter)

    def invoke(self, ctx: click.Context) -> None:
        assert self.name is not None
        app = ctx.ensure_object(App)
        if app.project_dir:
            os.environ["CLAUDE_PROJECT_DIR"] = str(app.project_dir)  # where all of them look first
        chosen = [] if app.format == "auto" else ["--format", app.format]
        hand_over(self.name, [*ctx.params["arguments"], *chosen])
        program = ELSEWHERE[self.name]
        raise NotFound(f"{program} is not installed here, and capy {self.name} is its work", f"install {program}")


class _Group(CommandGroup):
    """Our own commands, loaded by name, and `_Other` for the rest."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*_OWN, *_OTHERS]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _OTHERS:
            return super().get_command(ctx, name)
        other = _Other(name)
        # Completion asks what can follow, and the other tool knows
        return (ctx.resilient_parsing and other.behind()) or other


@click.group(
    cls=_Group,
    commands_by_name=_OWN | dict.fromkeys((*HERE, *ELSEWHERE), ""),
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="capy")
@click.option(
    "--project-dir", type=click.Path(path_type=Path), help="The project (default: found from the current folder)."
)
@common_options
@click.pass_obj
def group(app: App, project_dir: Path | None) -> None:
    """Keep what tools print out of an AI agent's context, and hand back the lines that were asked for.

    \b
    Example:
        capy demo
        capy setup && capy doctor
        capy store search "which test failed"
    """
    app.project_dir = project_dir
