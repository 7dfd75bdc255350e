"""Claude Code, and hosts that speak its form of hooks."""

from __future__ import annotations

import os

from ..event import POST_TOOL, PRE_COMPACT, PRE_TOOL, PROMPT, SESSION_END, SESSION_START, Event, Verdict

_KINDS = {
    "pretooluse": (PRE_TOOL, "PreToolUse"),
    "posttooluse": (POST_TOOL, "PostToolUse"),
    "sessionstart": (SESSION_START, "SessionStart"),
    "sessionend": (SESSION_END, "SessionEnd"),
    "precompact": (PRE_COMPACT, "PreCompact"),
    "userpromptsubmit": (PROMPT, "UserPromptSubmit"),
}
_TOOLS = {"Task": "Agent"}  # its name until 2.1.63
_MAX_TEXT = 9_000  # above 10,000 characters the host puts a text into a file


def read(payload: dict[str, object], name: str) -> Event:
    """The payload of one event as Claude Code writes it; missing and misshapen fields count as absent."""
    kind, written = _KINDS.get(name.lower(), ("", name))
    called = _text(payload.get("tool_name"))
    given = payload.get("tool_input")
    arguments = given if isinstance(given, dict) else {}
    return Event(
        kind,
        written,
        tool=own_tool(called) or _TOOLS.get(called, called),
        called=called,
        input=dict(arguments),
        original=arguments,
        session=session_of(payload),
        agent=_text(payload.get("agent_id")),
        cwd=_text(payload.get("cwd")),
        project=os.environ.get("CLAUDE_PROJECT_DIR", ""),
    )


def write(event: Event, verdict: Verdict) -> bytes:
    """The verdict inside of `hookSpecificOutput`; zero bytes when there is nothing to say.

    A rewrite needs the decision "allow" to be honoured; the host still applies the user's deny and ask rules after it.
    """
    if verdict.kind == "none":
        return b""
    said: dict[str, object] = {"hookEventName": event.name}
    text = cut(verdict.text, _MAX_TEXT)
    if verdict.kind == "context":
        said["additionalContext"] = text
    elif verdict.kind == "rewrite":
        said |= {"permissionDecision": "allow", "permissionDecisionReason": text, "updatedInput": verdict.input}
    else:
        said |= {"permissionDecision": verdict.kind, "permissionDecisionReason": text}
    from capy_core.barejson import encode

    return encode({"hookSpecificOutput": said})


def own_tool(called: str) -> str:
    """The name of a tool of capy's server without the host's prefix, or "" for any other tool.

    `mcp__capy__capy_search`, `mcp__plugin_x_capy__capy_search`, `mcp_capy_capy_search`, `capy/capy_search`.
    """
    place = called.rfind("capy_")
    return called[place:] if place == 0 or (place > 0 and called[place - 1] in "_/-:") else ""


def session_of(payload: dict[str, object]) -> str:
    """The session's id: the transcript's name where that is a UUID, else `session_id`, else by environment or parent.

    A resumed session writes on in its old transcript under a new `session_id`.
    """
    stem = os.path.basename(_text(payload.get("transcript_path")).replace("\\", "/")).removesuffix(".jsonl")
    if len(stem) == 36 and all(char in "0123456789abcdef-" for char in stem):
        return stem
    return _text(payload.get("session_id")) or os.environ.get("CLAUDE_SESSION_ID", "") or f"pid-{os.getppid()}"


def cut(text: str, most: int) -> str:
    """A text of at most `most` characters; a cut one says so."""
    return text if len(text) <= most else text[: most - 20] + " [... cut by capy]"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
