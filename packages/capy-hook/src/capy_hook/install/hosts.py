"""What each host takes, as data: its events, its files, the names of its tools. Formats: docs/hosts.md."""

from __future__ import annotations

from typing import Any, NamedTuple

SCOPES = ("project", "local", "user")
_CAPY = "capy_.*"


class Host(NamedTuple):
    """What a host takes.

    Attributes:
        title: its name for people.
        hooks: events that have work: the host's name, our name, and the matcher, "" for all.
        files: scope -> path of the hooks, the MCP registration and the instructions; "" where there is none.
        servers: the path of MCP registrations in their file.
    """

    title: str
    hooks: tuple[tuple[str, str, str], ...]
    files: dict[str, tuple[str, str, str]]
    servers: tuple[str, ...] = ("mcpServers",)


_SESSION = (("SessionStart", "sessionstart", ""), ("SessionEnd", "sessionend", ""))
HOSTS = {
    "claude": Host(
        "Claude Code",
        (
            ("PreToolUse", "pretooluse", f"^(Bash|PowerShell|Read|Grep|WebFetch|Agent|Task|mcp__.*__{_CAPY})$"),
            *_SESSION,
        ),
        {
            "project": ("{project}/.claude/settings.json", "{project}/.mcp.json", "{project}/CLAUDE.md"),
            "local": ("{project}/.claude/settings.local.json", "{claude_json}", "{project}/CLAUDE.local.md"),
            "user": ("{claude}/settings.json", "{claude_json}", "{claude}/CLAUDE.md"),
        },
    ),
    "codex": Host(
        "Codex CLI",
        (("PreToolUse", "pretooluse", f"^(Bash|mcp__.*__{_CAPY})$"), *_SESSION),
        {
            "project": ("{project}/.codex/hooks.json", "{project}/.codex/config.toml", "{project}/AGENTS.md"),
            "user": ("{codex}/hooks.json", "{codex}/config.toml", "{codex}/AGENTS.md"),
        },
        ("mcp_servers",),
    ),
    "gemini": Host(
        "Gemini CLI",
        (
            (
                "BeforeTool",
                "pretooluse",
                "^(run_shell_command|read_file|read_many_files|grep_search|search_file_content|web_fetch"
                f"|mcp_.*_{_CAPY})$",
            ),
            *_SESSION,
        ),
        {
            "project": ("{project}/.gemini/settings.json",) * 2 + ("{project}/GEMINI.md",),
            "user": ("{home}/.gemini/settings.json",) * 2 + ("{home}/.gemini/GEMINI.md",),
        },
    ),
    "cursor": Host(
        "Cursor",
        (
            # A shell command comes by the event that can ask; preToolUse would bring it a second time
            ("beforeShellExecution", "pretooluse", ""),
            ("preToolUse", "pretooluse", f"^(Read|Grep|WebFetch|Task|MCP:.*{_CAPY})$"),
            ("sessionStart", "sessionstart", ""),
            ("sessionEnd", "sessionend", ""),
        ),
        {
            "project": (
                "{project}/.cursor/hooks.json",
                "{project}/.cursor/mcp.json",
                "{project}/.cursor/rules/capy.mdc",
            ),
            "user": ("{home}/.cursor/hooks.json", "{home}/.cursor/mcp.json", ""),
        },
    ),
    "vscode": Host(
        "VS Code Copilot",
        (("PreToolUse", "pretooluse", ""), ("SessionStart", "sessionstart", "")),
        {
            "project": (
                "{project}/.github/hooks/capy.json",
                "{project}/.vscode/mcp.json",
                "{project}/.github/copilot-instructions.md",
            ),
            "user": ("{copilot}/hooks/capy.json", "", ""),
        },
        ("servers",),
    ),
    "opencode": Host(
        "OpenCode",
        (),
        {
            "project": ("{project}/.opencode/plugins/capy.js", "{project}/opencode.json", "{project}/AGENTS.md"),
            "user": ("{opencode}/plugins/capy.js", "{opencode}/opencode.json", "{opencode}/AGENTS.md"),
        },
        ("mcp",),
    ),
    "kiro": Host(
        "Kiro",
        (
            (
                "PreToolUse",
                "pretooluse",
                f"^(execute_bash|execute_cmd|shell|fs_read|read|grep|web_fetch|use_subagent|@.*/{_CAPY})$",
            ),
            ("SessionStart", "sessionstart", ""),
        ),
        {
            "project": (
                "{project}/.kiro/hooks/capy.json",
                "{project}/.kiro/settings/mcp.json",
                "{project}/.kiro/steering/capy.md",
            ),
            "user": (
                "{home}/.kiro/hooks/capy.json",
                "{home}/.kiro/settings/mcp.json",
                "{home}/.kiro/steering/capy.md",
            ),
        },
    ),
}
# What a new file of a host begins with
TEMPLATES: dict[str, dict[str, Any]] = {"cursor": {"version": 1}, "kiro": {"version": "v1"}}
# Hosts that run Claude Code's hooks beside their own
READ_CLAUDE = ("cursor", "vscode")
