"""Kiro, CLI and IDE. Formats: docs/hosts.md.

It reads no JSON that all its versions agree on: an exit status of 2 refuses the call, and the agent reads stderr; at a
session's start stdout is context.
"""

from __future__ import annotations

from ..event import PRE_TOOL, PROMPT, SESSION_START, Event, Verdict
from . import shared

TOOLS = {
    "execute_bash": "Bash",
    "execute_cmd": "Bash",
    "shell": "Bash",
    "fs_read": "Read",
    "read": "Read",
    "fs_write": "Write",
    "write": "Write",
    "grep": "Grep",
    "glob": "Glob",
    "web_fetch": "WebFetch",
    "use_subagent": "Agent",
}
KEYS = {"path": "file_path"}
_LIMIT = 10_000


def read(payload: dict[str, object], name: str) -> Event:
    event = shared.read(payload, name, TOOLS, KEYS)
    operations = event.original.get("operations")  # fs_read takes several files at once
    if isinstance(operations, list) and operations and isinstance(operations[0], dict):
        event.input["file_path"] = operations[0].get("path", "")
    return event


def write(event: Event, verdict: Verdict) -> bytes:
    """Plain text, which is context at the start of a session and with a prompt; a refusal is said by `fail`."""
    if event.kind in (SESSION_START, PROMPT) and verdict.kind == "context":
        return _encoded(shared.capped(verdict.text, _LIMIT))
    return b""


def fail(event: Event, verdict: Verdict) -> bytes:
    """The text for stderr with which a call is refused, b"" for one that goes on."""
    if event.kind != PRE_TOOL or verdict.kind not in ("deny", "ask"):
        return b""
    if verdict.kind == "ask":
        return _encoded(shared.instead_of_asking(verdict, "Kiro"))
    return _encoded(verdict.text or "refused by a rule of the user")


def _encoded(text: str) -> bytes:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
