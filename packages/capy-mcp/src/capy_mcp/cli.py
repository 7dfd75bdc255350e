"""The few words that `capy-mcp` takes from people."""

from __future__ import annotations

import click

from . import __version__


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="capy-mcp")
def group() -> None:
    """Serve capy's tools to an AI agent over stdin and stdout (MCP). Started by the agent's host, without arguments.

    \b
    Example:
      claude mcp add capy -- capy-mcp
    """


main = group
