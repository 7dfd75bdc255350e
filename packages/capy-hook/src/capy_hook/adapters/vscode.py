"""VS Code Copilot. Formats: microsoft/vscode-docs, hooks.md and hooks-reference.md (docs/hosts.md).

Answers as Claude Code takes them. It ignores matchers, so every tool comes here; arguments are in camel case.
"""

from __future__ import annotations

from capy_core.barejson import encode

from ..event import POST_TOOL, PRE_TOOL, SESSION_START, Event, Verdict
from . import shared

TOOLS = {
    "run_in_terminal": "Bash",
    "runTerminalCommand": "Bash",
    "read_file": "Read",
    "readFile": "Read",
    "create_file": "Write",
    "createFile": "Write",
    "replace_string_in_file": "Edit",
    "multi_replace_string_in_file": "Edit",
    "insert_edit_into_file": "Edit",
    "editFiles": "Edit",
    "grep_search": "Grep",
    "textSearch": "Grep",
    "file_search": "Glob",
    "fetch_webpage": "WebFetch",
    "fetch": "WebFetch",
    "runSubagent": "Agent",
}
KEYS = {"filePath": "file_path"}
_NAMES = {PRE_TOOL: "PreToolUse", POST_TOOL: "PostToolUse", SESSION_START: "SessionStart"}
_LIMIT = 10_000


def read(payload: dict[str, object], name: str) -> Event:
    event = shared.read(payload, name, TOOLS, KEYS)
    urls = event.original.get("urls")
    if event.tool == "WebFetch" and isinstance(urls, list) and urls:
        event.input["url"] = urls[0]
    return event


def write(event: Event, verdict: Verdict) -> bytes:
    if event.kind not in _NAMES:
        return b""
    output: dict[str, object] = {"hookEventName": _NAMES[event.kind]}
    if verdict.kind == "context" and verdict.text:
        output["additionalContext"] = shared.capped(verdict.text, _LIMIT)
    elif event.kind != PRE_TOOL:
        return b""
    elif verdict.kind in ("deny", "ask"):
        output |= {"permissionDecision": verdict.kind, "permissionDecisionReason": verdict.text}
    elif verdict.kind == "rewrite":
        output["updatedInput"] = shared.rewritten(event, verdict, KEYS)
    else:
        return b""
    return encode({"hookSpecificOutput": output})
