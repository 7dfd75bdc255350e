"""Gemini CLI. Formats: google-gemini/gemini-cli, packages/core/src/hooks (docs/hosts.md).

Its BeforeTool takes no context and cannot ask; new arguments are merged over the old ones.
"""

from __future__ import annotations

import os

from capy_core.barejson import encode

from ..event import POST_TOOL, PRE_TOOL, PROMPT, SESSION_START, Event, Verdict
from . import shared

TOOLS = {
    "run_shell_command": "Bash",
    "read_file": "Read",
    "read_many_files": "Read",
    "write_file": "Write",
    "replace": "Edit",
    "grep_search": "Grep",
    "search_file_content": "Grep",
    "glob": "Glob",
    "web_fetch": "WebFetch",
}
_TAKES_CONTEXT = {SESSION_START: "SessionStart", PROMPT: "BeforeAgent", POST_TOOL: "AfterTool"}
_LIMIT = 10_000


def read(payload: dict[str, object], name: str) -> Event:
    event = shared.read(payload, name, TOOLS, {})
    event.project = os.environ.get("GEMINI_PROJECT_DIR", "")
    return event


def write(event: Event, verdict: Verdict) -> bytes:
    if verdict.kind == "context" and verdict.text and event.kind in _TAKES_CONTEXT:
        text = shared.capped(verdict.text, _LIMIT)
        answer: dict[str, object] = {"hookEventName": _TAKES_CONTEXT[event.kind], "additionalContext": text}
        return encode({"hookSpecificOutput": answer})
    if event.kind != PRE_TOOL:
        return b""
    if verdict.kind == "deny":
        return encode({"decision": "deny", "reason": verdict.text or "refused by a rule of the user"})
    if verdict.kind == "ask":
        return encode({"decision": "deny", "reason": shared.instead_of_asking(verdict, "Gemini CLI")})
    if verdict.kind == "rewrite":
        answer = {"hookEventName": "BeforeTool", "tool_input": shared.rewritten(event, verdict, {})}
        return encode({"hookSpecificOutput": answer})
    return b""
