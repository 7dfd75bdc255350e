"""The process: one object in, one or nothing out, status 0, whatever happens."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capy_hook import log as hook_log
from capy_hook.adapters import MODULES, told
from capy_hook.main import respond

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]
BASH = {"tool_name": "Bash", "session_id": "s", "cwd": "/"}


def payload(command: str, **more: object) -> bytes:
    return json.dumps({**BASH, "tool_input": {"command": command}, **more}).encode()


@pytest.mark.parametrize("name", ["pretooluse", "PreToolUse", "PRETOOLUSE"])
def test_an_event_is_known_in_any_case(hook: Callable[..., Any], name: str) -> None:
    answer = hook(name, tool_name="WebFetch", tool_input={"url": "https://example.com/a", "prompt": "x"})
    assert answer["hookSpecificOutput"]["hookEventName"] == "PreToolUse"
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"


@pytest.mark.parametrize("name", ["posttooluse", "precompact", "userpromptsubmit", "Stop", "nonsense", "../x", "💥"])
def test_events_without_work_say_nothing(hook: Callable[..., Any], name: str, log: Callable[[], str]) -> None:
    assert hook(name, tool_name="Bash", tool_input={"command": "curl https://example.com"}) is None
    assert log() == ""


def test_a_host_that_takes_no_output_for_a_failure_gets_its_own_nothing(tool: Run) -> None:
    for event in ("posttooluse", "pretooluse", "nonsense"):
        done = tool("capy-hook", event, stdin=b'{"cursor_version":"3.9","tool_name":"Write","tool_input":{}}')
        assert (done.returncode, json.loads(done.stdout)) == (0, {})
    assert json.loads(tool("capy-hook", "pretooluse", "--platform", "cursor", stdin=b"garbage").stdout) == {}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"garbage",
        b"[]",
        b"null",
        b'"text"',
        b"{",
        rb'{"tool_name":"Bash","tool_input":{"command":"a \| b"}}',
        b'{"a":1}{"b":2}',
        b"[" * 100_000,
        b"\xff\xfe{\0}\0",
    ],
)
def test_what_is_no_object_is_logged_and_nothing_else(tool: Run, data: bytes, log: Callable[[], str]) -> None:
    done = tool("capy-hook", "pretooluse", stdin=data)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert log().count("\n") == 1
    assert "'pretooluse'" in log()


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\n\0"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf", b" \n"])
def test_marks_around_the_object_change_nothing(start: bytes, end: bytes, project: Path) -> None:
    out, _ = respond(["pretooluse"], start + payload("curl https://example.com") + end)
    assert json.loads(out)["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_an_empty_object_and_fields_of_wrong_types_say_nothing(log: Callable[[], str]) -> None:
    for data in (b"{}", b'{"tool_name":5,"tool_input":"x","session_id":[],"cwd":{},"transcript_path":1}'):
        assert respond(["pretooluse"], data) == (b"", b"")
    assert log() == ""


@given(st.binary() | st.text().map(str.encode))
def test_any_bytes_give_nothing_or_json(data: bytes) -> None:
    out, err = respond(["pretooluse"], data)
    assert err == b""
    assert out == b"" or isinstance(json.loads(out), dict)


NAMES = st.sampled_from(
    ["Bash", "Read", "WebFetch", "Agent", "mcp__capy__capy_execute", "mcp__capy__capy_batch_execute"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
KEYS = st.sampled_from(["command", "url", "prompt", "code", "language", "commands", "path", "subagent_type"])


@settings(deadline=None)
@given(st.sampled_from(sorted(MODULES)), NAMES, st.dictionaries(KEYS, JSON | st.text()), st.text(), JSON)
def test_any_payload_on_any_platform_gives_nothing_or_json(
    platform: str, name: str, arguments: dict[str, object], session: str, extra: object
) -> None:
    data = {"tool_name": name, "tool_input": arguments, "session_id": session, "cwd": "/", "extra": extra}
    out, _ = respond(["pretooluse", "--platform", platform], json.dumps(data).encode())
    assert out == b"" or isinstance(json.loads(out), dict)


def test_half_a_surrogate_pair_changes_no_decision(hook: Callable[..., Any], rules: Callable[..., Path]) -> None:
    rules(deny=["Bash(sudo:*)"])
    answer = hook("pretooluse", tool_name="Bash", tool_input={"command": "echo \ud83d; sudo ls"})
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"


@pytest.mark.parametrize(
    "locale", [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "cp932"}, {"PYTHONUTF8": "0", "LANG": "ja_JP.SJIS"}]
)
def test_no_locale_changes_the_decision(
    tool: Run, rules: Callable[..., Path], project: Path, locale: dict[str, str]
) -> None:
    rules(deny=['Bash(echo "表:*)', "Bash(rm 表*)"])
    data = json.dumps({**BASH, "tool_input": {"command": 'rm 表" 😀"'}, "cwd": str(project)}, ensure_ascii=False)
    done = tool("capy-hook", "pretooluse", stdin=data.encode(), env=locale)
    said = json.loads(done.stdout.decode("utf-8"))["hookSpecificOutput"]
    assert said["permissionDecision"] == "deny"
    assert "表" in said["permissionDecisionReason"]


def test_ten_megabytes_are_decided(tool: Run, rules: Callable[..., Path]) -> None:
    rules(deny=["Bash(sudo:*)"])
    data = payload("sudo ls", filler="x" * 10_000_000)
    done = tool("capy-hook", "pretooluse", stdin=data)
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"


def hook_process(**more: Any) -> subprocess.Popen[bytes]:
    program = Path(sys.executable).with_name("capy-hook")
    return subprocess.Popen([program, "pretooluse"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **more)


def test_a_pipe_left_open_does_not_keep_the_answer_back(project: Path) -> None:
    with hook_process() as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(payload("curl https://example.com"))
        process.stdin.flush()
        out = process.stdout.read()
        assert process.wait(30) == 0
    assert json.loads(out)["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_an_object_that_comes_in_pieces_is_read_whole(project: Path) -> None:
    data = payload("echo '{}'; curl https://example.com")
    middle = data.index(b"{}") + 2
    with hook_process() as process:
        assert process.stdin is not None
        for piece in (data[:40], data[40:middle], data[middle:]):
            process.stdin.write(piece)
            process.stdin.flush()
            time.sleep(0.05)
        out, _ = process.communicate()
    assert json.loads(out)["hookSpecificOutput"]["permissionDecision"] == "deny"


def limited(seconds: float) -> list[str]:
    code = f"import sys, capy_hook.main as m; m.LIMIT_S = {seconds}; sys.argv[1:] = ['pretooluse']; m.main()"
    return [sys.executable, "-c", code]


def test_a_silent_pipe_ends_after_the_limit_and_is_logged(log: Callable[[], str]) -> None:
    with subprocess.Popen(limited(0.3), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.wait(30) == 0
        assert process.stdout.read() == b""
    assert "no answer within 0.3 s" in log()


def test_an_answer_that_nobody_reads_ends_after_the_limit(project: Path) -> None:
    data = json.dumps({"tool_name": "Agent", "tool_input": {"prompt": "x" * 500_000}, "session_id": "s"}).encode()
    with subprocess.Popen(limited(1), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(data)
        process.stdin.close()
        assert process.wait(30) == 0


def test_a_settings_file_that_is_a_pipe_does_not_hang(hook: Callable[..., Any], project: Path) -> None:
    (project / ".claude").mkdir()
    os.mkfifo(project / ".claude" / "settings.json")
    os.mkfifo(project / ".capy.toml")
    started = time.monotonic()
    hook("pretooluse", tool_name="Bash", tool_input={"command": "ls"})
    assert time.monotonic() - started < 30


def test_a_closed_stdout_is_no_error_for_the_host(project: Path) -> None:
    with hook_process() as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.close()
        process.stdin.write(payload("curl https://example.com"))
        process.stdin.close()
        assert process.wait(30) == 0


@pytest.mark.parametrize("env", [{"HOME": ""}, {"HOME": "relative"}])
def test_without_a_home_rules_of_the_project_still_hold(
    tool: Run, rules: Callable[..., Path], env: dict[str, str]
) -> None:
    rules(deny=["Bash(sudo:*)"])
    nowhere = {**env, "XDG_STATE_HOME": "", "XDG_CONFIG_HOME": ""}
    done = tool("capy-hook", "pretooluse", stdin=payload("sudo ls"), env=nowhere)
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert tool("capy-hook", "pretooluse", stdin=payload("ls"), env=nowhere).stdout == b""


def test_where_nothing_can_be_written_nothing_is_said_twice(tool: Run, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    env = {"XDG_STATE_HOME": str(blocked)}
    for data in (payload("ls"), b"garbage"):
        done = tool("capy-hook", "pretooluse", stdin=data, env=env)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_an_unknown_platform_is_logged(hook: Callable[..., Any], log: Callable[[], str]) -> None:
    assert hook("pretooluse", "--platform", "abacus", tool_name="Bash", tool_input={"command": "ls"}) is None
    assert "unknown platform" in log()


def test_a_crash_after_parsing_leaves_the_host_alone(
    monkeypatch: pytest.MonkeyPatch, log: Callable[[], str], project: Path
) -> None:
    monkeypatch.setitem(MODULES, "claude", "capy_hook.adapters.missing")
    assert respond(["pretooluse"], payload("ls -la secret-name")) == (b"", b"")
    assert "ModuleNotFoundError" in log()
    assert "secret-name" not in log()


def test_the_log_rotates(home: Path) -> None:
    folder = home / ".local" / "state" / "capy"
    folder.mkdir(parents=True)
    (folder / "hook.log").write_bytes(b"x" * 256 * 1024 + b"\n")
    hook_log.note("pretooluse", "first\nline")
    hook_log.note("pretooluse", "second")
    assert (folder / "hook.log.1").read_text().endswith("'pretooluse' first line\n")
    assert (folder / "hook.log").read_text().endswith("'pretooluse' second\n")
    assert (folder / "hook.log").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("fields", "platform"),
    [
        ({"session_id": "s", "transcript_path": "t", "permission_mode": "default"}, "claude"),
        ({}, "claude"),
        ({"cursor_version": "3.9", "conversation_id": "c"}, "cursor"),
        ({"hookEventName": "PreToolUse", "sessionId": "s", "timestamp": "2026-01-01T00:00:00Z"}, "vscode"),
        ({"session_id": "s", "hook_event_name": "PreToolUse", "timestamp": "2026-01-01T00:00:00Z"}, "claude"),
        ({"session_id": "s", "turn_id": "t", "model": "m", "hook_event_name": "PreToolUse"}, "codex"),
        ({"session_id": "s", "hook_event_name": "BeforeTool", "timestamp": "2026-01-01T00:00:00Z"}, "gemini"),
    ],
)
def test_the_host_is_told_by_its_payload(fields: dict[str, object], platform: str) -> None:
    assert told(fields) == platform


def test_people_get_the_command_line(tool: Run) -> None:
    assert b"Usage: capy-hook" in tool("capy-hook", "--help").stdout
    assert tool("capy-hook").returncode == 2
