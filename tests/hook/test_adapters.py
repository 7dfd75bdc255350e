"""For each host: a payload as the host writes it in, the exact answer out."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from capy_hook.adapters import codex, cursor, gemini, kiro, opencode, shared, vscode
from capy_hook.event import NONE, POST_TOOL, PRE_TOOL, PROMPT, SESSION_END, SESSION_START, Event, Verdict
from conftest import Tool

CODEX = {
    "session_id": "0198f3c2-7f5e-7d50-b9cb-8d3f7a1c2b3d",
    "turn_id": "1",
    "transcript_path": None,
    "cwd": "/p",
    "hook_event_name": "PreToolUse",
    "model": "m",
    "permission_mode": "default",
    "tool_name": "Bash",
    "tool_use_id": "call_1",
    "tool_input": {"command": "make test"},
}
GEMINI = {
    "session_id": "s1",
    "transcript_path": "/t.json",
    "cwd": "/p",
    "hook_event_name": "BeforeTool",
    "timestamp": "2026-08-21T10:00:00.000Z",
    "tool_name": "run_shell_command",
    "tool_input": {"command": "make test", "description": "Test", "dir_path": "sub"},
}
CURSOR = {
    "conversation_id": "c1",
    "generation_id": "g1",
    "model": "m",
    "hook_event_name": "preToolUse",
    "cursor_version": "3.9.16",
    "workspace_roots": ["/p"],
    "user_email": None,
    "transcript_path": None,
    "session_id": None,
    "tool_name": "Task",
    "tool_input": {"prompt": "look", "subagent_type": "explore"},
    "tool_use_id": "t1",
    "cwd": "/p/sub",
    "agent_message": "",
}
CURSOR_SHELL = {key: value for key, value in CURSOR.items() if not key.startswith("tool_")} | {
    "hook_event_name": "beforeShellExecution",
    "command": "make test",
}
VSCODE = {
    "timestamp": "2026-02-09T10:30:00.000Z",
    "cwd": "/p",
    "sessionId": "s1",
    "hookEventName": "PreToolUse",
    "transcript_path": "/t.json",
    "tool_name": "read_file",
    "tool_input": {"filePath": "/p/a.txt", "startLine": 1, "endLine": 9},
    "tool_use_id": "tool-1",
}
OPENCODE = {
    "hook_event_name": "PreToolUse",
    "session_id": "ses_1",
    "tool_use_id": "call_1",
    "cwd": "/p",
    "tool_name": "read",
    "tool_input": {"filePath": "/p/a.txt", "offset": 10},
}
KIRO = {
    "hook_event_name": "preToolUse",
    "cwd": "/p",
    "session_id": "s1",
    "tool_name": "fs_read",
    "tool_input": {"operations": [{"mode": "Line", "path": "/p/a.txt"}]},
}


@pytest.mark.parametrize(
    ("host", "payload", "tool", "arguments", "session"),
    [
        (codex, CODEX, "Bash", {"command": "make test"}, "0198f3c2-7f5e-7d50-b9cb-8d3f7a1c2b3d"),
        (codex, CODEX | {"tool_name": "mcp__capy__capy_search"}, "capy_search", {"command": "make test"}, None),
        (gemini, GEMINI, "Bash", GEMINI["tool_input"], "s1"),
        (gemini, GEMINI | {"tool_name": "mcp_capy_capy_execute"}, "capy_execute", GEMINI["tool_input"], "s1"),
        (cursor, CURSOR, "Agent", {"prompt": "look", "subagent_type": "explore"}, "c1"),
        (cursor, CURSOR | {"tool_name": "MCP:capy_index"}, "capy_index", CURSOR["tool_input"], "c1"),
        (cursor, CURSOR | {"tool_name": "Read", "tool_input": '{"path": "a"}'}, "Read", {"file_path": "a"}, "c1"),
        (cursor, CURSOR_SHELL, "Bash", {"command": "make test"}, "c1"),
        (vscode, VSCODE, "Read", {"file_path": "/p/a.txt", "startLine": 1, "endLine": 9}, "s1"),
        (
            vscode,
            VSCODE | {"tool_name": "fetch_webpage", "tool_input": {"urls": ["https://a"], "query": "q"}},
            "WebFetch",
            {"urls": ["https://a"], "query": "q", "url": "https://a"},
            "s1",
        ),
        (opencode, OPENCODE, "Read", {"file_path": "/p/a.txt", "offset": 10}, "ses_1"),
        (opencode, OPENCODE | {"tool_name": "capy_capy_search"}, "capy_search", None, "ses_1"),
        (kiro, KIRO, "Read", KIRO["tool_input"] | {"file_path": "/p/a.txt"}, "s1"),
        (kiro, KIRO | {"tool_name": "@capy/capy_search", "tool_input": {}}, "capy_search", {}, "s1"),
    ],
)
def test_a_payload_becomes_an_event(
    host: Any, payload: dict[str, Any], tool: str, arguments: dict[str, Any] | None, session: str | None
) -> None:
    event = host.read(payload, "pretooluse")
    assert (event.kind, event.tool) == (PRE_TOOL, tool)
    assert event.cwd == payload["cwd"]
    if arguments is not None:
        assert event.input == arguments
    if session is not None:
        assert event.session == session


SHELL = {
    "codex": CODEX,
    "gemini": GEMINI,
    "cursor": CURSOR_SHELL,
    "vscode": VSCODE | {"tool_name": "run_in_terminal", "tool_input": {"command": "make test", "isBackground": False}},
    "opencode": OPENCODE | {"tool_name": "bash", "tool_input": {"command": "make test"}},
    "kiro": KIRO | {"tool_name": "execute_bash", "tool_input": {"command": "make test"}},
}


@pytest.mark.parametrize("host", SHELL)
def test_a_rule_of_the_user_reaches_the_host_through_the_process(tool: Tool, project: Path, host: str) -> None:
    (project / ".claude").mkdir()
    (project / ".claude/settings.json").write_text('{"permissions": {"deny": ["Bash(make:*)"]}}')
    payload = json.dumps(SHELL[host] | {"cwd": str(project), "workspace_roots": [str(project)]}).encode()
    done = tool("capy-hook", "pretooluse", "--platform", host, stdin=payload)
    if host == "kiro":
        assert (done.returncode, done.stdout) == (2, b"")
        assert b"Bash(make:*)" in done.stderr
        return
    assert (done.returncode, done.stderr) == (0, b"")
    answer = json.loads(done.stdout)
    reason = {
        "codex": lambda: answer["hookSpecificOutput"].pop("permissionDecisionReason"),
        "vscode": lambda: answer["hookSpecificOutput"].pop("permissionDecisionReason"),
        "gemini": lambda: answer.pop("reason"),
        "cursor": lambda: answer.pop("user_message") and answer.pop("agent_message"),
        "opencode": lambda: answer.pop("deny"),
    }[host]()
    assert "Bash(make:*)" in reason
    nested = specific(hookEventName="PreToolUse", permissionDecision="deny")
    left = {"codex": nested, "vscode": nested, "gemini": {"decision": "deny"}, "cursor": {"permission": "deny"}}
    assert answer == left.get(host, {})


def test_the_project_is_the_workspace_or_what_the_host_s_variable_says(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cursor.read(CURSOR, "pretooluse").project == "/p"
    monkeypatch.setenv("GEMINI_PROJECT_DIR", "/g")
    monkeypatch.setenv("CURSOR_PROJECT_DIR", "/c")
    assert gemini.read(GEMINI, "pretooluse").project == "/g"
    assert cursor.read(CURSOR | {"workspace_roots": []}, "pretooluse").project == "/c"


CONTEXT, DENY, ASK = Verdict("context", "a tip"), Verdict("deny", "a rule"), Verdict("ask", "rule Bash(x)")
PROMPTED: dict[str, object] = {"prompt": "look\n\nmore", "subagent_type": "explore"}
RUN: dict[str, object] = {"command": "echo"}


def specific(**fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": fields}


def instead(host: str) -> str:
    return f"rule Bash(x). {host} cannot ask from a hook: let the user run it, or change the rule."


@pytest.mark.parametrize(
    ("host", "payload", "name", "verdict", "answer"),
    [
        (codex, CODEX, "pretooluse", NONE, None),
        (codex, CODEX, "pretooluse", CONTEXT, specific(hookEventName="PreToolUse", additionalContext="a tip")),
        (
            codex,
            CODEX,
            "pretooluse",
            DENY,
            specific(hookEventName="PreToolUse", permissionDecision="deny", permissionDecisionReason="a rule"),
        ),
        (
            codex,
            CODEX,
            "pretooluse",
            Verdict("deny", " "),
            specific(
                hookEventName="PreToolUse",
                permissionDecision="deny",
                permissionDecisionReason="refused by a rule of the user",
            ),
        ),
        (
            codex,
            CODEX,
            "pretooluse",
            ASK,
            specific(hookEventName="PreToolUse", permissionDecision="deny", permissionDecisionReason=instead("Codex")),
        ),
        (
            codex,
            CODEX,
            "pretooluse",
            Verdict("rewrite", "", RUN),
            specific(hookEventName="PreToolUse", permissionDecision="allow", updatedInput=RUN),
        ),
        (
            codex,
            {"session_id": "s", "hook_event_name": "SessionStart", "source": "startup", "cwd": "/p", "model": "m"},
            "sessionstart",
            CONTEXT,
            specific(hookEventName="SessionStart", additionalContext="a tip"),
        ),
        (codex, {"session_id": "s", "hook_event_name": "SessionEnd"}, "sessionend", CONTEXT, None),
        (codex, {"session_id": "s", "hook_event_name": "Stop"}, "stop", CONTEXT, None),
        (gemini, GEMINI, "pretooluse", NONE, None),
        (gemini, GEMINI, "pretooluse", CONTEXT, None),
        (gemini, GEMINI, "pretooluse", DENY, {"decision": "deny", "reason": "a rule"}),
        (gemini, GEMINI, "pretooluse", ASK, {"decision": "deny", "reason": instead("Gemini CLI")}),
        (
            gemini,
            GEMINI,
            "pretooluse",
            Verdict("rewrite", "", {**GEMINI["tool_input"], **RUN}),  # type: ignore[dict-item]
            specific(hookEventName="BeforeTool", tool_input={**GEMINI["tool_input"], **RUN}),  # type: ignore[dict-item]
        ),
        (
            gemini,
            {"session_id": "s", "hook_event_name": "SessionStart", "timestamp": "t", "source": "startup"},
            "sessionstart",
            CONTEXT,
            specific(hookEventName="SessionStart", additionalContext="a tip"),
        ),
        (cursor, CURSOR, "pretooluse", NONE, {}),
        (cursor, CURSOR, "pretooluse", CONTEXT, {}),
        (
            cursor,
            CURSOR,
            "pretooluse",
            DENY,
            {"permission": "deny", "user_message": "a rule", "agent_message": "a rule"},
        ),
        (
            cursor,
            CURSOR,
            "pretooluse",
            ASK,
            {"permission": "deny", "user_message": instead("Cursor"), "agent_message": instead("Cursor")},
        ),
        (cursor, CURSOR, "pretooluse", Verdict("rewrite", "", PROMPTED), {"updated_input": PROMPTED}),
        (
            cursor,
            CURSOR_SHELL,
            "pretooluse",
            ASK,
            {"permission": "ask", "user_message": "rule Bash(x)", "agent_message": "rule Bash(x)"},
        ),
        (cursor, CURSOR_SHELL, "pretooluse", Verdict("rewrite", "", RUN), {}),
        (
            cursor,
            {"conversation_id": "c", "hook_event_name": "sessionStart", "composer_mode": "agent"},
            "sessionstart",
            CONTEXT,
            {"additional_context": "a tip"},
        ),
        (cursor, {"conversation_id": "c", "hook_event_name": "sessionEnd"}, "sessionend", NONE, {}),
        (vscode, VSCODE, "pretooluse", NONE, None),
        (vscode, VSCODE, "pretooluse", CONTEXT, specific(hookEventName="PreToolUse", additionalContext="a tip")),
        (
            vscode,
            VSCODE,
            "pretooluse",
            ASK,
            specific(hookEventName="PreToolUse", permissionDecision="ask", permissionDecisionReason="rule Bash(x)"),
        ),
        (
            vscode,
            VSCODE,
            "pretooluse",
            Verdict("rewrite", "", {"file_path": "/p/b.txt", "startLine": 1, "endLine": 9}),
            specific(hookEventName="PreToolUse", updatedInput={"filePath": "/p/b.txt", "startLine": 1, "endLine": 9}),
        ),
        (
            vscode,
            {"sessionId": "s", "hookEventName": "SessionStart", "timestamp": "t", "source": "new"},
            "sessionstart",
            CONTEXT,
            specific(hookEventName="SessionStart", additionalContext="a tip"),
        ),
        (opencode, OPENCODE, "pretooluse", NONE, None),
        (opencode, OPENCODE, "pretooluse", CONTEXT, None),
        (opencode, OPENCODE, "pretooluse", DENY, {"deny": "a rule"}),
        (opencode, OPENCODE, "pretooluse", ASK, {"deny": instead("OpenCode")}),
        (opencode, OPENCODE, "pretooluse", Verdict("rewrite", "", {"file_path": "b"}), {"args": {"filePath": "b"}}),
        (opencode, {"hook_event_name": "SessionStart"}, "sessionstart", CONTEXT, {"context": "a tip"}),
    ],
)
def test_a_verdict_becomes_the_host_s_answer(
    host: Any, payload: dict[str, Any], name: str, verdict: Verdict, answer: dict[str, Any] | None
) -> None:
    written = host.write(host.read(payload, name), verdict)
    assert (json.loads(written) if written else None) == answer


@pytest.mark.parametrize(
    ("payload", "verdict", "out", "err"),
    [
        (KIRO, NONE, b"", b""),
        (KIRO, CONTEXT, b"", b""),
        (KIRO, DENY, b"", b"a rule"),
        (KIRO, ASK, b"", instead("Kiro").encode()),
        (KIRO, Verdict("rewrite", "", RUN), b"", b""),
        ({"hook_event_name": "SessionStart", "cwd": "/p"}, CONTEXT, b"a tip", b""),
        ({"hook_event_name": "agentSpawn", "cwd": "/p"}, CONTEXT, b"a tip", b""),
        ({"hook_event_name": "stop", "cwd": "/p"}, DENY, b"", b""),
    ],
)
def test_kiro_takes_text_and_refuses_by_stderr(
    payload: dict[str, Any], verdict: Verdict, out: bytes, err: bytes
) -> None:
    event = kiro.read(payload, "pretooluse" if "tool_name" in payload else "")
    assert (kiro.write(event, verdict), kiro.fail(event, verdict)) == (out, err)


HOSTS = ("codex", "gemini", "cursor", "vscode", "opencode", "kiro")
KINDS = (PRE_TOOL, POST_TOOL, SESSION_START, SESSION_END, PROMPT, "")


@pytest.mark.parametrize("host", HOSTS)
def test_long_texts_stay_below_what_the_host_cuts(host: str) -> None:
    adapter = import_module(f"capy_hook.adapters.{host}")
    long = "one line of a long text\n" * 2_000
    for kind in KINDS:
        written = adapter.write(Event(kind, "x"), Verdict("context", long))
        assert len(written) < 10_500
        if written and host == "codex":
            assert len(written) < 8_700


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"tool_name": 5, "tool_input": [1], "session_id": {}, "workspace_roots": [3], "cwd": None},
        {"tool_name": "read", "tool_input": "{not json", "hook_event_name": ["x"]},
        {"tool_name": "fs_read", "tool_input": {"operations": [], "urls": []}},
        {"tool_name": "fetch", "tool_input": {"urls": "no list", "operations": "x"}},
    ],
)
def test_a_misshapen_payload_is_an_event_without_what_is_missing(host: str, payload: dict[str, Any]) -> None:
    adapter = import_module(f"capy_hook.adapters.{host}")
    for name in ("pretooluse", "sessionstart", "no such event"):
        event = adapter.read(payload, name)
        assert isinstance(event.tool, str)
        assert isinstance(event.input, dict)
        for verdict in (NONE, CONTEXT, DENY, ASK, Verdict("rewrite", "", {"a": 1})):
            assert isinstance(adapter.write(event, verdict), bytes)


@pytest.mark.parametrize("host", HOSTS)
def test_the_payload_itself_is_not_changed(host: str) -> None:
    adapter = import_module(f"capy_hook.adapters.{host}")
    payload = {"hook_event_name": "PreToolUse", "tool_name": "read", "tool_input": {"filePath": "a", "path": "b"}}
    before = json.dumps(payload)
    event = adapter.read(payload, "pretooluse")
    event.input["new"] = 1
    adapter.write(event, Verdict("rewrite", "", {"file_path": "c"}))
    assert json.dumps(payload) == before


def test_a_rewrite_keeps_the_host_s_own_words_for_the_rest() -> None:
    event = vscode.read(VSCODE, "pretooluse")
    new = {key: value for key, value in event.input.items() if key != "endLine"} | {"startLine": 5, "limit": 2}
    assert shared.rewritten(event, Verdict("rewrite", "", new), vscode.KEYS) == {
        "filePath": "/p/a.txt",
        "startLine": 5,
        "limit": 2,
    }


def test_a_tool_is_ours_only_by_its_whole_name() -> None:
    for called in ("landscapy_search", "capy", "mcp__other__scapy_run"):
        assert shared.read({"tool_name": called}, "pretooluse", {}, {}).tool == called
