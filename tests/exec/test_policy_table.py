"""Every row of the table by `decide`, and some of each kind through the installed command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from capy_core.permissions import Rules, load
from capy_exec.policy.decide import decide
from conftest import Tool
from policy_table import CODE_ROWS, ROWS, RULE_SETS

ALL = [*((name, "shell", code, decision) for name, code, decision in ROWS), *CODE_ROWS]
EXIT = {"allow": 0, "ask": 1, "deny": 7}


def rules_of(name: str, project: Path) -> Rules:
    file = project / ".claude" / "settings.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"permissions": RULE_SETS[name]}), encoding="utf-8")
    return load(str(project), managed=())


@pytest.mark.parametrize("name", RULE_SETS)
def test_each_row_is_decided_as_the_table_says(name: str, project: Path) -> None:
    rules = rules_of(name, project)
    rows = [row for row in ALL if row[0] == name]
    wrong = [
        (code, wanted, verdict)
        for _, language, code, wanted in rows
        if (verdict := decide(code, language, rules, cwd=str(project))).decision != wanted
    ]
    assert rows
    assert wrong == []


@pytest.mark.parametrize("row", ALL[:: len(ALL) // 12], ids=lambda row: f"{row[0]}-{row[3]}")
def test_the_command_says_the_same(row: tuple[str, str, str, str], project: Path, tool: Tool) -> None:
    name, language, code, wanted = row
    rules_of(name, project)
    done = tool("capy-exec", "check", "--language", language, stdin=code.encode())
    record = json.loads(done.stdout)
    assert (record["decision"], record["language"], done.returncode) == (wanted, language, EXIT[wanted])
