"""`capy-exec check`, and what run and batch refuse: the installed command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import Tool

RULES = {"deny": ["Bash(sudo:*)", "Read(.env)"], "ask": ["Bash(true:*)"], "allow": ["Bash(git:*)"]}


@pytest.fixture
def source(project: Path) -> Path:
    """The settings file of a project with rules."""
    file = project / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"permissions": RULES}), encoding="utf-8")
    (project / ".env").write_text("KEY=1\n", encoding="utf-8")
    return file


def record(output: bytes) -> dict[str, Any]:
    (line,) = output.splitlines()
    value: dict[str, Any] = json.loads(line)
    return value


def test_a_record_in_a_pipe(source: Path, tool: Tool) -> None:
    done = tool("capy-exec", "check", stdin=b"ls; sudo ls -l\n")
    assert (done.returncode, done.stderr) == (7, b"")
    assert record(done.stdout) == {
        "schema": "capy.exec.verdict/1",
        "decision": "deny",
        "reason": f"Bash(sudo:*) in {source} forbids it",
        "rule": "Bash(sudo:*)",
        "source": str(source),
        "command": "sudo ls -l",
        "language": "shell",
    }


@pytest.mark.parametrize(
    ("code", "decision", "rule", "status"),
    [
        ("true x", "ask", "Bash(true:*)", 1),
        ("git log", "allow", "Bash(git:*)", 0),
        ("id", "allow", None, 0),
        ("", "allow", None, 0),
    ],
)
def test_the_other_answers(source: Path, tool: Tool, code: str, decision: str, rule: str | None, status: int) -> None:
    done = tool("capy-exec", "check", stdin=code.encode())
    value = record(done.stdout)
    assert (value["decision"], value["rule"], done.returncode) == (decision, rule, status)


def test_text_for_people(source: Path, tool: Tool) -> None:
    done = tool("capy-exec", "check", "--format", "text", "-c", "sudo ls")
    lines = done.stdout.decode().splitlines()
    assert lines[0] == f"deny: Bash(sudo:*) in {source} forbids it"
    assert [line.split() for line in lines[1:]] == [
        ["command", "sudo", "ls"], ["rule", "Bash(sudo:*)"], ["source", str(source)],
    ]  # fmt: skip


def test_other_languages_files_and_folders(source: Path, project: Path, tool: Tool) -> None:
    (project / "x.py").write_text("import os\nos.system('sudo x')\n", encoding="utf-8")
    assert tool("capy-exec", "check", "--language", "py", "x.py").returncode == 7
    assert tool("capy-exec", "check", "--language", "cobol", "x.py").returncode == 2
    assert tool("capy-exec", "check", "--cwd", "/usr", "-c", "cat ../.env").returncode == 0


def test_rules_that_cannot_be_read_are_told(source: Path, tool: Tool) -> None:
    source.write_text("{", encoding="utf-8")
    done = tool("capy-exec", "check", "-c", "ls")
    assert (done.returncode, record(done.stdout)["decision"]) == (1, "ask")
    warning = record(done.stderr)
    assert (warning["schema"], warning["code"]) == ("capy.warning/1", "unreadable_rules")
    assert str(source) in warning["message"] and str(source) in record(done.stdout)["reason"]


def test_secrets_of_a_command_are_not_repeated(source: Path, tool: Tool) -> None:
    token = "gh" + "p_" + "a1B2" * 9
    done = tool("capy-exec", "check", "-c", f"sudo deploy {token}")
    assert token.encode() not in done.stdout


def refused(done: Any) -> tuple[int, str, str, str]:
    error = record(done.stderr)
    assert (error["schema"], bool(error["hint"]), done.stdout) == ("capy.error/1", True, b"")
    return done.returncode, error["code"], error["rule"], error["source"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("shell", "-c", "touch made; sudo ls"),
        ("python", "-c", "import os; open('made', 'w'); os.system('sudo ls')"),
        ("shell", "--background", "-c", "touch made; sudo ls"),
    ],
)
def test_denied_code_does_not_run(source: Path, project: Path, tool: Tool, arguments: tuple[str, ...]) -> None:
    assert refused(tool("capy-exec", *arguments)) == (7, "refused", "Bash(sudo:*)", str(source))
    assert not (project / "made").exists()


def test_what_is_asked_about_runs(source: Path, tool: Tool) -> None:
    assert tool("capy-exec", "shell", "-c", "true").returncode == 0


def test_a_denied_file_is_no_input(source: Path, project: Path, tool: Tool) -> None:
    (project / "link").symlink_to(".env")
    wanted = (7, "refused", "Read(.env)", str(source))
    assert refused(tool("capy-exec", "python", "-c", "print(FILE_CONTENT)", "--file", ".env")) == wanted
    assert refused(tool("capy-exec", "python", "-c", "print(FILE_CONTENT)", "--file", "link")) == wanted
    assert refused(tool("capy-exec", "shell", ".env")) == wanted


def test_a_denied_file_is_not_indexed(source: Path, project: Path, key: str, tool: Tool) -> None:
    assert refused(tool("capy-store", "index", ".env")) == (7, "refused", "Read(.env)", str(source))
    (project / "notes.md").write_text("# Notes\n\nNothing secret.\n", encoding="utf-8")
    several = tool("capy-store", "index", ".env", "notes.md")
    assert several.returncode == 1
    assert (record(several.stdout)["source"], record(several.stderr)["path"]) == ("notes.md", ".env")


def test_a_denied_item_of_a_batch_is_an_error_and_the_others_run(source: Path, project: Path, tool: Tool) -> None:
    items = [
        {"command": "echo one"},
        {"command": "sudo ls", "label": "second"},
        {"language": "python", "code": "print(FILE_CONTENT)", "file": ".env"},
        {"command": "echo four"},
    ]
    done = tool("capy-exec", "batch", stdin="".join(json.dumps(item) + "\n" for item in items).encode())
    assert [json.loads(line)["stdout"] for line in done.stdout.splitlines()] == ["one\n", "four\n"]
    errors = [json.loads(line) for line in done.stderr.splitlines()]
    assert [(error["code"], error["item"], error["rule"]) for error in errors] == [
        ("refused", 2, "Bash(sudo:*)"), ("refused", 3, "Read(.env)"),
    ]  # fmt: skip
    assert done.returncode == 1


def test_a_project_without_rules_loads_nothing_that_judges(project: Path, python_modules: Any) -> None:
    assert not {
        name for name in python_modules("shell", "-c", "true") if "policy.decide" in name or "tree_sitter" in name
    }


@pytest.fixture
def python_modules(tmp_path: Path) -> Any:
    """The modules that a run of capy-exec loaded."""
    import subprocess
    import sys

    def run(*arguments: str) -> set[str]:
        report = tmp_path / "modules"
        code = (
            "import sys\nfrom capy_exec.cli import main\n"
            f"sys.argv = ['capy-exec', *{arguments!r}]\n"
            "try:\n    main()\nexcept SystemExit:\n    pass\n"
            f"print(*sys.modules, file=open({str(report)!r}, 'w'))\n"
        )
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        return set(report.read_text().split())

    return run
