"""Write docs/cli/<tool>.md: the help of every command of every tool, as it is printed at 80 columns.

Usage: uv run python scripts/write_cli_docs.py [--check]

--check writes nothing and exits with 1 when a page is not what would be written.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

import click

PAGES = Path(__file__).parent.parent / "docs" / "cli"


def main() -> int:
    wanted = {PAGES / f"{tool}.md": page(tool, group) for tool, group in tools()}
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


def tools() -> Iterator[tuple[str, click.Group]]:
    """The installed commands of the workspace with their click groups, by name."""
    for entry in sorted(entry_points(group="console_scripts"), key=lambda entry: entry.name):
        if entry.module.startswith("capy_"):
            entry.load()
            yield entry.name, group_of(entry.module)


def group_of(module: str) -> click.Group:
    """The click group of an entry point: beside it, or in `cli` where the entry point has a fast path before click."""
    beside = getattr(sys.modules[module], "group", None)
    group: click.Group = beside or import_module(f"{module.partition('.')[0]}.cli").group
    return group


def page(tool: str, group: click.Group) -> str:
    parts = [f"# {tool}\n\nWritten by scripts/write_cli_docs.py.\n"]
    options = ""
    for context in contexts(tool, group):
        about, _, rest = context.get_help().partition("\nOptions:\n")
        if rest == options:
            rest = "  As above.\n"
        else:
            options = rest
        parts.append(f"## {context.command_path}\n\n```text\n{about}\nOptions:\n{rest.rstrip()}\n```\n")
    return "\n".join(parts)


def contexts(tool: str, group: click.Group) -> Iterator[click.Context]:
    root = click.Context(group, info_name=tool, terminal_width=80, **group.context_settings)
    yield root
    for name in group.list_commands(root):
        command = group.get_command(root, name)
        if command:
            yield click.Context(command, info_name=name, parent=root, terminal_width=80, **command.context_settings)


if __name__ == "__main__":
    sys.exit(main())
