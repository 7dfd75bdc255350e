"""Every command of every tool explains itself, with an example that can be pasted."""

from __future__ import annotations

import re
import shlex
from importlib.metadata import entry_points
from inspect import cleandoc
from pathlib import Path

import click
import pytest

from conftest import Tool

from .conftest import commands, groups

GROUPS = groups()
COMMANDS = [pytest.param(command, id=" ".join(command)) for command in commands()]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_exits_0_and_fits_in_80_columns(tool: Tool, command: tuple[str, ...]) -> None:
    done = tool(*command, "--help", env={"COLUMNS": "80"})
    assert (done.returncode, done.stderr) == (0, b"")
    lines = done.stdout.decode().splitlines()
    assert lines[0].startswith(f"Usage: {' '.join(command)} ")
    limits = ((line, 100 if line.lstrip().startswith("capy-") else 80) for line in lines)  # a call is not broken
    assert [line for line, limit in limits if len(line) > limit] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_the_first_line_of_help_is_one_sentence(command: tuple[str, ...]) -> None:
    first = help_of(resolved(command)).split("\n\n")[0]
    assert re.fullmatch(r"[A-Z][^\b]{10,}\.", first)
    assert len(first.splitlines()[0]) < 120


@pytest.mark.parametrize("command", COMMANDS)
def test_the_example_of_help_parses(command: tuple[str, ...], project: Path) -> None:
    calls = [call for line in example_of(resolved(command)) for call in calls_in(line)]
    assert any(call[0] == command[0] for call in calls)
    assert len(command) == 1 or any(command_of(call) == command for call in calls)
    for call in calls:
        for word in call[1:]:
            if word.startswith("my-"):  # a folder of the reader's
                Path(word).mkdir(exist_ok=True)
            if re.fullmatch(r"[\w-]+\.\w+", word):  # a file that the example speaks of
                Path(word).touch()
        parse(call)


@pytest.mark.parametrize("tool_name", GROUPS)
def test_version_is_that_of_the_package(tool: Tool, tool_name: str) -> None:
    done = tool(tool_name, "--version")
    assert done.returncode == 0
    (entry,) = entry_points(group="console_scripts", name=tool_name)
    assert entry.dist is not None
    assert done.stdout.decode().split()[-1] == entry.dist.version


def resolved(command: tuple[str, ...]) -> click.Command:
    group = GROUPS[command[0]]
    if len(command) == 1 or not isinstance(group, click.Group):
        return group
    found = group.get_command(click.Context(group, info_name=command[0]), command[1])
    assert found is not None
    return found


def help_of(command: click.Command) -> str:
    return cleandoc(command.help or "").replace("\b\n", "")


def example_of(command: click.Command) -> list[str]:
    """The lines of the Example: block."""
    block = re.search(r"^Example:\n((?: +.*\n?)+)", help_of(command), re.MULTILINE)
    assert block, f"{command.name} has no example"
    return [line.strip() for line in block[1].splitlines() if line.strip()]


def calls_in(line: str) -> list[list[str]]:
    """The calls of our tools in a shell line: pipes, &&, $(...) and assignments before them taken apart."""
    words = shlex.split(re.sub(r'"?\$\(([^)]*)\)"?', r"SUBST ; \1 ; ", line), comments=True)
    calls: list[list[str]] = [[]]
    if words[0] == "claude":  # its own words first, then the command that it shall start
        words = words[words.index("--") :]
    for word in words:
        if word in ("|", "&&", "||", ";", "<", ">"):
            calls.append([])
        elif calls[-1] or word in GROUPS:
            calls[-1].append(word.rstrip(";"))
    return [call for call in calls if call]


def command_of(call: list[str]) -> tuple[str, ...]:
    rest = rest_of(GROUPS[call[0]].make_context(call[0], call[1:]))
    return (call[0], rest[0]) if rest else (call[0],)


def rest_of(ctx: click.Context) -> list[str]:
    """The arguments that the group leaves to its command; click before 9 keeps the first one apart."""
    return [*getattr(ctx, "_protected_args", []), *ctx.args]


def parse(call: list[str]) -> None:
    """Parse a call as click would; raises what click would raise."""
    group = GROUPS[call[0]]
    if call[1:] == ["COMMAND", "--help"]:
        return
    with group.make_context(call[0], call[1:]) as ctx:
        if not isinstance(group, click.Group):
            return
        name, command, rest = group.resolve_command(ctx, rest_of(ctx))
        assert name and command
        command.make_context(name, rest, parent=ctx).close()
