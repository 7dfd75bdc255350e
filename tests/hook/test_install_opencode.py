"""The plugin for OpenCode, run by Node as OpenCode would run it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from capy_hook.install import apply, plan

DRIVER = """
const [file, calls] = process.argv.slice(2)
const { CapyHook } = await import(file)
const hooks = await CapyHook({ directory: "/the/project" })
for (const [name, input, output] of JSON.parse(calls)) {
  const args = output?.args
  try {
    await hooks[name](input, output)
    console.log(JSON.stringify({ output: output ?? null, same: output?.args === args }))
  } catch (error) {
    console.log(JSON.stringify({ thrown: error.message }))
  }
}
"""
SAYS = """#!{python}
import json, sys
payload = json.load(sys.stdin)
print(json.dumps([sys.argv[1:], payload]), file=open({log!r}, "a"))
{code}
"""


@pytest.fixture
def plugin(project: Path, tmp_path: Path, home: Path) -> Any:
    """Install the plugin, put a capy-hook of this code on the PATH, and run calls through it."""
    part = plan.parts("opencode", "project", project)["hooks"]
    apply.carry_out(apply.putting(part))
    driver = tmp_path / "driver.mjs"
    driver.write_text(DRIVER)
    log = tmp_path / "log"

    def run(code: str | None, *calls: tuple[str, dict[str, Any], dict[str, Any] | None], place: str = "bin") -> Any:
        folder = (home if place == ".local/bin" else tmp_path) / place
        folder.mkdir(parents=True, exist_ok=True)
        if code is not None:
            (folder / "capy-hook").write_text(SAYS.format(python=sys.executable, log=str(log), code=code))
            (folder / "capy-hook").chmod(0o755)
        done = subprocess.run(
            [shutil.which("node") or "node", driver, part.path, json.dumps(calls)],
            capture_output=True,
            env={**os.environ, "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"},
            timeout=60,
        )
        assert done.stderr == b""
        seen = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        return [json.loads(line) for line in done.stdout.splitlines()], seen

    return run


def before(tool: str, **args: Any) -> tuple[str, dict[str, Any], dict[str, Any]]:
    return "tool.execute.before", {"tool": tool, "sessionID": "ses_1", "callID": "c1"}, {"args": args}


def test_a_call_is_described_and_goes_on_when_nothing_is_said(plugin: Any) -> None:
    answers, seen = plugin("", before("bash", command="ls"))
    assert answers == [{"output": {"args": {"command": "ls"}}, "same": True}]
    assert seen == [
        [
            ["pretooluse", "--platform", "opencode"],
            {
                "hook_event_name": "PreToolUse",
                "session_id": "ses_1",
                "tool_use_id": "c1",
                "cwd": "/the/project",
                "tool_name": "bash",
                "tool_input": {"command": "ls"},
            },
        ]
    ]


def test_a_refusal_is_thrown(plugin: Any) -> None:
    answers, _ = plugin('print(json.dumps({"deny": "not this: ä"}))', before("bash", command="ls"))
    assert answers == [{"thrown": "not this: ä"}]


def test_arguments_are_rewritten_in_place(plugin: Any) -> None:
    answers, _ = plugin(
        'print(json.dumps({"args": {"command": "pwd", "new": 1}}))', before("bash", command="ls", old=1)
    )
    assert answers == [{"output": {"args": {"command": "pwd", "new": 1}}, "same": True}]


def test_tools_without_work_start_no_process(plugin: Any) -> None:
    answers, seen = plugin("", *(before(tool, x=1) for tool in ("todowrite", "edit", "bashful", "landscapy_x")))
    assert [answer["output"]["args"] for answer in answers] == [{"x": 1}] * 4
    assert seen == []


def test_own_tools_come_with_the_name_of_the_server(plugin: Any) -> None:
    _, seen = plugin("", before("capy_capy_execute", language="shell", code="ls"))
    assert [payload["tool_name"] for _, payload in seen] == ["capy_capy_execute"]


@pytest.mark.parametrize(
    "code", [None, "sys.exit(3)", "print('no json')", "print('null')", "import os; os.kill(os.getpid(), 9)"]
)
def test_whatever_goes_wrong_the_call_goes_on(plugin: Any, code: str | None) -> None:
    system: dict[str, Any] = {"system": ["theirs"]}
    answers, _ = plugin(code, before("bash", command="ls"), ("experimental.chat.system.transform", {}, system))
    assert [answer["output"] for answer in answers] == [{"args": {"command": "ls"}}, system]


def test_capy_is_found_beside_the_path(plugin: Any) -> None:
    answers, _ = plugin('print(json.dumps({"deny": "found"}))', before("bash", command="ls"), place=".local/bin")
    assert answers == [{"thrown": "found"}]


def test_the_system_prompt_gets_the_routing_once_asked_for_a_session(plugin: Any) -> None:
    call = ("experimental.chat.system.transform", {"sessionID": "ses_1"}, {"system": ["theirs"]})
    other = ("experimental.chat.system.transform", {"sessionID": "ses_2"}, {"system": []})
    deleted = ("event", {"event": {"type": "session.deleted", "properties": {"info": {"id": "ses_1"}}}}, None)
    idle = ("event", {"event": {"type": "session.idle", "properties": {}}}, None)
    answers, seen = plugin('print(json.dumps({"context": "routing"}))', call, call, other, idle, deleted)
    assert [answer["output"]["system"] for answer in answers[:3]] == [["theirs", "routing"]] * 2 + [["routing"]]
    assert [(words[0], payload["session_id"]) for words, payload in seen] == [
        ("sessionstart", "ses_1"),
        ("sessionstart", "ses_2"),
        ("sessionend", "ses_1"),
    ]


def test_a_place_with_odd_characters_is_written_as_a_text(project: Path, tmp_path: Path) -> None:
    from capy_hook.install import command

    place = tmp_path / 'it\'s "here"' / "capy-hook"
    source = plan.plugin(command.quoted(str(place)))
    assert f'const PROGRAMS = ["capy-hook", {json.dumps(str(place))}]' in source
