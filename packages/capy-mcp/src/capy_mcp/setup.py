"""What `capy setup` does to a machine: a key, and capy's entries in the files of AI tools and of git.

All changes are planned before the first is written. Taking out undoes putting in to the byte (see capy_hook.install);
a key is never taken away: it may be the only one to the user's data.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from capy_core import keys, paths
from capy_core.config import load as load_config
from capy_core.errors import BadInput, NoKey, NotFound, Refused
from capy_hook.install import apply, plan, precommit
from capy_hook.install.hosts import HOSTS, READ_CLAUDE
from capy_hook.install.marked import Block
from capy_hook.install.state import state

if TYPE_CHECKING:
    from capy_core.config import Config, Warn
    from capy_hook.install.plan import Part

GIT = "git"
_IN_PROJECT = ("project", "local")
# What shows that a host is used: here, or by this user
_MARKS = {
    "claude": ("{project}/.claude", "{project}/.mcp.json", "{claude}", "{claude_json}"),
    "codex": ("{project}/.codex", "{codex}"),
    "gemini": ("{project}/.gemini", "{home}/.gemini"),
    "cursor": ("{project}/.cursor", "{home}/.cursor"),
    "vscode": ("{project}/.github/copilot-instructions.md", "{project}/.vscode/mcp.json", "{copilot}"),
    "opencode": ("{project}/.opencode", "{project}/opencode.json", "{project}/opencode.jsonc", "{opencode}"),
    "kiro": ("{project}/.kiro", "{home}/.kiro"),
}


class Step(NamedTuple):
    """One change of one file; `platform` is a host, or "git"."""

    platform: str
    scope: str
    change: apply.Change


def found_platforms(project: Path) -> list[str]:
    """The hosts that are used in this project or by this user; Claude Code when there is no sign of any."""
    places = plan.places(project)
    found = [host for host, marks in _MARKS.items() if any(Path(mark.format_map(places)).exists() for mark in marks)]
    return found or ["claude"]


def make_key(config: Config, project: Path) -> Path | None:
    """Make the key file of the knowledge base, unless there is a key.

    Returns:
        The new file, or None.

    Raises:
        NoKey: a key is named that cannot be used, or there is a database whose key is not known here.
    """
    is_named = config.keys.db_command or any(os.environ.get(name) for name in ("CAPY_DB_KEY", "CAPY_DB_KEY_FILE"))
    file = keys.database_key_file()
    if is_named or file.exists():
        keys.database_key(config)
        return None
    database = paths.database_path(config, project)
    if database.exists():
        hint = "set CAPY_DB_KEY to the key that it was made with, or move it away; a new key would not open it"
        raise NoKey(f"there is a knowledge base, {database}, and no key", hint)
    keys.save_key_file(file, keys.generate_raw_key())
    return file


def putting(project: Path, platforms: Iterable[str], scope: str, warn: Warn) -> list[Step]:
    """The changes that put capy into hosts: hooks, MCP registration, instructions; and git's guard and .gitignore.

    Args:
        platforms: hosts. Those that have no such scope raise UsageError.
        warn: called with code, message, hint for what is left out, and why.

    Raises:
        BadInput: a file cannot be understood. Nothing is written then.
    """
    parts = []
    for host in platforms:
        for part in plan.parts(host, scope, project).values():
            other = _elsewhere(host, part.name, scope, project)
            if other and state(part).status == "absent":
                hint = f"to move it, run first: capy setup --uninstall --platform {host} --scope {other}"
                message = f"{part.name} of {HOSTS[host].title} stay with scope {other}, where they are installed"
                warn("installed_elsewhere", message, hint)
            else:
                parts.append((host, part))
        if host in READ_CLAUDE and ("claude" in platforms or _elsewhere("claude", "hooks", "", project)):
            title = HOSTS[host].title
            message = f"{title} can run the hooks of Claude Code too, and would then answer each event twice"
            warn("hooks_run_twice", message, f"switch that off in {title}, or leave one of the two out (--platform)")
    if scope in _IN_PROJECT:
        parts += [(GIT, part) for part in _git_parts(project, scope, warn)]
    steps: list[Step] = []
    pending: dict[Path, bytes | None] = {}
    for platform, part in parts:
        try:
            change = apply.putting(part, pending)
        except BadInput as ex:
            if part.name != "guard":
                raise
            warn("no_guard", ex.message, ex.hint)  # a hook of the user's in another language: all else goes on
            continue
        pending[part.path] = change.after
        steps.append(Step(platform, scope, change))
    return steps


def taking(project: Path, platforms: Iterable[str], scopes: Iterable[str], warn: Warn) -> list[Step]:
    """The changes that take capy out again: last in, first out.

    What hosts that keep capy share with those that lose it stays: a block in AGENTS.md, git's guard.

    Raises:
        BadInput: a file cannot be understood. Nothing is written then.
    """
    going = [(host, scope) for host in platforms for scope in HOSTS[host].files if scope in scopes]
    leaving = {part.path for place in going for part in plan.parts(*place, project).values()}
    staying = [
        (host, scope)
        for host in HOSTS
        for scope in HOSTS[host].files
        if (host, scope) not in going and _is_installed(host, scope, project, leaving)
    ]
    shared = {part.path for place in staying for part in plan.parts(*place, project).values()}
    parts = [
        (host, scope, part)
        for host, scope in going
        for part in plan.parts(host, scope, project).values()
        if part.name != "instructions" or part.path not in shared
    ]
    if not any(scope in _IN_PROJECT for _, scope in staying) and set(scopes) & set(_IN_PROJECT):
        parts += [(GIT, "project", part) for part in _git_parts(project, "project", warn)]
    for host, scope in staying:
        hint = f"to take it out, run: capy setup --uninstall --platform {host} --scope {scope}"
        warn("installed_elsewhere", f"{HOSTS[host].title} keeps capy with scope {scope}", hint)
    steps: list[Step] = []
    pending: dict[Path, bytes | None] = {}
    for platform, scope, part in reversed(parts):
        change = apply.taking(part, pending)
        pending[part.path] = change.after
        steps.append(Step(platform, scope, change))
    return [step for step in steps if step.change.action != "unchanged"]


def carry_out(steps: Iterable[Step]) -> None:
    """Write the files, one after the other; each is written whole or stays as it was.

    Raises:
        Busy: a file changed since it was read. Unwritable: one cannot be written. What was written before stays; to go
            on, or back, call the same again.
    """
    for step in steps:
        apply.carry_out(step.change)


def _is_installed(host: str, scope: str, project: Path, leaving: set[Path]) -> bool:
    """True when a host has hooks or the server in a file that is not one of `leaving` (at home, scopes share files)."""
    parts = plan.parts(host, scope, project)
    return any(_is_there(part) for name, part in parts.items() if name != "instructions" and part.path not in leaving)


def _elsewhere(host: str, name: str, scope: str, project: Path) -> str:
    """Another scope in which a part is installed, or ""."""
    for other in HOSTS[host].files:
        part = plan.parts(host, other, project).get(name)
        if other != scope and part and _is_there(part):
            return other
    return ""


def _is_there(part: Part) -> bool:
    return state(part).status not in ("absent", "unreadable")


def _git_parts(project: Path, scope: str, warn: Warn) -> Iterator[Part]:
    """The guard and the lines of .gitignore; nothing outside of a repository."""
    try:
        guard = precommit.part(project)
    except NotFound:
        return
    yield guard
    lines = "".join(f"{line}\n" for line in _ignored(project, scope, warn))
    yield plan.Part("gitignore", project / ".gitignore", project, Block(lines, ("# ", "")))


def _ignored(project: Path, scope: str, warn: Warn) -> Iterator[str]:
    """What of ours lies in the project and is not for others: the knowledge base, copies, settings of one user."""
    yield "*.capy-backup"
    if scope == "local":
        yield from ("/.claude/settings.local.json", "/CLAUDE.local.md")
    main = paths.main_worktree(project)
    try:
        database = paths.database_path(load_config(project, warn), project)
    except Refused:
        return
    if database.is_relative_to(main):
        name = database.relative_to(main).as_posix()
        yield "/" + re.sub(r"([\\*?\[\]#! ])", r"\\\1", name) + "*"  # with its log and its older copies
