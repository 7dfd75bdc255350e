"""Claude Code's transcripts, `projects/<folder>/<id>.jsonl` -> events.

One API message is spread over several records, a block in each; other records may stand between. A record that gives
nothing else gives one SYSTEM event, so that ids and places of all records are there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .claude_files import at, find, recognises, roots
from .events import Event, Kind, Mark, Media, Origin, Session
from .lines import Record, raw, records
from .once import Parts, Recent, fingerprint
from .prompts import typed
from .report import Report
from .values import Json, content, mapping, media_of, seconds, string

__all__ = ["at", "find", "raw", "read", "recognises", "roots"]

_BOOKKEEPING = {  # type -> the field that says something to a human, or ""
    "last-prompt": "lastPrompt",
    "queue-operation": "content",
    "permission-mode": "",
    "mode": "",
    "file-history-snapshot": "",
    "worktree-state": "",
    "relocated": "relocatedCwd",
    "bridge-session": "",
    "atis-latch": "",
    "frame-link": "",
}
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "agent-name": "agentName"}
_SYSTEM_NAMES = """
    stop_hook_summary turn_duration api_error local_command init session_start error bridge_status
    model_refusal_fallback api_refusal informational
"""
_SYSTEM = frozenset(_SYSTEM_NAMES.split())
_COMPACTIONS = {"compact_boundary": "compactMetadata", "microcompact_boundary": "microcompactMetadata"}


def read(session: Session, report: Report, start: Mark | None = None) -> Iterator[Event]:
    """The events of one transcript, in file order. See `registry.read`."""
    transcript = _Transcript(session, report)
    for record in records(session.path, report, start):
        yield from transcript.events(record)


class _Transcript:
    """What must be remembered between records."""

    def __init__(self, session: Session, report: Report) -> None:
        self._agent, self._report = session.agent_id, report
        self._parts = Parts()
        self._calls: Recent[str, tuple[str, int]] = Recent()  # call id -> tool, offset
        self._tasks: Recent[int, str] = Recent()  # hash of a task's prompt -> call id
        self._chains: Recent[str, str] = Recent()  # record's uuid -> old layout's sub-agent

    def events(self, record: Record) -> list[Event]:
        value = record.value
        name = string(value.get("type")) or string(mapping(value.get("message")).get("role"))
        maker = _MAKERS.get(name)
        if maker is None:
            return [self._other(value, self._origin(record, name), name)]
        repeated = self._report.repeated
        found = maker(self, value, self._origin(record, name))
        if not found and self._report.repeated == repeated:
            found.append(Event(Kind.SYSTEM, self._origin(record, name), ""))
        return found

    def _origin(self, record: Record, name: str) -> Origin:
        value, line, offset, length, _ = record
        get = value.get
        uuid, parent, session, agent, cwd, branch, version = [
            field if isinstance(field, str) else ""  # this runs for every line, hence no call of `string`
            for field in (
                get("uuid"),
                get("parentUuid"),
                get("sessionId"),
                get("agentId"),
                get("cwd"),
                get("gitBranch"),
                get("version"),
            )
        ]
        agent = agent or self._agent
        if not agent and get("isSidechain") is True:
            agent = self._chains.get(parent, "") or f"sidechain-{uuid}"
            self._chains.put(uuid, agent)
        time = seconds(get("timestamp"))
        return Origin(offset, length, line, name, time, uuid, parent, session, agent, cwd, branch, version)

    def _user(self, value: Json, origin: Origin) -> list[Event]:
        message = value.get("message")
        body = message.get("content") if isinstance(message, dict) else message
        if value.get("isCompactSummary") is True:
            return self._once(Event(Kind.SUMMARY, origin, "user", content(body)[0]))
        if not isinstance(body, str | list):
            return [Event(Kind.UNKNOWN, origin._replace(raw="user without content"), "user")]
        meta = value.get("isMeta") is True
        if isinstance(body, str):
            return self._once(self._text(body, origin, meta)) if body else []
        results = [block for block in body if isinstance(block, dict) and block.get("type") == "tool_result"]
        detail = value.get("toolUseResult") if len(results) == 1 else None
        found = [event for block in results for event in self._result(block, origin, detail)]
        rest = [block for block in body if not (isinstance(block, dict) and block.get("type") == "tool_result")]
        return found + self._prompt(rest, origin, meta)

    def _prompt(self, blocks: list[Any], origin: Origin, meta: bool) -> list[Event]:
        """At most two events: what was typed, media with it; and what the host put in."""
        human: list[str] = []
        host: list[str] = []
        media: list[Media] = []
        for block in blocks:
            text, more = content(block)
            media.extend(more)
            if text:
                (host if meta or not typed(text) else human).append(text)
        found = []
        if human or media:
            found += self._once(self._spoken("\n".join(human), origin, tuple(media)))
        if host:
            found += self._once(Event(Kind.CONTEXT, origin, "user", "\n".join(host)))
        return found

    def _text(self, text: str, origin: Origin, meta: bool) -> Event:
        return Event(Kind.CONTEXT, origin, "user", text) if meta or not typed(text) else self._spoken(text, origin)

    def _spoken(self, text: str, origin: Origin, media: tuple[Media, ...] = ()) -> Event:
        agent = origin.agent_id
        if not agent:
            return Event(Kind.USER, origin, "user", text, media=media)
        call = self._tasks.get(hash(text), "") if not origin.parent else ""
        return Event(Kind.SUBAGENT, origin, "user", text, media=media, child_id=agent, call_id=call)

    def _once(self, event: Event) -> list[Event]:
        """Resumed sessions hold copies of records: the same uuid, the same text."""
        if self._parts.number(event.origin.uuid, event.kind, event.text) >= 0:
            return [event]
        self._report.repeated += 1
        return []

    def _result(self, block: Json, origin: Origin, detail: Any) -> list[Event]:
        call = string(block.get("tool_use_id"))
        body = block.get("content")
        text, media = content(body) if body is not None else (string(detail), ())
        if self._parts.number(call or origin.uuid, Kind.RESULT, text) < 0:
            self._report.repeated += 1
            return []
        tool, at = self._calls.get(call, ("", -1))
        file = mapping(mapping(detail).get("file"))
        if "base64" in file:
            media += (Media("file", "", len(string(file["base64"])), string(file.get("filePath"))),)
        return [
            Event(
                Kind.RESULT,
                origin,
                "tool",
                text,
                tool,
                call,
                at,
                detail=detail,
                is_error=block.get("is_error") is True,
                media=media,
                child_id=string(mapping(detail).get("agentId")),
            )
        ]

    def _assistant(self, value: Json, origin: Origin) -> list[Event]:
        message = value.get("message")
        if isinstance(message, str):
            message = {"content": message}
        message = mapping(message)
        body = message.get("content")
        if not isinstance(body, str | list):
            return [Event(Kind.UNKNOWN, origin._replace(raw="assistant without content"), "assistant")]
        id_ = string(message.get("id")) or origin.uuid
        usage = message.get("usage")
        shared: Json = {
            "message_id": id_,
            "model": string(message.get("model")),
            "usage": usage if isinstance(usage, dict) else None,
        }
        failed = value.get("isApiErrorMessage") is True
        found = []
        for block in [body] if isinstance(body, str) else body:
            event, key = self._block(block, origin, failed)
            part = self._parts.number(id_, *key)
            if part < 0:
                self._report.repeated += 1
            else:
                found.append(event._replace(part=part, **shared))
        return found

    def _block(self, block: Any, origin: Origin, failed: bool) -> tuple[Event, tuple[str, ...]]:
        """The event of an assistant's block, and what tells it from others."""
        if isinstance(block, str):
            block = {"type": "text", "text": block}
        block = mapping(block)
        name = string(block.get("type"))
        if name == "text":
            text = string(block.get("text"))
            return Event(Kind.ASSISTANT, origin, "assistant", text, is_error=failed), (name, text)
        if name in ("thinking", "redacted_thinking"):
            text = string(block.get("thinking"))
            key = text or string(block.get("data")) or string(block.get("signature"))
            return Event(Kind.THINKING, origin, "assistant", text), (name, key)
        if name.endswith("tool_use"):  # also server_tool_use, mcp_tool_use
            return self._call(block, origin), (name, string(block.get("id")))
        if name.endswith("tool_result"):  # of a tool that ran at the API
            call = string(block.get("tool_use_id"))
            tool, at = self._calls.get(call, ("", -1))
            text, media = content(block.get("content"))
            detail = block.get("content")
            return Event(Kind.RESULT, origin, "tool", text, tool, call, at, detail=detail, media=media), (name, call)
        if found := media_of(block):
            return Event(Kind.ASSISTANT, origin, "assistant", media=(found,)), (name, str(fingerprint(block)))
        text = content(block)[0]
        other = origin._replace(raw=f"assistant/{name or '(no type)'}")
        return Event(Kind.UNKNOWN, other, "assistant", text), (name, text)

    def _call(self, block: Json, origin: Origin) -> Event:
        call, tool, input_ = string(block.get("id")), string(block.get("name")), block.get("input")
        if call:
            self._calls.put(call, (tool, origin.offset))
        prompt = mapping(input_).get("prompt")
        if isinstance(prompt, str):
            self._tasks.put(hash(prompt), call)
        return Event(Kind.CALL, origin, "assistant", "", tool, call, input=input_)

    def _system(self, value: Json, origin: Origin) -> list[Event]:
        name, text = string(value.get("subtype")), string(value.get("content"))
        origin = origin._replace(raw=f"system/{name}" if name else "system")
        if name in _COMPACTIONS:
            origin = origin._replace(parent=origin.parent or string(value.get("logicalParentUuid")))
            return self._once(Event(Kind.COMPACTION, origin, "system", text, detail=value.get(_COMPACTIONS[name])))
        if name == "away_summary":
            return self._once(Event(Kind.SUMMARY, origin, "system", text))
        kind = Kind.SYSTEM if name in _SYSTEM or not name else Kind.UNKNOWN
        call = string(value.get("toolUseID"))
        return self._once(Event(kind, origin, "system", text, call_id=call, is_error="error" in name))

    def _progress(self, value: Json, origin: Origin) -> list[Event]:
        """Progress repeats what is said elsewhere; of an agent's messages too."""
        data = value.get("data")
        name = string(mapping(data).get("type"))
        call = string(value.get("parentToolUseID")) or string(value.get("toolUseID"))
        child = string(mapping(data).get("agentId"))
        origin = origin._replace(raw=f"progress/{name}" if name else "progress")
        return [Event(Kind.SYSTEM, origin, "system", "", call_id=call, detail=data, child_id=child)]

    def _attachment(self, value: Json, origin: Origin) -> list[Event]:
        attachment = mapping(value.get("attachment"))
        name = string(attachment.get("type"))
        origin = origin._replace(raw=f"attachment/{name}" if name else "attachment")
        if name == "queued_command":  # what was typed while the model worked: it stands nowhere else
            prompt = attachment.get("prompt")
            blocks = prompt if isinstance(prompt, list) else [prompt]
            return self._prompt(blocks, origin, attachment.get("isMeta") is True)
        call = string(attachment.get("toolUseID"))
        return [Event(Kind.SYSTEM, origin, "system", call_id=call, detail=attachment)]

    def _summary(self, value: Json, origin: Origin) -> list[Event]:
        origin = origin._replace(parent=string(value.get("leafUuid")))  # often in another file
        return [Event(Kind.SUMMARY, origin, "system", string(value.get("summary")))]

    def _title(self, value: Json, origin: Origin) -> list[Event]:
        return [Event(Kind.TITLE, origin, "system", string(value.get(_TITLES[origin.raw])))]

    def _pr_link(self, value: Json, origin: Origin) -> list[Event]:
        number, place, url = value.get("prNumber"), string(value.get("prRepository")), string(value.get("prUrl"))
        return [Event(Kind.SYSTEM, origin, "system", f"PR #{number} {place} {url}")]

    def _bookkeeping(self, value: Json, origin: Origin) -> list[Event]:
        field = _BOOKKEEPING[origin.raw]
        return [Event(Kind.SYSTEM, origin, "system", string(value.get(field)) if field else "")]

    def _other(self, value: Json, origin: Origin, name: str) -> Event:
        text = content(value.get("content"))[0] if name else ""
        return Event(Kind.UNKNOWN, origin._replace(raw=name or "(no type)"), "", text)


_MAKERS = {
    "user": _Transcript._user,
    "assistant": _Transcript._assistant,
    "system": _Transcript._system,
    "progress": _Transcript._progress,
    "attachment": _Transcript._attachment,
    "summary": _Transcript._summary,
    "pr-link": _Transcript._pr_link,
    **dict.fromkeys(_TITLES, _Transcript._title),
    **dict.fromkeys(_BOOKKEEPING, _Transcript._bookkeeping),
}
