"""What adapters share: words for events and tools, arguments there and back."""

from __future__ import annotations

from capy_core.barejson import decode

from ..event import POST_TOOL, PRE_COMPACT, PRE_TOOL, PROMPT, SESSION_END, SESSION_START, Event, Verdict
from .claude import own_tool

_KINDS = {
    "pretooluse": PRE_TOOL,
    "beforetool": PRE_TOOL,
    "beforeshellexecution": PRE_TOOL,
    "beforemcpexecution": PRE_TOOL,
    "posttooluse": POST_TOOL,
    "aftertool": POST_TOOL,
    "sessionstart": SESSION_START,
    "agentspawn": SESSION_START,
    "sessionend": SESSION_END,
    "precompact": PRE_COMPACT,
    "precompress": PRE_COMPACT,
    "userpromptsubmit": PROMPT,
    "beforeagent": PROMPT,
    "beforesubmitprompt": PROMPT,
}


def read(payload: dict[str, object], name: str, tools: dict[str, str], keys: dict[str, str]) -> Event:
    """An event from a payload whose fields are named as most hosts name them, in snake or in camel case.

    Args:
        payload: what the host sent; a field of an unexpected type counts as missing.
        name: the event's name on the command line, for hosts that do not repeat it in the payload.
        tools: the host's name of a tool -> ours.
        keys: the host's name of an argument -> ours.
    """
    written = text(payload, "hook_event_name", "hookEventName") or name
    called = text(payload, "tool_name", "toolName")
    original = arguments(payload)
    roots = payload.get("workspace_roots")
    return Event(
        kind_of(written) or kind_of(name),
        written,
        tool=tools.get(called) or own_tool(called) or called,
        called=called,
        input={keys.get(key, key): value for key, value in original.items()},
        original=original,
        session=text(payload, "session_id", "sessionId", "conversation_id"),
        agent=text(payload, "agent_id"),
        cwd=text(payload, "cwd"),
        project=roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else "",
    )


def kind_of(name: str) -> str:
    """Our word for an event, "" when we have none."""
    return _KINDS.get(name.lower(), "")


def text(payload: dict[str, object], *names: str) -> str:
    """The first of these fields that is a text with something in it, or ""."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def arguments(payload: dict[str, object]) -> dict[str, object]:
    """The tool's arguments; some hosts send them as JSON text."""
    value = payload.get("tool_input", payload.get("toolInput"))
    if isinstance(value, str):
        try:
            value = decode(value.encode("utf-8", "surrogatepass"))
        except ValueError:
            value = None
    return value if isinstance(value, dict) else {}


def rewritten(event: Event, verdict: Verdict, keys: dict[str, str]) -> dict[str, object]:
    """The whole new arguments in the host's words; what the verdict left as it was stays as the host wrote it."""
    new = verdict.input or {}
    back = {ours: theirs for theirs, ours in keys.items() if theirs in event.original}
    result = dict(event.original)
    for key in event.input:
        if key not in new:
            result.pop(back.get(key, key), None)
    for key, value in new.items():
        if key not in event.input or event.input[key] != value:
            result[back.get(key, key)] = value
    return result


def instead_of_asking(verdict: Verdict, host: str) -> str:
    """What a host that cannot ask from a hook is told: the call is refused, and the user can still decide."""
    reason = verdict.text or "a rule of the user wants to be asked first"
    return f"{reason.rstrip('.')}. {host} cannot ask from a hook: let the user run it, or change the rule."


def capped(message: str, limit: int) -> str:
    """At most `limit` characters, cut after a line where one ends in the last quarter."""
    if len(message) <= limit:
        return message
    cut = message[: limit - 2]
    end = cut.rfind("\n")
    return (cut[:end] if end > limit * 3 // 4 else cut) + "\n…"
