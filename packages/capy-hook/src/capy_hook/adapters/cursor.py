"""Cursor, IDE and CLI. Formats: docs/hosts.md.

Its answers are flat, and silence counts as a failure: nothing is `{}`. Only beforeShellExecution and beforeMCPExecution
can ask; only preToolUse takes new arguments.
"""

from __future__ import annotations

import os

from capy_core.barejson import encode

from ..event import PRE_TOOL, SESSION_START, Event, Verdict
from . import shared

TOOLS = {"Shell": "Bash", "Task": "Agent", "mcp_web_fetch": "WebFetch", "mcp_fetch_tool": "WebFetch"}
KEYS = {"path": "file_path"}
_NOTHING = b"{}"
_LIMIT = 9_500  # characters; context above 10,000 is dropped whole
_CAN_ASK = ("beforeShellExecution", "beforeMCPExecution")


def read(payload: dict[str, object], name: str) -> Event:
    event = shared.read(payload, name, TOOLS, KEYS)
    event.project = event.project or os.environ.get("CURSOR_PROJECT_DIR", "")
    if event.name == "beforeShellExecution":
        event.tool, event.called = "Bash", "Shell"
        event.original = {"command": shared.text(payload, "command")}
        event.input = dict(event.original)
    return event


def write(event: Event, verdict: Verdict) -> bytes:
    if event.kind == SESSION_START and verdict.kind == "context":
        return encode({"additional_context": shared.capped(verdict.text, _LIMIT)})
    if event.kind != PRE_TOOL:
        return _NOTHING
    may_ask = event.name in _CAN_ASK
    if verdict.kind == "rewrite" and not may_ask:
        return encode({"updated_input": shared.rewritten(event, verdict, KEYS)})
    if verdict.kind == "ask" and not may_ask:
        return _refusal("deny", shared.instead_of_asking(verdict, "Cursor"))
    if verdict.kind in ("deny", "ask"):
        return _refusal(verdict.kind, verdict.text or "a rule of the user forbids it or wants to be asked first")
    return _NOTHING


def _refusal(permission: str, text: str) -> bytes:
    return encode({"permission": permission, "user_message": text, "agent_message": text})
