"""How a part stands: there or not, of this version or another, and whether its command can be run."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from capy_core.errors import BadInput

from . import apply, jsonc
from . import command as commands
from .plan import Part

_PLUGIN_FALLBACK = re.compile(r'^const PROGRAMS = \["capy-hook", ("(?:[^"\\]|\\.)*")?', re.MULTILINE)


class State(NamedTuple):
    """`status` is "installed", "absent", "outdated", "broken" or "unreadable"; `detail` says what is wrong."""

    status: str
    detail: str = ""


def state(part: Part) -> State:
    """Look at a part's file; nothing is written."""
    try:
        taken, put = apply.taking(part), apply.putting(part) if part.path.exists() else None
    except BadInput as ex:
        return State("unreadable", ex.message)
    except OSError as ex:
        return State("unreadable", f"{part.path}: {ex.strerror}")
    if put is None or taken.before is None or taken.action == "unchanged":
        return State("absent")
    if detail := _broken(part, taken.before.decode("utf-8-sig", "replace")):
        return State("broken", detail)
    if put.action != "unchanged":
        return State("outdated", "another version wrote it; install it again")
    return State("installed")


def _broken(part: Part, text: str) -> str:
    if part.name == "guard":
        return "" if os.access(part.path, os.X_OK) else f"{part.path} is not executable, so git does not run it"
    if part.name != "hooks":
        return ""
    for line in command_lines(part, text):
        if not commands.runs(line):
            return f"none of the commands exists that it runs: {line}"
    return ""


def command_lines(part: Part, text: str) -> Iterator[str]:
    """The command lines of our hooks in the text of a part's file."""
    if part.path.suffix == ".js":
        if match := _PLUGIN_FALLBACK.search(text):
            place = commands.quoted(json.loads(match[1])) if match[1] else commands.ANYWHERE
            yield commands.command("pretooluse", "opencode", place)
    else:
        yield from _commands_in(jsonc.parse(text).value)


def _commands_in(value: Any) -> Iterator[str]:
    """What hooks of ours run here; the commands for Windows have names of their own."""
    if isinstance(value, dict) and commands.is_ours(value.get("command")):
        yield value["command"]
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _commands_in(item)
