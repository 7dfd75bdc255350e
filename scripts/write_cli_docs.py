"""Write docs/cli/<tool>.md: the help of every command of every tool, as it is printed at 80 columns.

Usage: uv run python scripts/write_cli_docs.py [--check]

--check writes nothing and exits with 1 when a page is not what would be written.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

import click

HEAD = "# {}\n\nWritten by scripts/write_cli_docs.py.\n"
PAGES = Path(__file__).parent.parent / "docs" / "cli"


def main() -> int:
    wanted = {PAGES / f"{tool}.md": text for tool, text in tools()}
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    left_over = sorted(set(PAGES.glob("*.md")) - set(wanted))
    if "--check" in sys.argv[1:]:
        for path in [*stale, *left_over]:
            print(
                f"{path.relative_to(PAGES.parent.parent)} is out of date; run scripts/write_cli_docs.py",
                file=sys.stderr,
            )
        return 1 if stale or left_over else 0
    PAGES.mkdir(parents=True, exist_ok=True)
    for path in stale:
        path.write_text(wanted[path], encoding="utf-8")
        print(path.relative_to(PAGES.parent.parent))
    for path in left_over:
        path.unlink()
    return 0


def tools() -> Iterator[tuple[str, str]]:
    """The installed commands of the workspace with their pages, by name."""
    for entry in sorted(entry_points(group="console_scripts"), key=lambda entry: entry.name):
        if entry.module.startswith("capy_"):
            entry.load()
            parser = getattr(sys.modules[entry.module], "parser", None)  # of argparse: a tool that does without click
            yield entry.name, plain_page(entry.name, parser()) if parser else page(entry.name, group_of(entry.module))


def plain_page(tool: str, parser: argparse.ArgumentParser) -> str:
    os.environ["COLUMNS"] = "80"
    return f"{HEAD.format(tool)}\n## {tool}\n\n```text\n{parser.format_help()}```\n"


def group_of(module: str) -> click.Command:
    """The click command of an entry point: beside it, or in `cli` where something faster comes before click."""
    beside = getattr(sys.modules[module], "group", None)
    group: click.Command = beside or import_module(f"{module.partition('.')[0]}.cli").group
    return group


def page(tool: str, group: click.Command) -> str:
    parts = [HEAD.format(tool)]
    options = ""
    for context in contexts(tool, group):
        about, _, rest = context.get_help().partition("\nOptions:\n")
        if rest == options:
            rest = "  As above.\n"
        else:
            options = rest
        parts.append(f"## {context.command_path}\n\n```text\n{about}\nOptions:\n{rest.rstrip()}\n```\n")
    return "\n".join(parts)


def contexts(tool: str, group: click.Command) -> Iterator[click.Context]:
    root = click.Context(group, info_name=tool, terminal_width=80, **group.context_settings)
    yield root
    for name in group.list_commands(root) if isinstance(group, click.Group) else ():
        command = group.get_command(root, name)
        if command:
            yield click.Context(command, info_name=name, parent=root, terminal_width=80, **command.context_settings)


if __name__ == "__main__":
    sys.exit(main())
