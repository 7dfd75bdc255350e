"""`capy`: every word leads to its tool, at the price of that tool."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from capy_core.cli import run
from capy_mcp import umbrella
from conftest import Tool

EVENT = b'{"hook_event_name": "PreToolUse", "tool_name": "WebFetch", "tool_input": {"url": "https://example.org/"}}'
RENAMED = """
import sys
from capy_mcp import umbrella
umbrella.ELSEWHERE["vault"] = {program!r}
sys.argv = ["capy", *{words!r}]
umbrella.main()
"""


@pytest.mark.parametrize(
    ("words", "behind", "stdin"),
    [
        (["which"], ["capy-store", "which"], b""),
        (["store", "index", "--label", "x"], ["capy-store", "index", "--label", "x"], b"some text\n"),
        (["exec", "shell", "-c", "echo hi; exit 3"], ["capy-exec", "shell", "-c", "echo hi; exit 3"], b""),
        (["hook", "pretooluse"], ["capy-hook", "pretooluse"], EVENT),
        (["dbsize", "--nope"], ["capy-store", "dbsize", "--nope"], b""),
        (["bench", "--version"], ["capy-bench", "--version"], b""),
    ],
)
@pytest.mark.usefixtures("key")
def test_a_word_of_another_tool_does_what_the_tool_does(
    tool: Tool, project: Path, words: list[str], behind: list[str], stdin: bytes
) -> None:
    here, there = tool("capy", *words, stdin=stdin), tool(*behind, stdin=stdin)
    changing = {"status", "duration_ms", "started_at", "indexed_at", "chunks"}
    assert (here.returncode, stable(here.stderr, changing)) == (there.returncode, stable(there.stderr, changing))
    assert stable(here.stdout, changing) == stable(there.stdout, changing)


def stable(output: bytes, changing: set[str]) -> list[object]:
    """Records without what differs from run to run; other lines as they are."""
    found: list[object] = []
    for line in output.splitlines():
        try:
            found.append({name: value for name, value in json.loads(line).items() if name not in changing})
        except ValueError:
            found.append(line)
    return found


def test_options_before_the_word_go_along(tool: Tool, project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / ".capy").mkdir(parents=True)
    done = tool("capy", "--project-dir", other, "--format", "json", "which")
    assert json.loads(done.stdout)["project"] == str(other)
    shown = tool("capy", "--format", "text", "which").stdout
    assert not shown.startswith(b"{") and str(project).encode() in shown


def test_serve_is_the_server(tool: Tool, project: Path) -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    done = tool("capy", "serve", stdin=json.dumps(request).encode() + b"\n")
    assert json.loads(done.stdout)["result"]["serverInfo"]["name"] == "capy"


def test_an_unknown_word_gets_the_nearest(tool: Tool) -> None:
    done = tool("capy", "stroe")
    error = json.loads(done.stderr)
    assert (done.returncode, error["code"]) == (2, "usage")
    assert "did you mean 'store'?" in error["message"]


def test_a_tool_that_is_not_installed_is_named(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setitem(umbrella.ELSEWHERE, "vault", "capy-no-such-tool")
    monkeypatch.setattr(sys, "argv", ["capy", "vault", "list"])
    assert run(umbrella.group, "capy") == 3
    error = json.loads(capfdbinary.readouterr().err)
    assert error["message"].startswith("capy-no-such-tool is not installed here")


def test_a_tool_that_is_installed_elsewhere_takes_this_process(tmp_path: Path) -> None:
    program = tmp_path / "capy-elsewhere"
    program.write_text('#!/bin/sh\nprintf "%s|" $$ "$@"\nexit 5\n')
    program.chmod(0o755)
    code = RENAMED.format(program=program.name, words=["vault", "a b", "--help-me"])
    env = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=env) as process:
        out, _ = process.communicate(timeout=60)
    assert (process.returncode, out.decode()) == (5, f"{process.pid}|a b|--help-me|")


def test_a_hook_pays_for_no_command_line(project: Path) -> None:
    program = Path(sys.executable).with_name("capy")
    done = subprocess.run(
        [sys.executable, "-X", "importtime", program, "hook", "pretooluse"],
        input=EVENT,
        capture_output=True,
        timeout=60,
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}
    assert b"permissionDecision" in done.stdout
    assert "capy_hook.answer" in loaded
    assert loaded & {"click", "capy_core.cli", "pathlib", "re", "json", "dataclasses", "importlib.metadata"} == set()


def test_the_group_lists_every_word() -> None:
    group = umbrella.group
    names = group.list_commands(click.Context(group))
    assert {*umbrella.HERE, *umbrella.ELSEWHERE, "setup", "doctor", "demo", "stats", "completion"} == set(names)
    with pytest.raises(AttributeError):
        umbrella.nothing  # noqa: B018


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [("capy se", "setup"), ("capy store sea", "search"), ("capy which --for", "--format"), ("capy exec pyt", "python")],
)
def test_completion_reaches_into_the_other_tools(tool: Tool, typed: str, wanted: str) -> None:
    env = {"_CAPY_COMPLETE": "bash_complete", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    done = tool("capy", env=env)
    assert f"plain,{wanted}" in done.stdout.decode().splitlines()


def test_nothing_completes_an_unknown_word(tool: Tool) -> None:
    env = {"_CAPY_COMPLETE": "bash_complete", "COMP_WORDS": "capy nonsense x", "COMP_CWORD": "2"}
    done = tool("capy", env=env)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_bash_script_completes_in_bash(tool: Tool) -> None:
    script = tool("capy", "completion", "bash").stdout.decode()
    ask = 'COMP_WORDS=(capy sto); COMP_CWORD=1; _capy_completion capy; echo "${COMPREPLY[@]}"'
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", f"{script}\n{ask}"], capture_output=True, env=env, timeout=60)
    assert (done.stdout, done.stderr) == (b"store\n", b"")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_completes_all_tools(tool: Tool, shell: str) -> None:
    script = tool("capy", "completion", shell).stdout.decode()
    for variable in ("_CAPY_COMPLETE", "_CAPY_STORE_COMPLETE", "_CAPY_EXEC_COMPLETE", "_CAPY_HOOK_COMPLETE"):
        assert f"{variable}={shell}_complete" in script
