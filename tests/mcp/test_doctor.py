"""`capy doctor`: what is well, what is not, and what to do about it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from capy_core.keys import Key
from capy_mcp import doctor
from capy_store.health import Check
from conftest import RAW_KEY, Tool

pytestmark = pytest.mark.usefixtures("lasting")

OTHER_KEY = "x'" + "a5" * 32 + "'"
BIN = Path(sys.executable).parent


def run(tool: Tool, **env: str) -> tuple[int, dict[str, dict[str, object]]]:
    """Exit status and checks by name; the PATH has the environment's programs first, as with `uv run`."""
    done = tool("capy", "doctor", env={"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", **env})
    assert done.stderr == b""
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(check["schema"] == "capy.check/1" for check in found)
    assert all(check["hint"] for check in found if not check["ok"]), "a failing check says the fix"
    return done.returncode, {check["name"]: check for check in found}


def failing(found: dict[str, dict[str, object]]) -> set[str]:
    return {name for name, check in found.items() if not check["ok"]}


@pytest.fixture(autouse=True)
def few_programs(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PATH without the machine's AI tools, and with few languages: each is asked for its version."""
    folder = tmp_path_factory.mktemp("few")
    for name in ("bash", "sh", "git", "sleep", "touch", "python3", "perl"):
        if found := shutil.which(name):
            (folder / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(folder))


@pytest.fixture
def installed(tool: Tool, project: Path, key: str) -> Path:
    assert tool("capy", "setup", "--scope", "user", "--platform", "claude").returncode == 0
    return project


def test_before_setup_it_names_the_command(tool: Tool, project: Path) -> None:
    status, found = run(tool)
    assert (status, failing(found)) == (1, {"key", "mcp", "hooks"})
    assert {str(found[name]["hint"]) for name in ("key", "mcp", "hooks")} == {"run: capy setup"}


def test_after_setup_in_an_empty_home_all_is_well(tool: Tool, project: Path) -> None:
    tool("capy", "setup")
    status, found = run(tool)
    assert (status, failing(found)) == (0, set())
    assert str(found["mcp of Claude Code (project)"]["detail"]).count("works") == 1
    assert str(found["hooks of Claude Code (project)"]["detail"]).count("works") == 1


def test_every_host_is_started_as_it_is_registered(tool: Tool, project: Path, key: str) -> None:
    platforms = ("claude", "codex", "gemini", "cursor", "vscode", "opencode", "kiro")
    tool("capy", "setup", *(word for name in platforms for word in ("--platform", name)))
    status, found = run(tool)
    assert (status, failing(found)) == (0, set())
    kinds = [name.split()[0] for name in found if "(project)" in name]
    assert (kinds.count("mcp"), kinds.count("hooks")) == (7, 7)


def test_a_person_reads_marks_and_fixes(tool: Tool, project: Path) -> None:
    shown = tool("capy", "--format", "text", "doctor").stdout.decode()
    assert "- [x] settings: read without complaint" in shown
    assert "- [ ] key: no key" in shown and "      run: capy setup" in shown
    assert shown.count("run: capy setup") == 1
    assert "3 of " in shown.splitlines()[-1]


def test_a_server_that_is_gone_is_named(tool: Tool, home: Path, installed: Path) -> None:
    file = home / ".claude.json"
    file.write_text(file.read_text().replace(str(BIN), "/gone/bin"))
    status, found = run(tool)
    assert (status, failing(found)) == (1, {"mcp of Claude Code (user)"})
    assert "/gone/bin/capy-mcp is not there" in str(found["mcp of Claude Code (user)"]["detail"])


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("#!/gone/python\n", "cannot be started: No such file"),
        ("#!/bin/sh\nexit 3\n", "does not list capy's tools (exit status 3)"),
        ('#!/bin/sh\necho \'{"id": 2, "result": {"tools": [{"name": "x"}]}}\'\n', "does not list capy's tools"),
    ],
)
def test_a_server_that_does_not_answer_is_named(
    tool: Tool, home: Path, installed: Path, tmp_path: Path, script: str, told: str
) -> None:
    program = tmp_path / "capy-mcp"
    program.write_text(script)
    program.chmod(0o755)
    file = home / ".claude.json"
    file.write_text(file.read_text().replace(str(BIN), str(tmp_path)))
    status, found = run(tool)
    assert (status, failing(found)) == (1, {"mcp of Claude Code (user)"})
    assert told in str(found["mcp of Claude Code (user)"]["detail"])


@pytest.mark.parametrize("script", ["#!/gone/python\n", "#!/bin/sh\nexit 3\n"])
def test_a_hook_that_cannot_run_is_named(tool: Tool, home: Path, installed: Path, tmp_path: Path, script: str) -> None:
    (tmp_path / "capy-hook").write_text(script)
    (tmp_path / "capy-hook").chmod(0o755)
    status, found = run(tool, PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert (status, failing(found)) == (1, {"hooks of Claude Code (user)"})


def test_the_registered_environment_is_used(tool: Tool, home: Path, installed: Path, tmp_path: Path) -> None:
    (tmp_path / "capy-mcp").write_text(f'#!/bin/sh\ntest "$WORD" = magic && exec {BIN}/capy-mcp\n')
    (tmp_path / "capy-mcp").chmod(0o755)
    file = home / ".claude.json"
    settings = json.loads(file.read_text())
    settings["mcpServers"]["capy"] = {"command": "capy-mcp", "env": {"WORD": "magic", "PATH": f"{tmp_path}:/bin"}}
    file.write_text(json.dumps(settings))
    assert run(tool)[0] == 0


def test_a_registration_that_somebody_broke_is_named(tool: Tool, home: Path, installed: Path) -> None:
    file = home / ".claude.json"
    file.write_text('{"mcpServers": {"capy": {"command": ["capy-mcp"], "args": 3}}}')
    settings = file.with_name(".claude") / "settings.json"
    settings.write_text(settings.read_text()[:-3])
    status, found = run(tool)
    assert status == 1 and "hooks of Claude Code (user)" in failing(found)
    assert "correct the file" in str(found["hooks of Claude Code (user)"]["hint"])


@pytest.mark.parametrize("program", ["./capy-mcp", "{project}/capy-mcp"])
def test_looking_at_a_clone_runs_nothing_of_it(tool: Tool, project: Path, installed: Path, program: str) -> None:
    for name in ("capy-mcp", "capy-hook"):
        (project / name).write_text(f"#!/bin/sh\ntouch {project}/ran\n")
        (project / name).chmod(0o755)
    server = {"command": program.format(project=project), "env": {"PATH": str(project)}}
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"capy": server}}))
    hook = {"type": "command", "command": f"{program.format(project=project)[:-4]}-hook pretooluse"}
    (project / ".claude").mkdir()
    (project / ".claude/settings.json").write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": [hook]}]}}))
    _, found = run(tool)
    assert not (project / "ran").exists()
    assert "was not started" in str(found["mcp of Claude Code (project)"]["detail"])
    assert not found["hooks of Claude Code (project)"]["ok"]  # not as setup writes them


def test_an_environment_from_a_clone_is_not_used(tool: Tool, project: Path, installed: Path) -> None:
    (project / "capy-mcp").write_text(f"#!/bin/sh\ntouch {project}/ran\n")
    (project / "capy-mcp").chmod(0o755)
    server = {"command": "capy-mcp", "env": {"PATH": str(project)}}
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"capy": server}}))
    _, found = run(tool)
    assert not (project / "ran").exists()
    assert "works" in str(found["mcp of Claude Code (project)"]["detail"])


def test_settings_and_rules_that_cannot_be_read_are_named(tool: Tool, project: Path, installed: Path) -> None:
    (project / ".claude").mkdir()
    (project / ".claude/settings.json").write_text("{ not json")
    (project / ".capy.toml").write_text("[store]\nephemeral_ttl_hour = 5\n")
    status, found = run(tool)
    assert status == 1
    assert {"permission rules", "settings"} <= failing(found)
    assert ".claude/settings.json" in str(found["permission rules"]["detail"])
    assert "did you mean" in str(found["settings"]["hint"])
    (project / ".capy.toml").write_text("[store\n")
    assert "settings" in failing(run(tool)[1])


@pytest.mark.parametrize(("mode", "hint"), [(0o644, "chmod 600"), (0o600, "")])
def test_a_key_file_open_to_others_is_named(
    tool: Tool, home: Path, installed: Path, monkeypatch: pytest.MonkeyPatch, mode: int, hint: str
) -> None:
    monkeypatch.delenv("CAPY_DB_KEY")
    file = home / ".config/capy/db.key"
    file.parent.mkdir(parents=True)
    file.write_text(RAW_KEY)
    file.chmod(mode)
    _, found = run(tool)
    assert found["key"]["ok"] is not bool(hint) and hint in str(found["key"]["hint"])
    assert RAW_KEY[2:-1] not in json.dumps(found)


def test_a_database_is_looked_into(tool: Tool, installed: Path) -> None:
    tool("capy-store", "index", "--label", "x", stdin=b"some text\n")
    assert {"integrity", "opens", "full-text index", "write-ahead log"} <= run(tool)[1].keys()
    status, found = run(tool, CAPY_DB_KEY=OTHER_KEY)
    assert status == 1 and failing(found) & {"integrity", "opens", "database"}


def test_a_damaged_database_is_named(tool: Tool, home: Path, installed: Path) -> None:
    tool("capy-store", "index", "--label", "x", stdin=b"some text\n" * 5000)
    (database,) = home.glob(".local/share/capy/*/knowledge.db")
    data = bytearray(database.read_bytes())
    data[9000:9100] = bytes(100)
    database.write_bytes(data)
    status, found = run(tool)
    assert status == 1 and failing(found) & {"integrity", "opens", "stored text", "full-text index"}


def test_a_guard_that_lost_its_mode_is_named(tool: Tool, project: Path, installed: Path) -> None:
    subprocess.run(["git", "init", "-q", project], check=True)
    tool("capy", "setup", "--platform", "claude")
    assert "guard of git" in run(tool)[1]
    (project / ".git/hooks/pre-commit").chmod(0o644)
    assert failing(run(tool)[1]) == {"guard of git"}


def test_a_worktree_says_whose_knowledge_it_shares(project: Path, tmp_path: Path) -> None:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "init", "-q", project], check=True)
    subprocess.run(["git", "-C", project, *who, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    subprocess.run(["git", "-C", project, "worktree", "add", "-q", tmp_path / "other"], check=True)
    found = {check.name: check for check in doctor.checks(tmp_path / "other")}
    assert str(project) in found["project"].detail and "shares" in found["project"].detail


def test_for_an_agent_nothing_is_started(project: Path, home: Path, installed: Path, tmp_path: Path) -> None:
    (tmp_path / "capy-mcp").write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    (tmp_path / "capy-mcp").chmod(0o755)
    file = home / ".claude.json"
    file.write_text(file.read_text().replace(str(BIN), str(tmp_path)))
    found = {check.name: check for check in doctor.checks(project)}
    assert found["mcp of Claude Code (user)"].ok and not (tmp_path / "started").exists()
    assert "opens" not in found


def test_a_server_that_forgot_where_its_key_came_from_brings_it(
    tool: Tool, installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool("capy-store", "index", "--label", "x", stdin=b"some text\n")
    monkeypatch.delenv("CAPY_DB_KEY")
    found = {check.name: check for check in doctor.checks(installed, key=Key(RAW_KEY))}
    assert found["opens"].ok and found["key"].ok


def test_advice_is_no_failure() -> None:
    shown = doctor.shown([Check("a", True, "b", "c"), Check("d", True, "e"), Check("f", False, "g", "c")])
    assert shown.splitlines()[2:] == ["- [-] a: b", "      c", "- [x] d: e", "- [ ] f: g", "", "1 of 3 checks failed"]


def test_versions_of_ai_tools_are_asked_for_and_not_waited_for(tool: Tool, installed: Path, tmp_path: Path) -> None:
    for name, script in (("claude", "echo 9.8.7"), ("codex", "sleep 60"), ("gemini", "exit 1")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    status, found = run(tool, PATH=f"{tmp_path}{os.pathsep}{BIN}{os.pathsep}{os.environ['PATH']}")
    assert status == 0
    assert str(found["Claude Code"]["detail"]).endswith("claude: 9.8.7")
    assert [found[name]["detail"] for name in ("Codex CLI", "Gemini CLI")] == [
        f"{tmp_path}/{name}: does not tell its version" for name in ("codex", "gemini")
    ]
