"""OpenCode. It has plugins in JavaScript instead of hooks: ours (install/opencode.js) asks this adapter by a process.

The two speak a format of our own: the payload has the fields of Claude Code, the answer is one of `{"deny": text}`,
`{"args": {...}}` and `{"context": text}`, or nothing.
"""

from __future__ import annotations

from capy_core.barejson import encode

from ..event import PRE_TOOL, SESSION_START, Event, Verdict
from . import shared

TOOLS = {
    "bash": "Bash",
    "read": "Read",
    "view": "Read",
    "write": "Write",
    "edit": "Edit",
    "patch": "Edit",
    "grep": "Grep",
    "glob": "Glob",
    "webfetch": "WebFetch",
    "fetch": "WebFetch",
    "task": "Agent",
    "agent": "Agent",
}
KEYS = {"filePath": "file_path"}
_LIMIT = 10_000


def read(payload: dict[str, object], name: str) -> Event:
    return shared.read(payload, name, TOOLS, KEYS)


def write(event: Event, verdict: Verdict) -> bytes:
    if event.kind == SESSION_START and verdict.kind == "context":
        return encode({"context": shared.capped(verdict.text, _LIMIT)})
    if event.kind != PRE_TOOL:
        return b""
    if verdict.kind == "deny":
        return encode({"deny": verdict.text or "refused by a rule of the user"})
    if verdict.kind == "ask":
        return encode({"deny": shared.instead_of_asking(verdict, "OpenCode")})
    if verdict.kind == "rewrite":
        return encode({"args": shared.rewritten(event, verdict, KEYS)})
    return b""
