"""The user's rules at the server's door: the verdicts of the table; what is asked about needs a host that asks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from capy_core.errors import Refused
from capy_exec.request import Request
from capy_hook.install.apply import carry_out, putting
from capy_hook.install.plan import parts
from capy_mcp.context import Context
from capy_mcp.tools.rules import check, check_file, host_asks
from policy_table import CODE_ROWS, ROWS, RULE_SETS


def write_rules(project: Path, rules: dict[str, list[str]]) -> None:
    (project / ".claude").mkdir(exist_ok=True)
    (project / ".claude" / "settings.local.json").write_text(json.dumps({"permissions": rules}))


def passes(context: Context, language: str, code: str) -> bool:
    try:
        check(context, Request(language, code, cwd=context.project))
    except Refused:
        return False
    return True


@pytest.mark.parametrize("name", RULE_SETS)
def test_the_policy_table_holds(name: str, project: Path) -> None:
    write_rules(project, RULE_SETS[name])
    context = Context(project)
    rows = [("shell", code, want) for rules, code, want in ROWS if rules == name]
    rows += [(language, code, want) for rules, language, code, want in CODE_ROWS if rules == name]
    wrong = [(code, want) for language, code, want in rows if passes(context, language, code) != (want == "allow")]
    assert wrong == []


def test_what_is_asked_about_runs_where_the_hook_lets_the_host_ask(project: Path) -> None:
    write_rules(project, {"ask": ["Bash(git push:*)", "Read(./secret.txt)"]})
    context = Context(project)
    with pytest.raises(Refused, match=r"wants to be asked.*Bash\(git push:\*\) in .*settings.local.json") as caught:
        check(context, Request("shell", "cd . && git push origin main", cwd=project))
    assert "run it himself" in caught.value.hint
    with pytest.raises(Refused, match="not read"):
        check_file(context, project / "secret.txt")
    carry_out(putting(parts("claude", "user", project)["hooks"]))
    assert host_asks(project)
    check(context, Request("shell", "cd . && git push origin main", cwd=project))
    check_file(context, project / "secret.txt")


def test_a_line_that_only_looks_like_the_hook_is_none(project: Path) -> None:
    forged = {"type": "command", "command": "true; capy-hook pretooluse", "timeout": 10}
    (project / ".claude").mkdir()
    settings = {"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [forged]}]}}
    (project / ".claude" / "settings.json").write_text(json.dumps(settings))
    assert not host_asks(project)
