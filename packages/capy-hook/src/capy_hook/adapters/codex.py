"""Codex CLI. Formats: openai/codex, codex-rs/hooks/src/engine/output_parser.rs and schema/generated (docs/hosts.md).

An answer with an unknown key, a bare "allow" or an "ask" is void there, and the tool runs. "allow" is only the form in
which it takes new arguments: its own approval is asked all the same.
"""

from __future__ import annotations

from capy_core.barejson import encode

from ..event import POST_TOOL, PRE_TOOL, PROMPT, SESSION_START, Event, Verdict
from . import shared

TOOLS = {
    "shell": "Bash",
    "shell_command": "Bash",
    "exec_command": "Bash",
    "container.exec": "Bash",
    "local_shell": "Bash",
    "grep_files": "Grep",
}
_NAMES = {PRE_TOOL: "PreToolUse", POST_TOOL: "PostToolUse", SESSION_START: "SessionStart", PROMPT: "UserPromptSubmit"}
_LIMIT = 8_000  # characters, below its 2,500 tokens: what is longer goes to a file


def read(payload: dict[str, object], name: str) -> Event:
    return shared.read(payload, name, TOOLS, {})


def write(event: Event, verdict: Verdict) -> bytes:
    if event.kind not in _NAMES or verdict.kind == "none":
        return b""
    output: dict[str, object] = {"hookEventName": _NAMES[event.kind]}
    if verdict.kind == "context" and verdict.text:
        output["additionalContext"] = shared.capped(verdict.text, _LIMIT)
    elif event.kind != PRE_TOOL:
        return b""
    elif verdict.kind == "rewrite":
        output |= {"permissionDecision": "allow", "updatedInput": shared.rewritten(event, verdict, {})}
    elif verdict.kind == "ask":
        reason = shared.instead_of_asking(verdict, "Codex")
        output |= {"permissionDecision": "deny", "permissionDecisionReason": shared.capped(reason, _LIMIT)}
    elif verdict.kind == "deny":
        # A deny without a reason is void
        reason = verdict.text if verdict.text.strip() else "refused by a rule of the user"
        output |= {"permissionDecision": "deny", "permissionDecisionReason": shared.capped(reason, _LIMIT)}
    else:
        return b""
    return encode({"hookSpecificOutput": output})
