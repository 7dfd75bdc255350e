"""Claude Code's words: what it sends is understood, what it gets has the nested form it honours."""

from __future__ import annotations

import json

import pytest

from capy_hook.adapters.claude import own_tool, read, session_of, write
from capy_hook.event import NONE, Verdict

UUID = "0123abcd-0123-0123-0123-0123456789ab"


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        (Verdict("context", "t"), {"additionalContext": "t"}),
        (Verdict("deny", "t"), {"permissionDecision": "deny", "permissionDecisionReason": "t"}),
        (Verdict("ask", "t"), {"permissionDecision": "ask", "permissionDecisionReason": "t"}),
        (
            Verdict("rewrite", "t", {"prompt": "p", "n": 1}),
            {"permissionDecision": "allow", "permissionDecisionReason": "t", "updatedInput": {"prompt": "p", "n": 1}},
        ),
    ],
)
def test_verdicts_are_nested(verdict: Verdict, expected: dict[str, object]) -> None:
    out = json.loads(write(read({}, "pretooluse"), verdict))
    assert out == {"hookSpecificOutput": {"hookEventName": "PreToolUse", **expected}}


def test_nothing_is_zero_bytes() -> None:
    assert write(read({}, "pretooluse"), NONE) == b""


def test_a_text_above_the_host_s_limit_is_cut_and_says_so() -> None:
    reason = json.loads(write(read({}, "pretooluse"), Verdict("deny", "x" * 50_000)))["hookSpecificOutput"]
    assert len(reason["permissionDecisionReason"]) < 10_000
    assert reason["permissionDecisionReason"].endswith("cut by capy]")


@pytest.mark.parametrize(
    ("called", "ours"),
    [
        ("mcp__capy__capy_execute", "capy_execute"),
        ("mcp__plugin_capy_capy__capy_batch_execute", "capy_batch_execute"),
        ("mcp_capy_capy_search", "capy_search"),
        ("capy/capy_index", "capy_index"),
        ("capy_stats", "capy_stats"),
        ("mcp__xcapy_execute", ""),
        ("Bash", ""),
        ("", ""),
    ],
)
def test_our_tools_are_known_behind_any_prefix(called: str, ours: str) -> None:
    assert own_tool(called) == ours


def test_a_sub_agent_s_event_carries_its_id() -> None:
    event = read({"agent_id": "a", "session_id": "s", "tool_name": "Task", "tool_input": {"prompt": "p"}}, "PreToolUse")
    assert (event.agent, event.tool, event.called) == ("a", "Agent", "Task")
    assert event.input == {"prompt": "p"}


def test_the_session_is_the_transcript_s_then_the_field_then_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert session_of({"transcript_path": f"/x/{UUID}.jsonl", "session_id": "s"}) == UUID
    assert session_of({"transcript_path": f"C:\\x\\{UUID}.jsonl"}) == UUID
    assert session_of({"transcript_path": "/x/notes.jsonl", "session_id": "s"}) == "s"
    monkeypatch.setenv("CLAUDE_SESSION_ID", "e")
    assert session_of({}) == "e"
    monkeypatch.delenv("CLAUDE_SESSION_ID")
    assert session_of({}).startswith("pid-")
