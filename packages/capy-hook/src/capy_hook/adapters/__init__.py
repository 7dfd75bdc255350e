"""One adapter a host: its words in, our `Event`; our `Verdict` in, its words out.

A module of this package has

- `read(payload: dict, name: str) -> Event`: the payload as decoded, and the event's name from the command line, in any
  case; `kind` is "" for an event that the adapter has no word for.
- `write(event: Event, verdict: Verdict) -> bytes`: what goes to stdout; for "none" the host's form of nothing, often
  b"".
- optional `fail(event: Event, verdict: Verdict) -> bytes`, for a host that hears a refusal by exit status only: what
  goes to stderr with exit status 2, or b"" for exit status 0.

An adapter says less where its host can say less, never more: an "ask" that a host cannot ask becomes a deny whose text
names the rule and says that the user may run it or change the rule. Rules are never loosened by a missing word.

Use `capy_core.barejson` for JSON; `json`, `re`, `typing`, `pathlib` cost more than the rest of a hook.
"""

from __future__ import annotations

MODULES = {
    "claude": "capy_hook.adapters.claude",
    "codex": "capy_hook.adapters.codex",
    "gemini": "capy_hook.adapters.gemini",
    "cursor": "capy_hook.adapters.cursor",
    "vscode": "capy_hook.adapters.vscode",
    "opencode": "capy_hook.adapters.opencode",
    "kiro": "capy_hook.adapters.kiro",
}


def told(payload: dict[str, object]) -> str:
    """The host that a payload tells by its keys, "claude" when nothing speaks for another.

    Cursor and VS Code also run the hooks of Claude's settings files, so a hook that was installed for Claude Code meets
    their payloads.
    """
    if "cursor_version" in payload:
        return "cursor"
    if "hookEventName" in payload:
        return "vscode"
    if "turn_id" in payload and "model" in payload:
        return "codex"
    if "timestamp" in payload and str(payload.get("hook_event_name")).startswith(("Before", "After")):
        return "gemini"
    return "claude"
