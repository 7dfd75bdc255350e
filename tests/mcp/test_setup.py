"""`capy setup`: put in, put in again, taken out; the user's files come back to the byte."""

from __future__ import annotations

import json
import os
import pty
import select
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from capy_core.keys import read_key_file
from capy_mcp import setup
from conftest import Tool

pytestmark = pytest.mark.usefixtures("lasting")

# Settings as people have them: comments, odd indentation, other servers and hooks, no newline at the end
IN_PROJECT = {
    ".claude/settings.json": '{\n    "permissions": {"deny": ["Bash(sudo:*)"]},\n    "hooks": {"Stop": []}\n}',
    ".mcp.json": '{"mcpServers": {"other": {"command": "other", "args": ["-x"]}}}\n',
    "CLAUDE.md": "# Our rules\r\n\r\nBe brief.\r\n",
    ".codex/config.toml": "# mine\nmodel = 'm'\n\n[mcp_servers.other]\ncommand = 'other'",
    "AGENTS.md": "# For agents\n",
    ".gemini/settings.json": '{ // theme\n\t"theme": "dark",\n}\n',
    ".cursor/mcp.json": "{}",
    ".vscode/mcp.json": '{"servers": {}, "inputs": []}',
    "opencode.json": '{"$schema": "x", "mcp": {"a": {"type": "remote", "url": "https://example.org"}}}\n',
    ".kiro/settings/mcp.json": '{\n  "mcpServers": {}\n}\n',
    ".gitignore": "*.log\nbuild",
}
IN_HOME = {
    ".claude.json": '{"numStartups": 3, "projects": {"/elsewhere": {"mcpServers": {}}}}',
    ".claude/settings.json": '{"model": "x"}\n',
    ".claude/CLAUDE.md": "Mine.",
    ".codex/config.toml": "model = 'm'\n",
    ".gemini/GEMINI.md": "\ufeffMine.\n",
    ".cursor/hooks.json": '{"version": 1, "hooks": {"stop": [{"command": "x"}]}}',
    ".config/opencode/opencode.jsonc": "{\n  // nothing\n}\n",
}
HOOK = "#!/bin/sh\nexec make check\n"


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def tree(*folders: Path) -> dict[str, tuple[int, bytes]]:
    """Every file with its mode and content, every folder with its mode; without the key, and without git's objects."""
    found = {}
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            is_ours = path.name == "db.key" or path.match(".config/capy")
            if not is_ours and not ({"objects", "refs"} & set(path.parts)):
                found[str(path)] = (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"")
    return found


def records(output: bytes) -> list[dict[str, str]]:
    return [json.loads(line) for line in output.splitlines()]


@pytest.fixture
def used(home: Path, project: Path) -> Path:
    """A project and a home with settings of all hosts, and a repository with a hook of its own."""
    write(home, IN_HOME)
    write(project, IN_PROJECT)
    subprocess.run(["git", "init", "-q", project], check=True)
    hook = project / ".git/hooks/pre-commit"
    hook.write_text(HOOK)
    hook.chmod(0o755)
    return project


@pytest.mark.parametrize("scope", ["project", "local", "user"])
def test_uninstall_brings_everything_back_to_the_byte(tool: Tool, home: Path, used: Path, scope: str) -> None:
    before = tree(home, used)
    put = tool("capy", "setup", "--scope", scope)
    assert put.returncode == 0, put.stderr
    changed = [record for record in records(put.stdout) if record["schema"] == "capy.hook.change/1"]
    hosts = {record["platform"] for record in changed} - {"git"}
    assert hosts == ({"claude"} if scope == "local" else set(setup._MARKS))
    after = tree(home, used)
    assert after != before
    again = tool("capy", "setup", "--scope", scope)
    assert {record["action"] for record in records(again.stdout)} == {"unchanged"}
    assert tree(home, used) == after
    out = tool("capy", "setup", "--uninstall", "--scope", scope)
    assert out.returncode == 0, out.stderr
    assert tree(home, used) == before


def test_an_empty_home_and_project_are_empty_again(tool: Tool, home: Path, project: Path) -> None:
    done = tool("capy", "setup")
    assert [record["schema"] for record in records(done.stdout)] == ["capy.keygen/1", *["capy.hook.change/1"] * 3]
    assert {path.name for path in project.iterdir()} == {".claude", ".mcp.json", "CLAUDE.md"}
    tool("capy", "setup", "--uninstall")
    assert tree(home, project).keys() == {str(home / ".config")}


def test_the_key_is_made_once_and_never_deleted(tool: Tool, home: Path, project: Path) -> None:
    shown = tool("capy", "--format", "text", "setup").stdout.decode()
    file = home / ".config/capy/db.key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    key = read_key_file(file)
    assert key.is_raw
    assert str(file) in shown and "safe place" in shown and key.reveal() not in shown
    tool("capy", "setup")
    out = tool("capy", "--format", "text", "setup", "--uninstall").stdout.decode()
    assert read_key_file(file).reveal() == key.reveal()
    assert str(file) in out and "stay" in out


def test_a_key_in_the_environment_is_enough(tool: Tool, home: Path, project: Path, key: str) -> None:
    assert tool("capy", "setup").returncode == 0
    assert not (home / ".config/capy/db.key").exists()


def test_a_database_without_its_key_gets_no_new_one(tool: Tool, home: Path, project: Path, key: str) -> None:
    tool("capy-store", "index", "--label", "x", stdin=b"text\n")
    before = tree(home, project)
    done = tool("capy", "setup", env={"CAPY_DB_KEY": ""})
    error = json.loads(done.stderr.splitlines()[-1])
    assert (done.returncode, error["code"]) == (6, "no_key")
    assert "knowledge.db" in error["message"] and "CAPY_DB_KEY" in error["hint"]
    assert tree(home, project) == before


def test_a_key_that_others_can_read_is_refused(tool: Tool, home: Path, project: Path) -> None:
    file = home / ".config/capy/db.key"
    file.parent.mkdir(parents=True)
    file.write_text("x'" + "11" * 32 + "'\n")
    file.chmod(0o644)
    done = tool("capy", "setup")
    assert (done.returncode, list(project.iterdir())) == (6, [])
    assert b"chmod 600" in done.stderr


def test_a_dry_run_writes_nothing_and_shows_all(tool: Tool, home: Path, used: Path) -> None:
    before = tree(home, used)
    shown = records(tool("capy", "setup", "--dry-run").stdout)
    assert tree(home, used) == before and not (home / ".config/capy").exists()
    gemini = [record for record in shown if record["platform"] == "gemini"]
    assert [record["part"] for record in gemini] == ["hooks", "mcp", "instructions"]
    # The second change of a file stands on the first
    assert "capy-hook" in gemini[0]["diff"] and "capy-mcp" not in gemini[0]["diff"]
    assert "+" in gemini[1]["diff"] and "capy-mcp" in gemini[1]["diff"]


def test_secrets_beside_our_lines_are_not_shown(tool: Tool, project: Path) -> None:
    token = "gh" + "p_" + "a1B2" * 9
    write(
        project, {".mcp.json": json.dumps({"mcpServers": {"x": {"command": "x", "env": {"TOKEN": token}}}}, indent=2)}
    )
    shown = tool("capy", "setup", "--dry-run").stdout.decode()
    assert "TOKEN" in shown and token not in shown
    tool("capy", "setup")
    assert token in (project / ".mcp.json").read_text()


def test_one_broken_file_keeps_all_files_as_they_are(tool: Tool, home: Path, used: Path) -> None:
    (used / ".cursor/mcp.json").write_text("{ not json")
    before = tree(home, used)
    done = tool("capy", "setup")
    assert (done.returncode, done.stdout) == (4, b"")
    assert b".cursor/mcp.json" in done.stderr
    assert tree(home, used) == before and not (home / ".config/capy").exists()


def test_a_hook_that_no_shell_runs_only_costs_the_guard(tool: Tool, used: Path) -> None:
    (used / ".git/hooks/pre-commit").write_text("#!/usr/bin/env python3\nprint()\n")
    done = tool("capy", "setup", "--platform", "claude")
    parts = [record["part"] for record in records(done.stdout) if "part" in record]
    assert (done.returncode, parts) == (0, ["hooks", "mcp", "instructions", "gitignore"])
    assert b"no_guard" in done.stderr


def test_hosts_that_are_used_are_found(home: Path, project: Path) -> None:
    assert setup.found_platforms(project) == ["claude"]
    (home / ".codex").mkdir()
    (project / ".cursor").mkdir()
    assert setup.found_platforms(project) == ["codex", "cursor"]


def test_what_a_host_shares_stays_for_the_other(tool: Tool, home: Path, used: Path) -> None:
    before = tree(home, used)
    tool("capy", "setup", "--platform", "codex", "--platform", "opencode")
    done = tool("capy", "setup", "--uninstall", "--platform", "codex")
    assert b"OpenCode keeps capy" in done.stderr
    assert "capy:begin" in (used / "AGENTS.md").read_text()
    assert "capy:begin" in (used / ".git/hooks/pre-commit").read_text()
    assert "capy" not in (used / ".codex/config.toml").read_text()
    tool("capy", "setup", "--uninstall", "--platform", "opencode")
    assert tree(home, used) == before


def test_at_home_it_goes_as_it_came(tool: Tool, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    write(home, IN_HOME)
    before = tree(home)
    assert tool("capy", "setup").returncode == 0
    out = tool("capy", "setup", "--uninstall")
    assert (out.returncode, out.stderr, tree(home)) == (0, b"", before)


def test_another_scope_is_not_doubled(tool: Tool, project: Path) -> None:
    tool("capy", "setup", "--scope", "user", "--platform", "claude")
    done = tool("capy", "setup", "--platform", "claude")
    assert [record for record in records(done.stdout) if record["schema"] == "capy.hook.change/1"] == []
    assert done.stderr.count(b"installed_elsewhere") == 3
    assert not (project / ".mcp.json").exists()


def test_two_hosts_that_run_the_same_hooks_are_mentioned(tool: Tool, project: Path) -> None:
    done = tool("capy", "setup", "--platform", "claude", "--platform", "cursor", "--dry-run")
    assert b"hooks_run_twice" in done.stderr


def test_a_knowledge_base_in_the_project_is_ignored_and_guarded(tool: Tool, project: Path, key: str) -> None:
    subprocess.run(["git", "init", "-q", project], check=True)
    (project / ".capy.toml").write_text('[store]\npath = "data/know ledge.db"\n')
    tool("capy", "setup", "--platform", "claude", "--scope", "local")
    tool("capy-store", "index", "--label", "x", stdin=b"text\n")
    assert (project / "data/know ledge.db").exists()
    status = subprocess.run(["git", "-C", project, "status", "--porcelain", "-uall"], capture_output=True, check=True)
    assert status.stdout.decode().splitlines() == ["?? .capy.toml", "?? .gitignore"]
    assert "data/know ledge.db" in (project / ".git/hooks/pre-commit").read_text()


def test_an_entry_names_the_place_of_a_server_that_the_path_does_not_lead_to(tool: Tool, home: Path) -> None:
    tool("capy", "setup", "--scope", "user", "--platform", "claude")
    entry = json.loads((home / ".claude.json").read_text())["mcpServers"]["capy"]
    assert entry["command"] == str(Path(sys.executable).with_name("capy-mcp"))


def test_a_shared_entry_that_will_not_be_found_is_warned_of(tool: Tool, project: Path, tmp_path: Path) -> None:
    assert b"not_on_path" in tool("capy", "setup", env={"PATH": os.defpath}).stderr
    (tmp_path / "capy-mcp").symlink_to(Path(sys.executable).with_name("capy-mcp"))
    done = tool("capy", "setup", env={"PATH": f"{tmp_path}{os.pathsep}{os.defpath}"})
    assert b"not_on_path" not in done.stderr


def test_a_scope_that_a_host_does_not_know_is_a_usage_error(tool: Tool, project: Path) -> None:
    assert tool("capy", "setup", "--platform", "codex", "--scope", "local").returncode == 2


@pytest.mark.parametrize(("answer", "status"), [(b"n\n", 1), (b"y\n", 0)])
def test_a_person_sees_the_diff_and_is_asked(project: Path, key: str, answer: bytes, status: int) -> None:
    master, slave = pty.openpty()
    command = [Path(sys.executable).with_name("capy"), "setup", "--platform", "claude"]
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave) as process:
        os.close(slave)
        shown = until(master, b"Write 3 files?")
        assert b"+++" in shown and b"capy-hook" in shown
        os.write(master, answer)
        shown = until(master, b"nothing was written" if status else b"capy doctor")
        assert process.wait(60) == status
    os.close(master)
    assert (project / ".mcp.json").exists() == (status == 0)


def until(terminal: int, wanted: bytes) -> bytes:
    shown, end = b"", time.monotonic() + 60
    while wanted not in shown:
        assert time.monotonic() < end, shown
        if select.select([terminal], [], [], 1)[0]:
            shown += os.read(terminal, 65536)
    return shown
