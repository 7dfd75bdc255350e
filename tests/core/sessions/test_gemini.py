from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from capy_core.sessions import gemini
from capy_core.sessions.events import Kind
from core.sessions.session_files import Read, as_bytes, read_whole

Reading = Callable[..., Read]
STAMP = "2026-01-10T02:08:26.108Z"


def message(kind: str, id_: str, content: Any = "", **fields: Any) -> dict[str, Any]:
    return {"id": id_, "timestamp": STAMP, "type": kind, "content": content, **fields}


def tool(id_: str, name: str = "read_file", output: str | None = None, status: str = "success") -> dict[str, Any]:
    made: dict[str, Any] = {"id": id_, "name": name, "args": {"file_path": "a"}, "status": status}
    if output is not None:
        made["result"] = [{"functionResponse": {"id": id_, "name": name, "response": {"output": output}}}]
    return made


MESSAGES = [
    message("user", "u1", "read ü it"),
    message(
        "gemini",
        "g1",
        "Reading.",
        model="g-3",
        thoughts=[{"subject": "Plan", "description": "read"}],
        toolCalls=[tool("t", output="body")],
    ),
    message("info", "i1", "cancelled"),
]
DOCUMENT = {"lastUpdated": STAMP, "messages": MESSAGES, "projectHash": "h", "sessionId": "sess", "summary": "A title"}


def check(found: Read) -> None:
    assert [(event.kind, event.text) for event in found.events if event.kind is not Kind.TITLE] == [
        (Kind.USER, "read ü it"),
        (Kind.THINKING, "Plan\nread"),
        (Kind.ASSISTANT, "Reading."),
        (Kind.CALL, ""),
        (Kind.RESULT, "body"),
        (Kind.SYSTEM, "cancelled"),
    ]
    assert found.of(Kind.RESULT)[0].tool == "read_file"
    assert {event.origin.session_id for event in found.events} == {"sess"}
    assert found.report.gaps == []


def test_a_document_gives_each_message_with_its_place(read: Reading) -> None:
    for indent in (None, 2):
        data = json.dumps(DOCUMENT, indent=indent, ensure_ascii=False).encode()
        found = read("gemini", data, name="session-x.json")
        check(found)
        assert found.texts(Kind.TITLE) == ["A title"]
        assert found.report.lines == data.count(b"\n") + 1
        origin = found.of(Kind.SYSTEM)[0].origin
        assert json.loads(data[origin.offset :][: origin.length]) == MESSAGES[2]
        assert data[: origin.offset].count(b"\n") + 1 == origin.line


def test_a_document_that_breaks_off_gives_what_came_before(read: Reading) -> None:
    data = json.dumps(DOCUMENT, indent=2).encode()
    cut = data.index(b'"cancelled"') + 4
    found = read("gemini", data[:cut], name="session-x.json")
    assert found.texts(Kind.USER, Kind.ASSISTANT) == ["read ü it", "Reading."]
    gap = found.report.gaps[0]
    assert data[gap.offset :].startswith(b'{\n      "id": "i1"')  # the whole message that broke off
    assert found.report.read == data[: gap.offset].count(b"\n") and gap.length == cut - gap.offset
    assert "torn" in found.report.gaps[0].reason
    for end in range(0, len(data), 37):  # wherever it breaks, the lines add up
        read("gemini", data[:end], name="session-x.json")


def test_a_document_under_the_name_of_lines_is_still_a_document(read: Reading) -> None:
    check(read("gemini", json.dumps(DOCUMENT, indent=2).encode(), name="session-x.jsonl"))


def test_lines_with_a_header_and_settings(read: Reading) -> None:
    header = {"sessionId": "sess", "projectHash": "h", "startTime": STAMP, "kind": "main"}
    found = read("gemini", header, *MESSAGES, {"$set": {"lastUpdated": STAMP}}, {"$rewindTo": "g1"})
    assert [event.origin.raw for event in found.of(Kind.SYSTEM)] == ["header", "info", "$set", "$rewindTo"]
    assert found.events[-1].origin.parent == "g1"
    assert found.texts(Kind.USER, Kind.ASSISTANT, Kind.RESULT) == ["read ü it", "Reading.", "body"]


def test_a_message_that_is_written_again_tells_only_what_is_new(read: Reading) -> None:
    first = message("gemini", "g", "Wait.", toolCalls=[tool("t", status="executing")])
    second = message("gemini", "g", "Wait.", toolCalls=[tool("t", output="ok")])
    found = read("gemini", first, second, {"$set": {"messages": [second, message("user", "u", "new")]}})
    assert [event.kind for event in found.events] == [Kind.ASSISTANT, Kind.CALL, Kind.RESULT, Kind.SYSTEM, Kind.USER]
    assert [event.part for event in found.events[:3]] == [0, 1, 2]
    assert found.report.repeated == 5


def test_parts_of_the_programming_interface_are_understood(read: Reading) -> None:
    history = [
        {
            "role": "user",
            "parts": [{"text": "what"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}],
            "ts": 1695000000,
        },
        {"role": "model", "parts": [{"text": "look"}, {"functionCall": {"id": "f", "name": "ls", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "f", "name": "ls", "response": {"error": "no"}}}]},
    ]
    found = read("gemini", json.dumps({"history": history}).encode(), name="checkpoint.json")
    assert [(event.kind, event.text) for event in found.events] == [
        (Kind.USER, "what"),
        (Kind.ASSISTANT, "look"),
        (Kind.CALL, ""),
        (Kind.RESULT, "no"),
    ]
    assert found.events[0].media[0].media_type == "image/png"
    assert found.events[0].origin.time == 1695000000.0
    assert found.events[3].call_at == found.events[2].origin.offset


def test_failed_tools_and_unknown_messages(read: Reading) -> None:
    failed = tool("t", output="x", status="error")
    found = read("gemini", message("gemini", "g", "", toolCalls=[failed]), message("novel", "n", "?"), {"what": 1})
    assert found.of(Kind.RESULT)[0].is_error
    assert found.report.unknown == {"novel": 1, "(no type)": 1}


def test_chats_are_found_with_project_and_sub_agents(tmp_path: Path) -> None:
    root = tmp_path / ".gemini" / "tmp"
    hashed = sha256(b"/home/dev/b").hexdigest()
    chats = root / "a" / "chats"
    for folder in (chats / "12345678-aaaa", root / hashed / "chats"):
        folder.mkdir(parents=True)
    (root / "a" / ".project_root").write_text("/home/dev/a\n")
    (tmp_path / ".gemini" / "projects.json").write_text('{"projects": {"/home/dev/b": "b"}}')
    (chats / "session-2026-01-10T02-08-12345678.jsonl").write_bytes(as_bytes(message("user", "u", "hi")))
    (chats / "12345678-aaaa" / "sub.jsonl").write_bytes(as_bytes(message("user", "u", "task")))
    (root / hashed / "chats" / "session-x.json").write_text("{}")
    (root / "a" / "logs.json").write_text("[]")
    found = {session.cwd: session for session in gemini.find(root, [])}
    assert set(found) == {"/home/dev/a", "/home/dev/b"}
    (agent,) = found["/home/dev/a"].agents
    assert (agent.agent_id, agent.parent_id) == ("sub", "12345678-aaaa")
    assert read_whole(agent).texts(Kind.SUBAGENT) == ["task"]
