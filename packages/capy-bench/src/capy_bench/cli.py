"""The command line of capy-bench: commands by name, each in its own module under commands/."""

from __future__ import annotations

import sys

import click

from capy_core.cli import CommandGroup, common_options, run

from . import __version__

_COMMANDS = {
    "quality": "capy_bench.commands.quality:quality",
    "reduction": "capy_bench.commands.reduction:reduction",
    "retrieval": "capy_bench.commands.retrieval:retrieval",
    "perf": "capy_bench.commands.perf:perf",
    "compare": "capy_bench.commands.compare:compare",
    "report": "capy_bench.commands.report:report",
}


@click.group(cls=CommandGroup, commands_by_name=_COMMANDS)
@click.version_option(__version__, prog_name="capy-bench")
@common_options
def group() -> None:
    """Measure how well the tools search, how much they save, and how fast they are.

    \b
    Example:
        capy-bench quality --out now.json
        capy-bench compare baseline.json now.json
    """


def main() -> None:
    """The `capy-bench` command."""
    sys.exit(run(group, "capy-bench"))
