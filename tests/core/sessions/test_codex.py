from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capy_core.sessions import codex
from capy_core.sessions.events import Kind
from core.sessions.session_files import Read, as_bytes, read_whole

Reading = Callable[..., Read]
META = {"id": "thread", "cwd": "/w", "cli_version": "0.142.3", "git": {"branch": "dev"}, "source": "cli"}


def line(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-06-18T02:34:50.278Z", "type": kind, "payload": payload}


def item(kind: str, **payload: Any) -> dict[str, Any]:
    return line("response_item", type=kind, **payload)


def shown(kind: str, **payload: Any) -> dict[str, Any]:
    return line("event_msg", type=kind, **payload)


def done(kind: str, **payload: Any) -> dict[str, Any]:
    return shown("item_completed", item={"type": kind, "id": "i", **payload})


def said(role: str, text: str) -> dict[str, Any]:
    return item(
        "message", role=role, content=[{"type": "output_text" if role == "assistant" else "input_text", "text": text}]
    )


ITEMS = [said("user", "fix it"), said("assistant", "on it"), said("user", "again"), said("assistant", "on it")]
SHOWN = [
    shown("user_message", message="fix it", images=[]),
    shown("agent_message", message="on it"),
    shown("user_message", message="again"),
    shown("agent_message", message="on it"),
]
DONE = [
    done("UserMessage", content=[{"type": "text", "text": "fix it"}]),
    done("AgentMessage", content=[{"type": "Text", "text": "on it"}]),
    done("UserMessage", content=[{"type": "text", "text": "again"}]),
    done("AgentMessage", content=[{"type": "Text", "text": "on it"}]),
]


@pytest.mark.parametrize(
    "lines",
    [
        ITEMS,
        SHOWN,
        DONE,
        [one for pair in zip(ITEMS, SHOWN, strict=True) for one in pair],
        [one for pair in zip(SHOWN, ITEMS, DONE, strict=True) for one in pair],
        [*ITEMS, *SHOWN],
    ],
    ids=["items", "shown", "completed", "both", "three", "one after the other"],
)
def test_each_message_is_told_once_whichever_records_tell_it(read: Reading, lines: list[Any]) -> None:
    found = read("codex", line("session_meta", **META), *lines)
    assert found.texts(Kind.USER) == ["fix it", "again"]
    assert found.texts(Kind.ASSISTANT) == ["on it", "on it"]
    assert found.report.repeated == len(lines) - 4


def test_what_is_said_once_at_the_top_holds_for_all_events_and_beyond_the_mark(read: Reading) -> None:
    lines = [line("session_meta", **META), line("turn_context", model="gpt-x", cwd="/v"), said("assistant", "hi")]
    found = read("codex", *lines)
    event = found.of(Kind.ASSISTANT)[0]
    origin = event.origin
    assert (origin.session_id, origin.cwd, origin.branch, origin.version, event.model) == (
        "thread",
        "/v",
        "dev",
        "0.142.3",
        "gpt-x",
    )
    later = read("codex", *lines, said("assistant", "more"), start=found.report.mark)
    assert later.texts(Kind.ASSISTANT) == ["more"]
    assert (later.events[0].origin.cwd, later.events[0].model, later.events[0].origin.line) == ("/v", "gpt-x", 4)


def test_calls_and_outputs_are_linked_and_parsed(read: Reading) -> None:
    found = read(
        "codex",
        item("function_call", name="exec_command", arguments='{"cmd":"ls"}', call_id="c1"),
        shown("exec_command_end", call_id="c1", aggregated_output="a", exit_code=0),
        item("function_call_output", call_id="c1", output="a\nb"),
        item("custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="c2"),
        item("custom_tool_call_output", call_id="c2", output='{"output":"no","metadata":{"exit_code":1}}'),
        item("function_call_output", call_id="gone", output=[{"type": "input_text", "text": "x"}]),
    )
    calls, results = found.of(Kind.CALL), found.of(Kind.RESULT)
    assert [(call.tool, call.input) for call in calls] == [
        ("exec_command", {"cmd": "ls"}),
        ("apply_patch", "*** Begin Patch"),
    ]
    assert [(one.tool, one.text, one.is_error) for one in results] == [
        ("exec_command", "a\nb", False),
        ("apply_patch", "no", True),
        ("", "x", False),
    ]
    assert [one.call_at for one in results] == [calls[0].origin.offset, calls[1].origin.offset, -1]


def test_an_output_that_happens_to_be_json_stays_text(read: Reading) -> None:
    found = read("codex", item("function_call_output", call_id="c", output='{"name": "x"}'))
    assert found.texts(Kind.RESULT) == ['{"name": "x"}']


def test_a_tool_that_only_the_screen_shows_is_a_call_with_its_result(read: Reading) -> None:
    failed = {"Err": "no such tool"}
    found = read(
        "codex",
        shown("exec_command_end", call_id="c", command=["ls"], aggregated_output="out", exit_code=2),
        shown(
            "mcp_tool_call_end",
            call_id="d",
            invocation={"server": "s", "tool": "t", "arguments": {"a": 1}},
            result=failed,
        ),
        done("CommandExecution", command=["pwd"], aggregated_output="/w", exit_code=0),
    )
    assert [(one.tool, one.input) for one in found.of(Kind.CALL)] == [
        ("exec_command", ["ls"]),
        ("t", {"a": 1}),
        ("CommandExecution", ["pwd"]),
    ]
    assert [(one.text, one.is_error) for one in found.of(Kind.RESULT)] == [
        ("out", True),
        ("no such tool", True),
        ("/w", False),
    ]


def test_the_hosts_own_words_are_context(read: Reading) -> None:
    words = [
        "<environment_context>\n<cwd>/w</cwd></environment_context>",
        "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>x</INSTRUCTIONS>",
        "<user_instructions>y</user_instructions>",
    ]
    found = read("codex", *(said("user", text) for text in words), said("developer", "rules"))
    assert found.texts(Kind.CONTEXT) == [*words, "rules"]


def test_a_prompt_with_a_picture_is_one_prompt(read: Reading) -> None:
    blocks = [
        {"type": "input_text", "text": "<image name=[Image #1]>"},
        {"type": "input_image", "image_url": "data:image/png;base64,QUJD"},
        {"type": "input_text", "text": "</image>"},
        {"type": "input_text", "text": "what is it"},
    ]
    found = read("codex", item("message", role="user", content=blocks), shown("user_message", message="what is it"))
    assert found.texts(Kind.USER) == ["what is it"]
    assert [media.kind for media in found.of(Kind.USER)[0].media] == ["image"]


def test_thoughts_are_told_once_and_sealed_ones_leave_a_trace(read: Reading) -> None:
    found = read(
        "codex",
        shown("agent_reasoning", text="first"),
        item(
            "reasoning", summary=[{"type": "summary_text", "text": "first"}, {"type": "summary_text", "text": "second"}]
        ),
        item("reasoning", summary=[], encrypted_content="x"),
        item("reasoning", summary=[], encrypted_content="y"),
    )
    assert found.texts(Kind.THINKING) == ["first", "second", "", ""]


def test_compactions_titles_and_sub_agents(read: Reading) -> None:
    found = read(
        "codex",
        line("compacted", message="what happened", replacement_history=[]),
        shown("context_compacted"),
        shown("thread_name_updated", thread_name="A name"),
        shown("collab_agent_spawn_end", call_id="c", new_thread_id="child", prompt="look"),
    )
    assert [event.kind for event in found.events] == [
        Kind.COMPACTION,
        Kind.SUMMARY,
        Kind.SYSTEM,
        Kind.TITLE,
        Kind.SUBAGENT,
    ]
    assert found.events[-1].child_id == "child"


def test_items_of_the_oldest_form_lie_bare(read: Reading) -> None:
    found = read(
        "codex",
        {"id": "old", "timestamp": "2025-05-01T10:00:00Z", "instructions": None},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {"created_at": "2025-09-10T12:00:00Z", "role": "assistant", "content": "ho"},
        {"type": "function_call", "function": {"name": "f"}, "arguments": {"a": 1}},
    )
    assert [event.text for event in found.of(Kind.USER, Kind.ASSISTANT)] == ["hi", "ho"]
    assert found.of(Kind.CALL)[0].tool == "f"
    assert found.of(Kind.ASSISTANT)[0].origin.session_id == "old"


def test_unknown_kinds_at_every_level_are_counted(read: Reading) -> None:
    found = read("codex", line("novel"), item("novel"), shown("novel"), done("Novel"))
    assert set(found.report.unknown) == {"novel", "response_item/novel", "event_msg/novel", "item_completed/Novel"}
    assert len(found.of(Kind.UNKNOWN)) == 4


def rollout(folder: Path, id_: str, *lines: Any, suffix: str = ".jsonl") -> Path:
    path = folder / "2026" / "06" / "18" / f"rollout-2026-06-18T02-33-46-{id_}{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    data = as_bytes(*lines)
    if suffix.endswith(".zst"):
        import zstandard

        data = zstandard.ZstdCompressor().compress(data)
    path.write_bytes(data)
    return path


def test_rollouts_are_found_with_their_parents_compressed_or_not(tmp_path: Path) -> None:
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": "aaaa", "agent_role": "explorer"}}}
    rollout(tmp_path, "aaaa", line("session_meta", **META), said("user", "hi"), suffix=".jsonl.zst")
    rollout(tmp_path, "bbbb", line("session_meta", id="bbbb", cwd="/w", source=spawn), said("user", "task"))
    (tmp_path / "2026" / "06" / "18" / "notes.jsonl").write_bytes(b"{}\n")
    main, child = codex.find(tmp_path, [])
    assert (main.id, main.cwd, main.agent_id, main.folder) == ("aaaa", "/w", "", "18")
    assert (child.id, child.parent_id, child.agent_id, child.agent_type) == ("bbbb", "aaaa", "bbbb", "explorer")
    assert read_whole(main).texts(Kind.USER) == ["hi"]
    assert read_whole(child).texts(Kind.SUBAGENT) == ["task"]


def test_the_default_places_follow_the_variable(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.delenv("CODEX_HOME", raising=False)
    assert codex.roots() == (home / ".codex" / "sessions", home / ".codex" / "archived_sessions")
    monkeypatch.setenv("CODEX_HOME", "/c")
    assert codex.roots()[0] == Path("/c/sessions")
