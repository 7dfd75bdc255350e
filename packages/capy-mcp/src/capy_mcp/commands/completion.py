"""capy completion: a script that completes commands and options in a shell."""

from __future__ import annotations

import click

from capy_core.cli import common_options

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@common_options
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script that completes capy, and each of its tools that is installed, in a shell.

    For all sessions to come, put the line into ~/.bashrc, ~/.zshrc or ~/.config/fish/config.fish.

    \b
    Example:
        eval "$(capy completion bash)"
        capy completion fish | source
    """
    from click.shell_completion import get_completion_class

    from ..umbrella import found

    kind = get_completion_class(shell)
    assert kind is not None
    group = ctx.find_root().command
    for name in ("capy", *(f"capy-{tool}" for tool in ("store", "exec", "hook", "bench", "sweep", "vault"))):
        if found(name):
            click.echo(kind(group, {}, name, f"_{name.replace('-', '_').upper()}_COMPLETE").source())
