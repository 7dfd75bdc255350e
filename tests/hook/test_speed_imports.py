"""A hook is a process for each tool call: what each path loads, not how many milliseconds it took."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "json", "re", "typing", "enum", "dataclasses", "pathlib", "click", "orjson", "tomllib", "importlib.metadata",
    "hashlib", "urllib.parse", "subprocess", "logging", "tree_sitter", "select", "ast", "tempfile",
    "shutil", "threading",
}  # fmt: skip

RUN = """
import sys
before = set(sys.modules)
import capy_hook.main as hook
def leave(status):
    print(*sorted(set(sys.modules) - before), file=open({report!r}, "w"))
    import os
    os._exit(status)
hook._leave = leave
sys.argv = ["capy-hook", *{argv!r}]
hook.main()
"""


def loaded(tmp_path: Path, *argv: str, **payload: object) -> set[str]:
    """The modules that a hook's process loads, beyond those of a bare interpreter."""
    report = tmp_path / "modules.txt"
    code = RUN.format(argv=list(argv), report=str(report))
    data = json.dumps({"session_id": "s", "cwd": str(tmp_path), **payload}).encode()
    subprocess.run([sys.executable, "-S", "-c", PATH + code], input=data, check=True, capture_output=True)
    return set(report.read_text().split())


PATH = f"import sys; sys.path[:] = {sys.path!r}\n"


@pytest.mark.parametrize("event", ["posttooluse", "precompact", "userpromptsubmit", "nonsense", "sessionstart"])
def test_events_without_work_load_nothing_heavy(tmp_path: Path, project: Path, event: str) -> None:
    assert loaded(tmp_path, event) & (HEAVY | {"capy_exec"}) == set()


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Read", {"file_path": "x"}),
        ("Grep", {"pattern": "x"}),
        ("Bash", {"command": "ls -la"}),
        ("Agent", {"prompt": "Find it."}),
        ("Write", {"file_path": "x"}),
        ("WebFetch", {"url": "https://example.com/a"}),
        ("mcp__capy__capy_execute", {"language": "python", "code": "print(1)"}),
    ],
)
def test_what_needs_no_parsing_loads_nothing_heavy(
    tmp_path: Path, project: Path, tool: str, arguments: dict[str, object]
) -> None:
    assert loaded(tmp_path, "pretooluse", tool_name=tool, tool_input=arguments) & (HEAVY | {"capy_exec"}) == set()


def test_shell_is_parsed_where_a_network_word_makes_it_necessary(tmp_path: Path, project: Path) -> None:
    modules = loaded(tmp_path, "pretooluse", tool_name="Bash", tool_input={"command": "curl https://example.com"})
    assert "capy_exec.policy.shell" in modules
    assert modules & {"click", "orjson", "pathlib", "dataclasses", "importlib.metadata", "tomllib"} == set()


def test_shell_is_parsed_where_a_rule_makes_it_necessary(tmp_path: Path, project: Path) -> None:
    (project / ".claude").mkdir()
    (project / ".claude" / "settings.json").write_text('{"permissions": {"deny": ["Bash(sudo:*)"]}}')
    modules = loaded(tmp_path, "pretooluse", tool_name="Bash", tool_input={"command": "ls"})
    assert "capy_exec.policy.decide" in modules
    assert modules & {"click", "orjson", "dataclasses", "importlib.metadata", "tomllib"} == set()


@pytest.mark.parametrize(
    "text", ["[store]\nauto_prune = false\n", '[hook]\nguidance = true\nallow = ["curl http://a*"]\n']
)
def test_settings_without_our_section_or_with_a_plain_one_load_no_toml(
    tmp_path: Path, project: Path, text: str
) -> None:
    (project / ".capy.toml").write_text(text)
    modules = loaded(tmp_path, "pretooluse", tool_name="Read", tool_input={"file_path": "x"})
    assert modules & HEAVY == set()
