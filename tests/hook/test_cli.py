"""`capy-hook install`, `uninstall` and `status` as people run them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import Tool

pytestmark = pytest.mark.usefixtures("lasting")

BIN = str(Path(sys.executable).parent)
ENV = {"PATH": f"{BIN}:/usr/bin:/bin"}


@pytest.fixture
def hook(tool: Tool, project: Path) -> Any:
    """Run capy-hook: exit status, records on stdout, records on stderr."""

    def run(*arguments: str | Path) -> tuple[int, list[dict[str, Any]], list[dict[str, Any]]]:
        done = tool("capy-hook", *arguments, env=ENV)
        out, err = ([json.loads(line) for line in data.splitlines()] for data in (done.stdout, done.stderr))
        return done.returncode, out, err

    return run


def test_installed_again_and_uninstalled(hook: Any, project: Path) -> None:
    settings = project / ".claude/settings.json"
    settings.parent.mkdir()
    settings.write_text('{"model": "m"}')
    status, (record,), errors = hook("install", "--platform", "claude")
    assert (status, record["action"], record["path"], errors) == (0, "changed", str(settings), [])
    assert record["schema"] == "capy.hook.change/1"
    text = settings.read_text()
    assert hook("install", "--platform", "claude")[1][0]["action"] == "unchanged"
    assert settings.read_text() == text
    assert hook("uninstall", "--platform", "claude")[1][0]["action"] == "changed"
    assert settings.read_text() == '{"model": "m"}'
    assert [path.name for path in settings.parent.iterdir()] == ["settings.json"]
    assert hook("uninstall", "--platform", "claude")[1][0]["action"] == "unchanged"


def test_the_installed_command_answers_the_host(hook: Any, project: Path) -> None:
    hook("install", "--platform", "claude", "--scope", "local")
    settings = json.loads((project / ".claude/settings.local.json").read_text())
    line = settings["hooks"]["SessionStart"][0]["hooks"][0]["command"]
    payload = {"session_id": "s", "hook_event_name": "SessionStart", "source": "startup", "cwd": str(project)}
    # Without a PATH to it: the place that was written down is used
    done = subprocess.run(
        ["sh", "-c", line], input=json.dumps(payload).encode(), capture_output=True, env={"PATH": "/usr/bin:/bin"}
    )
    answer = json.loads(done.stdout)["hookSpecificOutput"]
    assert (done.returncode, answer["hookEventName"]) == (0, "SessionStart")
    assert "capy_search" in answer["additionalContext"]


def test_a_host_that_runs_claude_s_hooks_is_answered_in_its_own_words(hook: Any, project: Path) -> None:
    hook("install", "--platform", "claude", "--scope", "local")
    settings = json.loads((project / ".claude/settings.local.json").read_text())
    line = settings["hooks"]["SessionStart"][0]["hooks"][0]["command"]
    payload = {"conversation_id": "c", "cursor_version": "3.9.16", "hook_event_name": "sessionStart"}
    done = subprocess.run(["sh", "-c", line], input=json.dumps(payload).encode(), capture_output=True)
    assert list(json.loads(done.stdout)) == ["additional_context"]


def test_a_dry_run_shows_the_diff_and_writes_nothing(hook: Any, project: Path) -> None:
    _, (record,), _ = hook("install", "--platform", "codex", "--dry-run")
    assert (record["action"], record["dry_run"]) == ("created", True)
    assert record["diff"].startswith(f"--- /dev/null\n+++ {project}/.codex/hooks.json\n@@")
    assert list(project.iterdir()) == []


def test_text_for_people(tool: Tool, project: Path) -> None:
    def text(*arguments: str) -> str:
        return tool("capy-hook", *arguments, "--format", "text", env=ENV).stdout.decode()

    path = project / ".codex/hooks.json"
    assert text("install", "--platform", "codex", "--dry-run").endswith(f"\n{path} would be created\n")
    assert text("install", "--platform", "codex") == f"{path} created\n"
    assert text("status") == f"codex (project): installed, {path}\n"


def test_hooks_are_not_installed_in_two_scopes(hook: Any, project: Path, home: Path) -> None:
    hook("install", "--platform", "claude", "--scope", "user")
    status, (record,), (warning,) = hook("install", "--platform", "claude")
    assert (status, record["action"], warning["code"]) == (0, "unchanged", "installed_elsewhere")
    assert warning["hint"] == "to move it, run first: capy-hook uninstall --platform claude --scope user"
    assert list(project.iterdir()) == []
    _, _, (warning,) = hook("uninstall", "--platform", "claude")
    assert "scope user too" in warning["message"]
    assert hook("uninstall", "--platform", "claude", "--scope", "user")[2] == []
    assert not (home / ".claude").exists()


def test_a_host_that_runs_claude_s_hooks_too_is_named(hook: Any) -> None:
    assert hook("install", "--platform", "vscode")[2] == []
    hook("install", "--platform", "claude")
    _, _, (warning,) = hook("install", "--platform", "cursor")
    assert warning["code"] == "hooks_run_twice"


def test_status_says_where_and_how(hook: Any, project: Path) -> None:
    assert hook("status") == (1, [], [])
    status, records, _ = hook("status", "--platform", "claude")
    assert status == 1
    assert [(record["scope"], record["status"]) for record in records] == [
        ("project", "absent"),
        ("local", "absent"),
        ("user", "absent"),
    ]
    hook("install", "--platform", "gemini")
    status, (record,), _ = hook("status")
    assert (status, record["schema"], record["platform"]) == (0, "capy.hook.status/1", "gemini")
    path = project / ".gemini/settings.json"
    path.write_text(path.read_text().replace("10000", "5000"))
    status, (record,), _ = hook("status", "--platform", "gemini", "--scope", "project")
    assert (status, record["status"]) == (1, "outdated")
    path.write_text("{")
    status, (record,), _ = hook("status", "--platform", "gemini", "--scope", "project")
    assert (status, record["status"]) == (1, "unreadable")


def test_the_project_is_the_worktree_itself(hook: Any, project: Path, tmp_path: Path) -> None:
    def git(*arguments: str | Path) -> None:
        who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        subprocess.run(["git", "-C", project, *who, *arguments], check=True, capture_output=True)

    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "x")
    git("worktree", "add", "-q", tmp_path / "tree")
    inside = tmp_path / "tree" / "deep"
    inside.mkdir()
    _, (record,), _ = hook("--project-dir", inside, "install", "--platform", "claude")
    assert record["path"] == str(tmp_path / "tree/.claude/settings.json")
    _, (record,), _ = hook("--project-dir", inside, "install", "--platform", "git")
    assert record["path"] == str(project / ".git/hooks/pre-commit")
    assert hook("status")[0] == 0
    _, (record,), _ = hook("uninstall", "--platform", "git")
    assert (record["part"], record["action"]) == ("guard", "removed")


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (["install"], 2, "usage"),
        (["install", "--platform", "emacs"], 2, "usage"),
        (["install", "--platform", "codex", "--scope", "local"], 2, "usage"),
        (["install", "--platform", "git", "--scope", "user"], 2, "usage"),
        (["install", "--platform", "git"], 3, "not_found"),
        (["status", "--platform", "git"], 3, "not_found"),
        (["--project-dir", "/nowhere", "status"], 3, "not_found"),
    ],
)
def test_errors_have_their_status(hook: Any, arguments: list[str], status: int, code: str) -> None:
    found, records, (error,) = hook(*arguments)
    assert (found, records, error["code"]) == (status, [], code)


def test_a_broken_file_is_named_and_left(hook: Any, project: Path) -> None:
    path = project / ".cursor/hooks.json"
    path.parent.mkdir()
    path.write_text('{"version": 1,,}')
    status, records, (error,) = hook("install", "--platform", "cursor")
    assert (status, records, error["line"], error["path"]) == (4, [], 1, str(path))
    assert "nothing was written" in error["hint"]
    assert path.read_text() == '{"version": 1,,}'


def test_a_file_that_may_not_be_written_is_an_error(hook: Any, project: Path) -> None:
    (project / ".claude").write_text("a file is in the way")
    status, _, (error,) = hook("install", "--platform", "claude")
    assert (status, error["code"]) == (1, "system")
