"""Codex CLI's rollouts, `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl` (or `.jsonl.zst`) -> events.

A rollout tells things twice: `response_item` is what the model got and gave, `event_msg` what the screen showed, and
newer versions wrap the latter as `item_completed`. Which of them is there depends on version and settings. A message
is taken from whichever comes first; the others' copies of it are counted as repeated. A tool's end as shown on the
screen is a result only if no response item told of the call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..records import loads
from .codex_files import at, find, recognises, roots
from .codex_kinds import CALLS, ENDS, ITEM_TOOLS, OUTER, OUTPUTS, SHOWN
from .events import Event, Kind, Mark, Media, Origin, Session
from .lines import Record, raw, records
from .once import Recent
from .prompts import typed
from .report import Report
from .values import Json, content, items, mapping, seconds, string

__all__ = ["at", "find", "raw", "read", "recognises", "roots"]

_PICTURE = re.compile(r"</?image\b[^>]*>")


def read(session: Session, report: Report, start: Mark | None = None) -> Iterator[Event]:
    """The events of one rollout, in file order. See `registry.read`."""
    rollout = _Rollout(session, report)
    for record in records(session.path, report, start):
        yield from rollout.events(record)


class _Rollout:
    """What must be remembered between lines."""

    def __init__(self, session: Session, report: Report) -> None:
        self._session, self._report = session, report
        self._calls: Recent[str, tuple[str, int]] = Recent()  # call id -> tool, offset
        self._told: Recent[tuple[Kind, str, int], dict[str, int]] = Recent()  # message -> how often each family told it

    def events(self, record: Record) -> list[Event]:
        value = record.value
        name = string(value.get("type"))
        payload = value.get("payload")
        if not isinstance(payload, dict):  # before 2025-09 the items lay bare
            outer = "session_meta" if "instructions" in value and "id" in value and not name else "response_item"
            name, payload = (outer if name not in OUTER else name), value
        inner = string(payload.get("type")) or string(payload.get("role") and "message")
        origin = self._origin(record, value, f"{name}/{inner}" if inner and payload is not value else inner or name)
        if name == "response_item":
            return self._item(payload, inner, origin)
        if name == "event_msg":
            return self._shown(payload, inner, origin)
        if name in ("session_meta", "turn_context"):
            return [self._setting(payload, origin)]
        if name == "compacted":
            text = string(payload.get("message"))
            made = [Event(Kind.COMPACTION, origin, "system", detail=payload)]
            return [*made, Event(Kind.SUMMARY, origin, "system", text)] if text else made
        kind = Kind.SYSTEM if name in OUTER else Kind.UNKNOWN
        return [Event(kind, origin, "", content(payload)[0] if kind is Kind.UNKNOWN else "", detail=payload)]

    def _origin(self, record: Record, value: Json, raw: str) -> Origin:
        mark = self._report.told
        time = value.get("timestamp", value.get("created_at"))
        return Origin(
            record.offset,
            record.length,
            record.line,
            raw or "(no type)",
            seconds(time),
            session_id=mark.session_id,
            agent_id=self._session.agent_id,
            cwd=mark.cwd,
            branch=mark.branch,
            version=mark.version,
        )

    def _setting(self, payload: Json, origin: Origin) -> Event:
        """What holds for all that follows: told once, at the top or at the beginning of a turn."""
        mark = self._report.told
        git = mapping(payload.get("git"))
        mark = mark._replace(
            session_id=string(payload.get("id")) or mark.session_id,
            cwd=string(payload.get("cwd")) or mark.cwd,
            branch=string(git.get("branch")) or mark.branch,
            version=string(payload.get("cli_version")) or mark.version,
            model=string(payload.get("model")) or mark.model,
        )
        self._report.told = mark
        origin = origin._replace(session_id=mark.session_id, cwd=mark.cwd, branch=mark.branch, version=mark.version)
        return Event(Kind.SYSTEM, origin, "system", detail=payload, model=mark.model)

    def _item(self, payload: Json, inner: str, origin: Origin) -> list[Event]:
        if inner == "message":
            return self._message(string(payload.get("role")), payload, origin)
        if inner == "reasoning":
            return self._thoughts(payload.get("summary") or payload.get("content"), origin)
        if inner in CALLS:
            return self._call(payload, inner, origin)
        if inner in OUTPUTS:
            return [self._output(payload, origin)]
        if inner == "agent_message":  # from one agent to another
            text, media = content(payload.get("content"))
            return [Event(Kind.CONTEXT, origin, "user", text, media=media, detail=payload)]
        kind = Kind.SYSTEM if inner in ("ghost_snapshot", "compaction", "other") else Kind.UNKNOWN
        return [Event(kind, origin, "", content(payload)[0], detail=payload)]

    def _message(self, role: str, payload: Json, origin: Origin) -> list[Event]:
        body = payload.get("content", payload.get("message"))
        blocks = [block for block in items(body) if not _PICTURE.fullmatch(content(block)[0].strip())]
        text, media = content(blocks if isinstance(body, list) else body)
        return self._said(role, text, media, origin)

    def _said(self, role: str, text: str, media: tuple[Media, ...], origin: Origin) -> list[Event]:
        if role == "assistant":
            made = Event(Kind.ASSISTANT, origin, "assistant", text, media=media, model=self._report.told.model)
        elif role != "user" or (not typed(text) and not media):
            made = Event(Kind.CONTEXT, origin, role or "user", text, media=media)
        elif self._session.agent_id:
            made = Event(Kind.SUBAGENT, origin, "user", text, media=media, child_id=self._session.agent_id)
        else:
            made = Event(Kind.USER, origin, "user", text, media=media)
        return self._once(made)

    def _thoughts(self, summary: Any, origin: Origin) -> list[Event]:
        texts = [content(block)[0] for block in (summary if isinstance(summary, list) else [summary]) if block]
        model = self._report.told.model
        made = [Event(Kind.THINKING, origin, "assistant", text, model=model) for text in texts or [""]]
        return [event for thought in made for event in (self._once(thought) if thought.text else [thought])]

    def _once(self, event: Event) -> list[Event]:
        """The event, unless another family of records told it already: each counts how often it told this."""
        key = (event.kind, event.role, hash(event.text.strip()))
        told = self._told.get(key, {})
        if not told:
            self._told.put(key, told)
        family = event.origin.raw.partition("/")[0]
        before = max(told.values(), default=0)
        told[family] = told.get(family, 0) + 1
        if told[family] > before:
            return [event]
        self._report.repeated += 1
        return []

    def _call(self, payload: Json, inner: str, origin: Origin) -> list[Event]:
        call = string(payload.get("call_id")) or string(payload.get("id"))
        tool = string(payload.get("name")) or string(mapping(payload.get("function")).get("name"))
        tool = tool or inner.removesuffix("_call")
        for field in ("arguments", "input", "action"):
            if field in payload:
                break
        made = self._called(call, tool, _parsed(payload.get(field)), origin)
        result = payload.get("result")
        if inner == "image_generation_call" and isinstance(result, str):
            media = (Media("image", "", len(result)),)
            return [made, Event(Kind.RESULT, origin, "tool", "", tool, call, origin.offset, media=media)]
        return [made]

    def _called(self, call: str, tool: str, input_: Any, origin: Origin) -> Event:
        if call:
            self._calls.put(call, (tool, origin.offset))
        return Event(Kind.CALL, origin, "assistant", "", tool, call, input=input_, model=self._report.told.model)

    def _output(self, payload: Json, origin: Origin) -> Event:
        call = string(payload.get("call_id"))
        tool, at = self._calls.get(call, (string(payload.get("name")), -1))
        output = _parsed(payload.get("output", payload.get("result", payload.get("tools"))), only=("output", "content"))
        text, media, failed = _result(output)
        return Event(Kind.RESULT, origin, "tool", text, tool, call, at, detail=output, media=media, is_error=failed)

    def _shown(self, payload: Json, inner: str, origin: Origin) -> list[Event]:
        if inner in ("user_message", "agent_message"):
            pictures = tuple(Media("image", "", len(string(image))) for image in items(payload.get("images")))
            return self._said(
                "user" if inner == "user_message" else "assistant", string(payload.get("message")), pictures, origin
            )
        if inner in ("agent_reasoning", "agent_reasoning_raw_content"):
            return self._thoughts(payload.get("text"), origin)
        if inner == "item_completed":
            return self._completed(mapping(payload.get("item")), origin)
        if inner in ENDS:
            return self._ended(string(payload.get("call_id")), inner.removesuffix("_end"), payload, origin)
        if inner == "collab_agent_spawn_end":
            child, text = string(payload.get("new_thread_id")), string(payload.get("prompt"))
            call = string(payload.get("call_id"))
            return [Event(Kind.SUBAGENT, origin, "user", text, call_id=call, child_id=child, detail=payload)]
        if inner in ("thread_name_updated", "thread_name"):
            return [Event(Kind.TITLE, origin, "system", string(payload.get("thread_name")))]
        known = inner in SHOWN or inner.startswith("codex/event/")
        text = string(payload.get("message")) or string(mapping(payload.get("error")).get("message"))
        kind, failed = Kind.SYSTEM if known else Kind.UNKNOWN, "error" in inner
        return [Event(kind, origin, "system", text, detail=payload, is_error=failed)]

    def _completed(self, item: Json, origin: Origin) -> list[Event]:
        name = string(item.get("type"))
        origin = origin._replace(raw=f"item_completed/{name}")
        if name in ("UserMessage", "AgentMessage"):
            text, media = content(item.get("content"))
            return self._said("user" if name == "UserMessage" else "assistant", text, media, origin)
        if name == "Reasoning":
            return self._thoughts(item.get("summary_text") or item.get("raw_content"), origin)
        if name in ITEM_TOOLS:
            return self._ended(string(item.get("id")), name, item, origin)
        if name == "Plan":
            return [Event(Kind.SYSTEM, origin, "assistant", string(item.get("text")), detail=item)]
        return [Event(Kind.UNKNOWN, origin, "", content(item)[0], detail=item)]

    def _ended(self, call: str, tool: str, payload: Json, origin: Origin) -> list[Event]:
        """A tool's end: bookkeeping when the call is known, else the call and its result."""
        if call and self._calls.get(call, ("", -1))[1] >= 0:
            return [Event(Kind.SYSTEM, origin, "system", call_id=call, detail=payload)]
        invocation = mapping(payload.get("invocation"))
        for field in ("command", "changes", "action", "query", "arguments", "path"):
            if field in payload:
                break
        input_ = invocation.get("arguments") if invocation else payload.get(field)
        named = string(payload.get("tool")) or string(invocation.get("tool"))
        made = self._called(call, named or tool, input_, origin)
        text, media, failed = _result(payload)
        result = Event(
            Kind.RESULT,
            origin,
            "tool",
            text,
            made.tool,
            call,
            origin.offset,
            detail=payload,
            media=media,
            is_error=failed,
        )
        return [made, result]


def _parsed(value: Any, only: tuple[str, ...] = ()) -> Any:
    """JSON within a string, where a string is JSON; with `only`, where it is an object that has one of these fields."""
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return value
    try:
        parsed = loads(value)
    except ValueError:
        return value
    return parsed if not only or (isinstance(parsed, dict) and any(name in parsed for name in only)) else value


def _result(output: Any) -> tuple[str, tuple[Media, ...], bool]:
    """Text, media and failure of a tool's output, in any of its forms."""
    if not isinstance(output, dict):
        return *content(output), False
    outcome = mapping(output.get("result"))
    inner = outcome.get("Ok", outcome) or output
    text = ""
    media: tuple[Media, ...] = ()
    for source in (output, mapping(inner)):
        for field in ("output", "aggregated_output", "content", "content_items", "stdout", "result", "stderr"):
            if not text and not media and isinstance(source.get(field), str | list):
                text, media = content(source[field])
    code = output.get("exit_code", mapping(output.get("metadata")).get("exit_code", 0))
    failed = output.get("success") is False or "Err" in outcome or mapping(inner).get("isError") is True
    return text or string(outcome.get("Err")), media, failed or code not in (0, None)
