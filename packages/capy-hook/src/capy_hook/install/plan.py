"""What a host needs, and in which file: hooks, the MCP server's registration, a block of instructions."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from capy_core.errors import UsageError

from . import command as commands
from .hosts import HOSTS, TEMPLATES
from .jsonfile import Entries, Entry
from .marked import Block
from .tomlfile import Table
from .wholefile import WholeFile

SERVER = "capy"
SERVER_COMMAND = "capy-mcp"
_TIMEOUT_S = 10
_HTML = ("<!-- ", " -->")


class Editor(Protocol):
    """Puts what is ours into a file's text (None: no such file), and takes it out (None: nothing of it is left)."""

    mode: int | None

    def put(self, text: str | None) -> str: ...

    def take(self, text: str) -> str | None: ...


class Part(NamedTuple):
    """One file of a host and what we want in it.

    Attributes:
        name: "hooks", "mcp", "instructions" or "guard".
        path: the file.
        base: the folder that is never removed when the file goes: the project, or home.
    """

    name: str
    path: Path
    base: Path
    editor: Editor


def parts(host: str, scope: str, project: Path) -> dict[str, Part]:
    """The parts that a host has in a scope, by name.

    Raises:
        UsageError: the host knows no such scope.
    """
    about = HOSTS[host]
    if scope not in about.files:
        known = " or ".join(about.files)
        raise UsageError(f"{about.title} has no scope {scope!r}", f"use --scope {known}")
    where = places(project)
    base = where["home" if scope == "user" else "project"]
    makers = {"hooks": _hooks, "mcp": _mcp, "instructions": _instructions}
    found = {}
    for (name, make), template in zip(makers.items(), about.files[scope], strict=True):
        if template:
            path = _existing(Path(template.format_map(where)))
            found[name] = Part(name, path, Path(base), make(host, scope, project))
    return found


def places(project: Path) -> dict[str, str]:
    """The folders that the paths in `HOSTS` begin with."""
    home = os.path.expanduser("~")
    claude = os.environ.get("CLAUDE_CONFIG_DIR")
    config = os.environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
    return {
        "project": str(project),
        "home": home,
        "claude": claude or f"{home}/.claude",
        "claude_json": f"{claude or home}/.claude.json",
        "codex": os.environ.get("CODEX_HOME") or f"{home}/.codex",
        "copilot": os.environ.get("COPILOT_HOME") or f"{home}/.copilot",
        "opencode": f"{config}/opencode",
    }


def _existing(path: Path) -> Path:
    """OpenCode reads opencode.json and opencode.jsonc: the one that is there."""
    other = path.with_suffix(".jsonc")
    return other if path.name == "opencode.json" and other.exists() and not path.exists() else path


def _hooks(host: str, scope: str, _project: Path) -> Editor:
    fallback = commands.fallback_for(scope)
    if host == "opencode":
        return WholeFile(plugin(fallback))
    entries = []
    for event, ours, matcher in HOSTS[host].hooks:
        line = commands.command(ours, host, fallback)
        path, value = _handler(host, event, ours, matcher, line)
        entries.append(Entry(path, value))
    return Entries(entries, ("hooks",), _is_our_hook, TEMPLATES.get(host))


def _handler(host: str, event: str, ours: str, matcher: str, line: str) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Where a hook goes, and its form there."""
    matched = {"matcher": matcher} if matcher else {}
    if host == "cursor":
        return ("hooks", event), {"command": line, **matched, "timeout": _TIMEOUT_S}
    if host == "kiro":
        action = {"type": "command", "command": line}
        return ("hooks",), {
            "name": f"capy-{ours}",
            "trigger": event,
            **matched,
            "action": action,
            "timeout": _TIMEOUT_S,
        }
    handler: dict[str, Any] = {"type": "command", "command": line, "timeout": _TIMEOUT_S}
    if host == "vscode":
        return ("hooks", event), {**handler, "windows": commands.windows_command(ours, host)}
    if host == "codex":
        handler["commandWindows"] = commands.windows_command(ours, host)
    if host == "gemini":
        handler |= {"name": f"capy-{ours}", "timeout": _TIMEOUT_S * 1000}
    return ("hooks", event), {**matched, "hooks": [handler]}


def _is_our_hook(_key: str | None, value: Any) -> bool:
    """A handler that runs capy-hook, or a group of nothing but such handlers."""
    if not isinstance(value, dict):
        return False
    inner = value.get("hooks")
    if isinstance(inner, list) and inner:
        return all(_is_our_hook(None, handler) for handler in inner)
    action = value.get("action")
    return commands.is_ours(value.get("command") or (action.get("command") if isinstance(action, dict) else None))


def plugin(fallback: str) -> str:
    """The plugin for OpenCode, with the place to look at when capy-hook is not on the PATH."""
    from importlib.resources import files

    source = (files(__package__) / "opencode.js").read_text(encoding="utf-8")
    if fallback == commands.ANYWHERE:
        place = 'join(homedir(), ".local/bin/capy-hook")'
    else:
        place = json.dumps(shlex.split(fallback)[0])
    return source.replace("FALLBACK", place, 1)


def _mcp(host: str, scope: str, project: Path) -> Editor:
    servers = HOSTS[host].servers
    if scope == "local":  # Claude Code keeps these by project, in the user's file
        servers = ("projects", str(project), *servers)
    value: dict[str, Any]
    program = commands.program_for(SERVER_COMMAND, scope)
    if host == "codex":
        # Codex hands on only the variables that are named
        value = {"command": program, "args": [], "env_vars": ["CAPY_DB_KEY"]}
        return Table((*servers, SERVER), value)
    if host == "opencode":
        value = {"type": "local", "command": [program], "enabled": True}
    elif host in ("claude", "vscode"):
        value = {"type": "stdio", "command": program, "args": []}
    else:
        value = {"command": program, "args": []}
    return Entries([Entry(servers, value, SERVER)], servers, _is_our_server)


def _is_our_server(key: str | None, value: Any) -> bool:
    line = value.get("command") if key == SERVER and isinstance(value, dict) else None
    program = line[0] if isinstance(line, list) and line else line
    return isinstance(program, str) and os.path.basename(program) == SERVER_COMMAND


def _instructions(host: str, _scope: str, _project: Path) -> Editor:
    from ..routing import block

    head = ""
    if host == "cursor":
        head = "---\ndescription: When to use capy's tools\nalwaysApply: true\n---\n\n"
    elif host == "kiro":
        head = "---\ninclusion: always\n---\n\n"
    return Block(block().rstrip("\n") + "\n", _HTML, head=head)
