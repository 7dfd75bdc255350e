from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capy_core.sessions.events import Kind
from capy_core.sessions.messages import merge
from core.sessions.session_files import Read, as_bytes, read_whole, session_of

Reading = Callable[..., Read]


def record(kind: str, uuid: str, parent: str | None, **fields: Any) -> dict[str, Any]:
    envelope = {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "cwd": "/w", "gitBranch": "main"}
    return {**envelope, "version": "2.1.40", "timestamp": "2026-01-20T15:07:58.839Z", "isSidechain": False, **fields}


def user(content: Any, uuid: str = "u", parent: str | None = None, **fields: Any) -> dict[str, Any]:
    return record("user", uuid, parent, message={"role": "user", "content": content}, **fields)


def part(
    id_: str, block: dict[str, Any], uuid: str, parent: str | None = None, out: int = 3, **fields: Any
) -> dict[str, Any]:
    message = {"id": id_, "role": "assistant", "model": "m-1", "content": [block], "usage": {"output_tokens": out}}
    return record("assistant", uuid, parent, message=message, **fields)


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def call(id_: str, name: str = "Bash", **input_: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": name, "input": input_}


def result(id_: str, content: Any, uuid: str = "r", **fields: Any) -> dict[str, Any]:
    return user([{"type": "tool_result", "tool_use_id": id_, "content": content}], uuid, **fields)


def test_a_message_over_many_records_is_one_message_with_its_results(read: Reading) -> None:
    found = read(
        "claude",
        user("do it"),
        part("m", {"type": "thinking", "thinking": "hm", "signature": "x"}, "a1"),
        part("m", call("t1", command="ls"), "a2"),
        result("t1", "one", "r1"),
        record("progress", "p", "a2", data={"type": "bash_progress", "fullOutput": "one"}, toolUseID="t1"),
        part("m", call("t2", command="pwd"), "a3", out=423),
        result("t2", [text("two"), text("three")], "r2"),
        part("n", text("done"), "a4"),
    )
    messages = [message for message in merge(found.events) if message.parts[0].role == "assistant"]
    assert [[event.kind for event in message.parts] for message in messages] == [
        [Kind.THINKING, Kind.CALL, Kind.CALL],
        [Kind.ASSISTANT],
    ]
    first = messages[0]
    assert [event.part for event in first.parts] == [0, 1, 2]
    assert first.parts[-1].usage == {"output_tokens": 423}
    assert [first.result(event).text for event in first.parts[1:]] == ["one", "two\nthree"]  # type: ignore[union-attr]
    assert [event.tool for event in first.results] == ["Bash", "Bash"]


def test_cumulative_copies_of_a_message_give_each_block_once(read: Reading) -> None:
    whole = part("m", text("alpha"), "a2")
    whole["message"]["content"] = [text("alpha"), call("t"), text("beta")]
    found = read("claude", part("m", text("alpha"), "a1"), whole, whole)
    assert found.texts(Kind.ASSISTANT) == ["alpha", "beta"]
    assert len(found.of(Kind.CALL)) == 1
    assert found.report.repeated == 4


def test_blocks_without_any_id_are_all_kept(read: Reading) -> None:
    line = {"type": "assistant", "message": {"role": "assistant", "content": [text("same")]}}
    assert read("claude", line, line).texts(Kind.ASSISTANT) == ["same", "same"]


def test_results_link_to_their_calls_and_orphans_say_so(read: Reading) -> None:
    found = read(
        "claude",
        user("x"),
        part("m", call("t", "Read", file_path="/f"), "a"),
        result("t", "ok"),
        result("zz", "?", "r2"),
    )
    known, orphan = found.of(Kind.RESULT)
    assert (known.tool, known.call_at) == ("Read", found.of(Kind.CALL)[0].origin.offset)
    assert (orphan.tool, orphan.call_at) == ("", -1)


@pytest.mark.parametrize(
    "detail", ["Error: Exit code 1\nno", [{"type": "text", "text": "x"}], {"stdout": "x", "agentId": "a1"}, None, 3]
)
def test_the_structured_result_may_be_of_any_type(read: Reading, detail: Any) -> None:
    event = read("claude", result("t", "seen", toolUseResult=detail)).of(Kind.RESULT)[0]
    assert event.detail == detail and event.text == "seen"
    assert event.child_id == ("a1" if isinstance(detail, dict) else "")


def test_a_failed_result_and_one_that_only_the_structured_form_tells(read: Reading) -> None:
    block = {"type": "tool_result", "tool_use_id": "t", "is_error": True}
    event = read("claude", user([block], toolUseResult="User rejected tool use")).of(Kind.RESULT)[0]
    assert (event.text, event.is_error) == ("User rejected tool use", True)


def test_base64_stays_out_of_the_text(read: Reading) -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD" * 100}}
    paper = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "QQ=="}}
    pdf = {"type": "pdf", "file": {"filePath": "/a.pdf", "base64": "QUJD", "originalSize": 3}}
    found = read(
        "claude", user([text("look"), picture, paper]), result("t", [text("shot"), picture], "r", toolUseResult=pdf)
    )
    prompt, shot = found.of(Kind.USER, Kind.RESULT)
    assert prompt.text == "look"
    assert [(media.kind, media.media_type, media.size) for media in prompt.media] == [
        ("image", "image/png", 400),
        ("document", "application/pdf", 4),
    ]
    assert shot.text == "shot"
    assert [media.kind for media in shot.media] == ["image", "file"]


@pytest.mark.parametrize(
    "words",
    [
        "<command-name>/clear</command-name>\n<command-message>clear</command-message><command-args></command-args>",
        "<local-command-stdout>done</local-command-stdout>",
        "<system-reminder>be good</system-reminder>",
        "<task-notification>\n<task-id>a</task-id>\n</task-notification>",
        '<teammate-message teammate_id="x">hi</teammate-message>',
        "[Request interrupted by user for tool use]",
        "<ide_opened_file>The user opened /a.py</ide_opened_file>",
        "<local-command-stdout>cut off here",
    ],
)
def test_what_the_host_put_in_is_no_prompt(read: Reading, words: str) -> None:
    for content in (words, [text(words)]):
        found = read("claude", user(content))
        assert found.texts(Kind.CONTEXT) == [words]
        assert found.of(Kind.USER) == []


def test_a_prompt_behind_a_reminder_is_a_prompt_and_meta_text_is_none(read: Reading) -> None:
    found = read(
        "claude",
        user("<system-reminder>x</system-reminder>\n/fix <b>this</b>"),
        user([text("skill body")], "u2", isMeta=True),
        user("typed", "u3", isMeta=None),
        user([text("<ide_selection>x</ide_selection>"), text("explain")], "u4"),
    )
    assert found.texts(Kind.USER) == ["<system-reminder>x</system-reminder>\n/fix <b>this</b>", "typed", "explain"]
    assert found.texts(Kind.CONTEXT) == ["skill body", "<ide_selection>x</ide_selection>"]


def test_what_was_typed_while_the_model_worked_is_a_prompt(read: Reading) -> None:
    queued = {"type": "queued_command", "prompt": "also test it", "commandMode": "prompt"}
    notice = {"type": "queued_command", "prompt": "<task-notification>x</task-notification>"}
    found = read(
        "claude", record("attachment", "a", None, attachment=queued), record("attachment", "b", None, attachment=notice)
    )
    assert found.texts(Kind.USER) == ["also test it"]
    assert found.of(Kind.USER)[0].origin.raw == "attachment/queued_command"
    assert len(found.of(Kind.CONTEXT)) == 1


def test_old_sub_agents_are_told_apart_within_one_file(read: Reading) -> None:
    side = {"isSidechain": True}
    found = read(
        "claude",
        user("main"),
        part("m", call("t1", "Task", prompt="look here"), "a1"),
        part("m", call("t2", "Task", prompt="look there"), "a2"),
        user("look here", "s1", None, **side),
        user("look there", "z1", None, **side),
        part("x", text("here"), "s2", "s1", **side),
        part("z", text("there"), "z2", "z1", **side),
        user([{"type": "tool_result", "tool_use_id": "q", "content": "r"}], "s3", "s2", **side),
        result("t1", "found"),
    )
    tasks = found.of(Kind.SUBAGENT)
    assert [(task.text, task.call_id, task.child_id) for task in tasks] == [
        ("look here", "t1", "sidechain-s1"),
        ("look there", "t2", "sidechain-z1"),
    ]
    agents = {event.text: event.origin.agent_id for event in found.of(Kind.ASSISTANT, Kind.RESULT)}
    assert agents == {"here": "sidechain-s1", "there": "sidechain-z1", "r": "sidechain-s1", "found": ""}
    assert found.texts(Kind.USER) == ["main"]


def test_an_agents_own_file_has_tasks_instead_of_prompts(read: Reading) -> None:
    found = read("claude", user("explore", agentId="abc", isSidechain=True), part("m", text("ok"), "a"), agent_id="abc")
    assert [(event.kind, event.origin.agent_id) for event in found.events] == [
        (Kind.SUBAGENT, "abc"),
        (Kind.ASSISTANT, "abc"),
    ]


def test_copies_of_an_agents_messages_in_progress_are_not_told_again(read: Reading) -> None:
    data = {"type": "agent_progress", "agentId": "abc", "prompt": "p", "message": part("m", text("inner"), "i")}
    found = read("claude", record("progress", "p", None, data=data, parentToolUseID="t", toolUseID="x"))
    assert [(event.kind, event.child_id, event.call_id, event.text) for event in found.events] == [
        (Kind.SYSTEM, "abc", "t", "")
    ]


def test_a_compaction_keeps_its_place_and_its_summary(read: Reading) -> None:
    boundary = record("system", "b", None, subtype="compact_boundary", content="Conversation compacted")
    boundary |= {"logicalParentUuid": "last", "compactMetadata": {"trigger": "auto", "preTokens": 9}}
    found = read("claude", boundary, user("This session is being continued ...", "c", "b", isCompactSummary=True))
    cut, summary = found.events
    assert (cut.kind, cut.origin.parent, cut.detail["preTokens"]) == (Kind.COMPACTION, "last", 9)
    assert (summary.kind, summary.origin.parent) == (Kind.SUMMARY, "b")


def test_titles_summaries_and_bookkeeping(read: Reading) -> None:
    found = read(
        "claude",
        {"type": "summary", "summary": "Old title", "leafUuid": "elsewhere"},
        {"type": "ai-title", "aiTitle": "AI", "sessionId": "s"},
        {"type": "custom-title", "customTitle": "Mine"},
        {"type": "queue-operation", "operation": "enqueue", "content": "later", "sessionId": "s"},
        {"type": "pr-link", "prNumber": 7, "prUrl": "https://h/7", "prRepository": "o/r"},
        {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}},
        record("system", "w", None, subtype="away_summary", content="You were away"),
        record("system", "t", None, subtype="turn_duration", durationMs=3),
    )
    assert found.texts(Kind.SUMMARY) == ["Old title", "You were away"]
    assert found.of(Kind.SUMMARY)[0].origin.parent == "elsewhere"
    assert found.texts(Kind.TITLE) == ["AI", "Mine"]
    assert found.texts(Kind.SYSTEM) == ["later", "PR #7 o/r https://h/7", "", ""]
    assert found.report.unknown == {}


def test_unknown_kinds_are_kept_counted_and_reachable(read: Reading) -> None:
    found = read(
        "claude",
        {"type": "future_kind", "content": "x", "n": 1},
        {"silly": "this"},
        record("system", "u", None, subtype="new_thing", content="y"),
        part("m", {"type": "hologram", "text": "z"}, "a"),
        record("user", "e", None, message={"role": "user", "contenst": []}),
    )
    assert [event.kind for event in found.events] == [Kind.UNKNOWN] * 5
    assert found.report.unknown == {
        "future_kind": 1,
        "(no type)": 1,
        "system/new_thing": 1,
        "assistant/hologram": 1,
        "user without content": 1,
    }


@pytest.mark.parametrize("content", ["", [], None, 3, ["text", 3, None, {}], {"a": 1}])
@pytest.mark.parametrize("kind", ["user", "assistant"])
def test_a_record_of_any_shape_gives_an_event(read: Reading, kind: str, content: Any) -> None:
    found = read("claude", record(kind, "u", None, message={"role": kind, "content": content}))
    assert found.events


def test_a_record_without_a_type_is_known_by_its_role(read: Reading) -> None:
    assert read("claude", {"message": {"role": "user", "content": "hi"}}).texts(Kind.USER) == ["hi"]


def test_times_that_mean_nothing_are_none_and_order_is_that_of_the_file(read: Reading) -> None:
    stamps = [
        "2026-01-20T15:07:58.839Z",
        "2026-01-20T15:07:58Z",
        "0000-01-01T00:00:00Z",
        "[trimmed]",
        None,
        5,
        "2026-02-30T25:00",
    ]
    found = read("claude", *(user(f"{n}", f"u{n}", timestamp=stamp) for n, stamp in enumerate(stamps)))
    assert found.texts(Kind.USER) == [str(n) for n in range(7)]
    assert [event.origin.time for event in found.events] == [1768921678.839, 1768921678.0, None, None, None, 5.0, None]


def test_session_ids_and_folders_may_change_from_record_to_record(read: Reading) -> None:
    found = read(
        "claude", user("a", "1", sessionId="x"), user("b", "2", sessionId="y", cwd="/v"), user("c", "3", sessionId="x")
    )
    assert [event.origin.session_id for event in found.events] == ["x", "y", "x"]
    assert found.events[1].origin.cwd == "/v"


def test_a_resumed_copy_is_told_once_and_a_changed_record_under_the_same_id_again(read: Reading) -> None:
    found = read("claude", user("a", "1"), user("a", "1"), user("b", "1"))
    assert (found.texts(Kind.USER), found.report.repeated) == (["a", "b"], 1)


def test_numbers_and_keys_beyond_the_usual(read: Reading) -> None:
    raw = b'{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Read",'
    raw += b'"input":{"file_path":"/first","n":18446744073709551615,"m":12345678901234567890123456789,'
    raw += b'"file_path":"/last"}}]}}\n'
    event = read("claude", raw).of(Kind.CALL)[0]
    assert event.input["file_path"] == "/last"
    assert event.input["n"] == 18446744073709551615


def test_a_large_file_without_a_message_is_a_warning_with_version_and_kinds(read: Reading) -> None:
    lines = [{"type": "novel", "version": "9.9.9", "text": "x" * 100} for _ in range(20)]
    report = read("claude", *lines).report
    assert "9.9.9" in report.drift() and "novel 20" in report.drift()
    assert read("claude", user("hi " * 1000)).report.drift() == ""


_KEY_NAMES = """
    type uuid parentUuid message content role id name input text tool_use_id source data attachment prompt subtype
    toolUseResult agentId isSidechain timestamp usage file payload call_id output summary arguments messages parts
    toolCalls functionResponse response item result $set thoughts
"""
_TYPE_NAMES = """
    user assistant system progress attachment summary tool_use tool_result text image response_item event_msg message
    reasoning function_call function_call_output session_meta item_completed exec_command_end gemini compacted
"""
_KEYS, _TYPES = _KEY_NAMES.split(), _TYPE_NAMES.split()
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(
    lines=st.lists(
        st.dictionaries(st.sampled_from(_KEYS), st.sampled_from(_TYPES) | json_values, max_size=6), max_size=4
    )
)
@pytest.mark.parametrize("host", ["claude", "codex", "gemini"])
def test_no_json_makes_a_reader_fail(tmp_path_factory: pytest.TempPathFactory, host: str, lines: list[Any]) -> None:
    path = tmp_path_factory.mktemp("any") / "s.jsonl"
    path.write_bytes(as_bytes(*lines))
    found = read_whole(session_of(host, path))
    assert found.report.records == len(lines)
    if host != "gemini":  # a chat's `$set` may hold no message, or many
        assert len({event.origin.line for event in found.events}) >= min(len(lines), 1)


@settings(max_examples=60, deadline=None)
@given(
    data=st.binary(max_size=200)
    | st.lists(st.sampled_from([b"{", b"}", b'"type":"user"', b",", b"\n"]), max_size=20).map(b"".join)
)
@pytest.mark.parametrize("name", ["s.jsonl", "s.json"])
@pytest.mark.parametrize("host", ["claude", "codex", "gemini"])
def test_no_bytes_make_a_reader_fail(
    tmp_path_factory: pytest.TempPathFactory, host: str, name: str, data: bytes
) -> None:
    path: Path = tmp_path_factory.mktemp("any") / name
    path.write_bytes(data)
    read_whole(session_of(host, path))


def test_the_slice_of_an_event_is_its_record(read: Reading) -> None:
    lines = [user("é\u2028x", "1"), part("m", text("b"), "2")]
    found = read("claude", *lines)
    content = found.session.path.read_bytes()
    for event, line in zip(found.events, lines, strict=True):
        origin = event.origin
        assert json.loads(content[origin.offset : origin.offset + origin.length]) == line


@pytest.mark.parametrize("depth", [300, 900, 1000, 1020])
@pytest.mark.parametrize("host", ["claude", "codex", "gemini"])
def test_deeply_nested_values_are_no_failure(read: Reading, host: str, depth: int) -> None:
    deep = b"[" * depth + b"]" * depth
    block = b'{"type":"tool_use","name":"x","input":%b}' % deep
    lines = {
        "claude": b'{"type":"assistant","message":{"id":"m","content":[%b,{"type":"image","source":%b}]}}\n'
        % (block, deep),
        "codex": b'{"type":"response_item","payload":{"type":"function_call","name":"x","arguments":%b}}\n' % deep,
        "gemini": b'{"type":"gemini","id":"g","toolCalls":[{"name":"x","args":%b}],"content":%b}\n' % (deep, deep),
    }
    found = read(host, lines[host])
    assert found.report.lines == 1
