from __future__ import annotations

from pathlib import Path
from typing import Any

from capy_core.sessions.events import Event, Kind, Origin
from capy_core.sessions.messages import merge
from capy_core.sessions.survey import survey, table
from core.sessions.session_files import as_bytes, session_of

USER: dict[str, Any] = {"type": "user", "uuid": "u", "message": {"role": "user", "content": "go"}}
CALL: dict[str, Any] = {
    "type": "assistant",
    "message": {"id": "m", "content": [{"type": "tool_use", "id": "t", "name": "Task", "input": {"prompt": "p"}}]},
}
RESULT: dict[str, Any] = {
    "type": "user",
    "uuid": "r",
    "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]},
    "toolUseResult": {"agentId": "abc"},
}


def test_a_row_for_each_transcript_and_every_line_in_it(tmp_path: Path) -> None:
    main, side = tmp_path / "s.jsonl", tmp_path / "agent-abc.jsonl"
    main.write_bytes(as_bytes(USER, CALL, RESULT, b"bad\n", b"3\n", b"\n", b'{"type":"summary"'))
    side.write_bytes(as_bytes(USER, {"type": "novel"}))
    agent = session_of("claude", side, agent_id="abc")
    first, second = survey([session_of("claude", main)._replace(agents=(agent,))])
    assert (first.lines, first.read, first.skipped, first.blank, first.unaccounted) == (7, 3, 3, 1, 0)
    assert (first.turns, first.calls, first.results, first.unlinked, first.agents) == (1, 1, 1, 0, 1)
    assert (second.turns, second.unknown, second.unaccounted) == (0, {"novel": 1}, 0)
    lines = list(table([first, second]))
    assert lines[1].split("\t")[2:6] == ["7", "3", "0", "3"]
    assert "line 4: not JSON; line 5: JSON, but no object; line 7: torn" in lines[1]
    assert lines[-1].split("\t")[2] == "9"


def test_a_file_that_cannot_be_read_is_a_row_with_its_problem(tmp_path: Path) -> None:
    (row,) = survey([session_of("claude", tmp_path / "none.jsonl")])
    assert "there is no session file" in row.problem
    assert "there is no session file" in list(table([row]))[1]


def event(kind: Kind, text: str, message: str = "", agent: str = "", call: str = "") -> Event:
    role = "assistant" if message else "user"
    return Event(kind, Origin(0, 0, 1, "", agent_id=agent), role, text, message_id=message, call_id=call)


def test_messages_of_transcripts_that_interleave_do_not_mix() -> None:
    events = [
        event(Kind.ASSISTANT, "a1", "a"),
        event(Kind.ASSISTANT, "b1", "b", "side"),
        event(Kind.SYSTEM, "progress"),
        event(Kind.ASSISTANT, "a2", "a"),
        event(Kind.ASSISTANT, "b2", "b", "side"),
        event(Kind.USER, "next"),
        event(Kind.RESULT, "lost", call="x"),
    ]
    told = [[part.text for part in message.parts] for message in merge(events)]
    assert told == [["progress"], ["a1", "a2"], ["next"], ["lost"], ["b1", "b2"]]


def test_of_many_messages_at_once_the_oldest_is_told_first_and_none_is_lost() -> None:
    events = [event(Kind.ASSISTANT, str(n), f"m{n}", f"agent{n}") for n in range(200)]
    assert [message.parts[0].text for message in merge(events)] == [str(n) for n in range(200)]
