"""The permission rules that hold for a project, from the settings of Claude Code, Codex and capy.

Read by a hook before every command, so this module imports nothing but `os` and `sys` and loads a parser only for a
file that exists: plain classes, no pathlib, no dataclasses, no re. Grammar and places: docs/adr/0011-policy.md.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_MAX_FILE = 4 * 1024 * 1024
_MANAGED = {"darwin": "/Library/Application Support/ClaudeCode", "win32": r"C:\Program Files\ClaudeCode"}
MANAGED_FOLDERS = (_MANAGED.get(sys.platform, "/etc/claude-code"),)
UNREADABLE = ("allow", "ask", "deny")  # from lax to strict


class Rule:
    """One permission rule.

    Attributes:
        tool: the tool it speaks of: "Bash", "Read", "mcp__github", ...; may be a pattern with `*`.
        spec: the text in the parentheses; "" for every use of the tool.
        source: path of the file it stands in.
        base: the folder that a path rule beginning with `/` is relative to.
        text: the rule as written, "Bash(git push:*)".
        prefix: for a `prefix_rule` of Codex, the alternatives for each leading word of a command; else ().
    """

    __slots__ = ("base", "prefix", "source", "spec", "text", "tool")

    def __init__(
        self, tool: str, spec: str, *, source: str, base: str, text: str, prefix: tuple[tuple[str, ...], ...] = ()
    ) -> None:
        self.tool = tool
        self.spec = spec
        self.source = source
        self.base = base
        self.text = text
        self.prefix = prefix

    def speaks_of(self, tool: str) -> bool:
        """True when a rule that forbids or asks is about this tool: by its name or by a pattern of names."""
        if "*" not in self.tool:
            return self.tool == tool
        from .globs import text_matches

        return text_matches(self.tool, tool)

    def __repr__(self) -> str:
        return f"<Rule {self.text} of {self.source}>"


class Rules:
    """All rules of a project, each list in the order of precedence.

    Attributes:
        deny, ask, allow: deny comes before ask, ask before allow, whatever the place they were written in.
        unreadable: what becomes of code that cannot be read while it might hold something denied: "ask", "deny" or
            "allow".
        notes: one sentence for each file, or rule that forbids or asks, which could not be read. What it forbids is not
            known, so nothing is allowed without asking.
        project, home: the folders that relative rules and `~` start from.
    """

    __slots__ = ("allow", "ask", "deny", "home", "notes", "project", "unreadable")

    def __init__(
        self,
        deny: Sequence[Rule] = (),
        ask: Sequence[Rule] = (),
        allow: Sequence[Rule] = (),
        *,
        unreadable: str = "ask",
        notes: Sequence[str] = (),
        project: str = "",
        home: str = "",
    ) -> None:
        self.deny = tuple(deny)
        self.ask = tuple(ask)
        self.allow = tuple(allow)
        self.unreadable = unreadable
        self.notes = tuple(notes)
        self.project = project
        self.home = home

    def __bool__(self) -> bool:
        """True when there is anything to judge by."""
        return bool(self.deny or self.ask or self.allow or self.notes)


class Verdict:
    """What the rules say of one thing.

    Attributes:
        decision: "allow", "ask" or "deny"; "allow" without a rule means that no rule speaks of it.
        reason: one sentence.
        rule: the rule that decided, or None.
        command: the simple command that it decided on, "" when there is none.
    """

    __slots__ = ("command", "decision", "reason", "rule")

    def __init__(self, decision: str, reason: str = "", rule: Rule | None = None, command: str = "") -> None:
        self.decision = decision
        self.reason = reason
        self.rule = rule
        self.command = command

    def __repr__(self) -> str:
        return f"<{self.decision}: {self.reason}>"


def load(project: str, *, home: str | None = None, managed: Sequence[str] = MANAGED_FOLDERS) -> Rules:
    """The rules of a project.

    Claude Code: `managed-settings.json` and `managed-settings.d/*.json`, `.claude/settings.local.json`,
    `.claude/settings.json`, and the user's `settings.json` in `$CLAUDE_CONFIG_DIR` or `~/.claude`. A linked worktree
    reads its main worktree's local file too. Codex: `rules/*.rules` in `$CODEX_HOME` or `~/.codex` and in
    `<project>/.codex`. capy: `[policy]` of its settings files, of which a project's may only forbid.

    Args:
        project: the project's folder.
        home: the user's home folder; by default that of the environment.
        managed: folders of settings that an administrator wrote.

    Never raises for what is in a file: see `Rules.notes`.
    """
    home = os.path.expanduser("~") if home is None else home
    collected = _Collected()
    only_managed = _load_managed(collected, managed)
    main = _main_worktree(project)
    if not only_managed:
        for folder in dict.fromkeys((project, main)):
            _load_claude(collected, f"{folder}/.claude/settings.local.json", folder)
        _load_claude(collected, f"{project}/.claude/settings.json", project)
        user = os.environ.get("CLAUDE_CONFIG_DIR") or f"{home}/.claude"
        _load_claude(collected, f"{user}/settings.json", user)
    for folder in (os.environ.get("CODEX_HOME") or f"{home}/.codex", f"{project}/.codex"):
        for file in _listed(collected, f"{folder}/rules", ".rules"):
            _load_codex(collected, file, project)
    _load_capy(collected, project, main, home)
    if only_managed:  # what the others allow does not count; what they forbid does no harm
        collected.allow = [rule for rule in collected.allow if rule.source in collected.managed]
    return Rules(
        collected.deny, collected.ask, collected.allow, unreadable=collected.unreadable, notes=collected.notes,
        project=project, home=home,
    )  # fmt: skip


def parse_rule(text: str, *, source: str = "", base: str = "") -> Rule | None:
    r"""One rule as written in a list of permissions, or None when it has neither form.

    `Tool` and `Tool(*)` and `Tool()` are every use; in `Tool(spec)` the characters `( ) \` may be escaped with a
    backslash.
    """
    tool, bracket, rest = text.strip().partition("(")
    if not tool or not _is_name(tool) or (bracket and not rest.endswith(")")):
        return None
    spec = rest[:-1].strip()
    if "\\" in spec:
        spec = spec.replace("\\(", "(").replace("\\)", ")").replace("\\\\", "\\")
    return Rule(tool, "" if spec == "*" else spec, source=source, base=base, text=text.strip())


class _Collected:
    """Rules while they are collected."""

    def __init__(self) -> None:
        self.deny: list[Rule] = []
        self.ask: list[Rule] = []
        self.allow: list[Rule] = []
        self.notes: list[str] = []
        self.managed: set[str] = set()
        self.unreadable = "ask"

    def add(self, kind: str, entries: object, source: str, base: str) -> None:
        """The entries of one list. An allow that cannot be read allows nothing; any other is told."""
        if not isinstance(entries, list):
            if entries is not None:
                self.notes.append(f"{source}: {kind} is not a list")
            return
        into: list[Rule] = getattr(self, kind)
        for entry in entries:
            rule = parse_rule(entry, source=source, base=base) if isinstance(entry, str) else None
            if rule is not None:
                into.append(rule)
            elif kind != "allow":
                self.notes.append(f"{source}: the {kind} rule {entry!r:.100} cannot be read")


def _load_managed(collected: _Collected, folders: Sequence[str]) -> bool:
    """The administrator's rules; returns whether only they count."""
    only = False
    for folder in folders:
        for file in (f"{folder}/managed-settings.json", *_listed(collected, f"{folder}/managed-settings.d", ".json")):
            settings = _load_claude(collected, file, folder)
            collected.managed.add(file)
            only = settings.get("allowManagedPermissionRulesOnly", only) is True
    return only


def _load_claude(collected: _Collected, file: str, base: str) -> dict[str, Any]:
    """The rules of one settings file of Claude Code; returns all its settings."""
    data = _read(collected, file)
    if data is None or not data.strip():
        return {}
    from .barejson import decode

    try:
        settings = decode(data)
        permissions = settings.get("permissions", {})
        entries = [(kind, permissions.get(kind)) for kind in ("deny", "ask", "allow")]
    except (ValueError, RecursionError, AttributeError) as ex:
        why = "it holds no object of settings" if isinstance(ex, AttributeError) else f"it is not JSON: {ex}"
        collected.notes.append(f"the rules in {file} are not known: {why}")
        return {}
    for kind, listed in entries:
        collected.add(kind, listed, file, base)
    return settings if isinstance(settings, dict) else {}


def _load_codex(collected: _Collected, file: str, base: str) -> None:
    """The `prefix_rule(...)` calls of one Starlark file, which is never run: its syntax is a subset of Python's."""
    data = _read(collected, file)
    if data is None:
        return
    import ast

    try:
        body = ast.parse(data.decode("utf-8-sig")).body
    except (ValueError, SyntaxError, RecursionError, MemoryError) as ex:
        collected.notes.append(f"the rules in {file} are not known: {ex}")
        return
    for statement in body:
        try:
            call = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
                if call.func.id != "prefix_rule":
                    continue  # rules for hosts and programs, which no command can break
                given = {word.arg or "": ast.literal_eval(word.value) for word in call.keywords}
                given |= zip(("pattern", "decision"), map(ast.literal_eval, call.args), strict=False)
                kind, rule = _prefix_rule(given, file, base)
                getattr(collected, kind).append(rule)
            elif any(isinstance(node, ast.Name) and node.id == "prefix_rule" for node in ast.walk(statement)):
                raise ValueError
        except (ValueError, TypeError, KeyError, RecursionError):
            collected.notes.append(f"{file}: the rule on line {statement.lineno} cannot be read")


def _prefix_rule(given: dict[str, Any], file: str, base: str) -> tuple[str, Rule]:
    kind = {"allow": "allow", "prompt": "ask", "forbidden": "deny"}[given.get("decision", "allow")]
    prefix = tuple((word,) if isinstance(word, str) else tuple(word) for word in given["pattern"])
    if not prefix or isinstance(given["pattern"], str) or not all(isinstance(w, str) for ws in prefix for w in ws):
        raise ValueError
    text = f"prefix_rule(pattern={list(given['pattern'])!r})"
    return kind, Rule("Bash", text, source=file, base=base, text=text, prefix=prefix)


def _load_capy(collected: _Collected, project: str, main: str, home: str) -> None:
    """`[policy]` of capy's own settings, as `capy_core.config.load` merges them."""
    xdg = os.environ.get("XDG_CONFIG_HOME", "")
    user = f"{xdg if os.path.isabs(xdg) else home + '/.config'}/capy"
    _add_policy(collected, f"{user}/config.toml", user, trusted=True)
    for folder in dict.fromkeys((main, project)):
        for file in (f"{folder}/.capy/config.toml", f"{folder}/.capy.toml"):
            _add_policy(collected, file, folder, trusted=False)


def _add_policy(collected: _Collected, file: str, base: str, *, trusted: bool) -> None:
    data = _read(collected, file)
    if data is None or b"policy" not in data:
        return
    from .toml import parse

    try:
        policy = parse(data).get("policy", {})
        unreadable = policy.get("unreadable", collected.unreadable)
        strictness = UNREADABLE.index(unreadable)
    except (ValueError, AttributeError) as ex:
        collected.notes.append(f"the rules in {file} are not known: {ex}")
        return
    for kind in ("deny", "ask", "allow") if trusted else ("deny", "ask"):
        collected.add(kind, policy.get(kind), file, base)
    if trusted or strictness > UNREADABLE.index(collected.unreadable):
        collected.unreadable = unreadable


def _main_worktree(project: str) -> str:
    """The main worktree of a linked one; a project whose `.git` is no file is its own."""
    if not os.path.isfile(f"{project}/.git"):
        return project
    from pathlib import Path

    from .paths import main_worktree

    return str(main_worktree(Path(os.path.realpath(project))))


def _listed(collected: _Collected, folder: str, suffix: str) -> list[str]:
    """The files of a folder that end so, by name; a folder that is missing has none."""
    try:
        return [f"{folder}/{name}" for name in sorted(os.listdir(folder)) if name.endswith(suffix)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as ex:
        collected.notes.append(f"the rules in {folder} are not known: {ex.strerror}")
        return []


def _read(collected: _Collected, file: str) -> bytes | None:
    """A file's content; None when it is missing, or cannot be read and a note says so."""
    try:
        # Not blocking: a clone may have made it a pipe
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as ex:
        collected.notes.append(f"the rules in {file} are not known: {ex}")
        return None
    try:
        with open(descriptor, "rb") as stream:  # noqa: PTH123 - a hook does not import pathlib
            if os.fstat(descriptor).st_mode & 0o170000 != 0o100000:
                raise OSError(0, "not a regular file")
            data = stream.read(_MAX_FILE + 1)
            if len(data) > _MAX_FILE:
                raise OSError(0, f"larger than {_MAX_FILE} bytes")
            return data
    except OSError as ex:
        collected.notes.append(f"the rules in {file} are not known: {ex.strerror}")
        return None


def _is_name(tool: str) -> bool:
    return all(char.isalnum() or char in "_-*.:@/" for char in tool)
