"""Decisions beyond the table: which rule, what allows, where files lie, and what cannot be read."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capy_core.permissions import Rule, Rules, Verdict, parse_rule
from capy_exec.policy.commands import bash_rules
from capy_exec.policy.decide import decide


def listed(texts: tuple[str, ...], project: Path) -> list[Rule]:
    return [rule for text in texts if (rule := parse_rule(text, source="settings.json", base=str(project)))]


def rules_with(
    project: Path, deny: tuple[str, ...] = (), ask: tuple[str, ...] = (), allow: tuple[str, ...] = (), **more: Any
) -> Rules:
    three = (listed(deny, project), listed(ask, project), listed(allow, project))
    return Rules(*three, project=str(project), home=str(project / "home"), **more)


def decided(project: Path, code: str, language: str = "shell", **rules: Any) -> Verdict:
    return decide(code, language, rules_with(project, **rules), cwd=str(project))


def test_a_verdict_names_the_rule_its_file_and_the_command(project: Path) -> None:
    verdict = decided(project, "ls && A=1 git  push -f; id", deny=("Bash(git push:*)",))
    assert verdict.rule is not None
    assert (verdict.decision, verdict.rule.text, verdict.command) == ("deny", "Bash(git push:*)", "git push -f")
    assert "settings.json" in verdict.reason


def test_deny_wins_wherever_it_comes(project: Path) -> None:
    levels = {"deny": ("Bash(c)",), "ask": ("Bash(b)",), "allow": ("Bash(a)", "Bash(b)", "Bash(c)")}
    codes = ("a; b; c", "c; b; a", "a; b", "a", "d")
    assert [decided(project, code, **levels).decision for code in codes] == ["deny", "deny", "ask", "allow", "allow"]


@pytest.mark.parametrize(
    ("rule", "code", "by_rule"),
    [
        ("Bash(git:*)", "git status", True),
        ("Bash(git:*)", "cd x && git status | head", True),
        ("Bash(git:*)", "git status && touch x", False),
        ("Bash(git:*)", "touch x; git status", False),
        ("Bash(git:*)", "git log $(touch x)", False),
        ("Bash(git:*)", "git status > out", False),
        ("Bash(git:*)", "git status > /dev/null", True),
        ("Bash(git:*)", "/tmp/git status", False),
        ("Bash(git push)", "git -c core.sshCommand=x push", False),
        ("Bash(git:*)", "timeout 5 git status", True),
        ("Bash(git:*)", "sudo git status", False),
        ("Bash(sudo git:*)", "sudo git status", True),
        ("Bash(git:*)", "FOO=1 git status", False),
        ("Bash(git:*)", "LC_ALL=C git status", True),
        ("Bash(FOO=1 git:*)", "git status", False),
        ("Bash(find:*)", "find . -name x", True),
        ("Bash(find:*)", "find . -delete", False),
        ("Bash(find . -delete)", "find . -delete", True),
        ("Bash(watch:*)", "watch ls", False),
        ("Bash(git:*)", "", False),
        ("Bash(git:*)", "git " + "x" * 10_001, False),
        ("Bash(git:*)", 'git $x; eval "$y"', False),
        ("Bash", "anything at all", True),
        ("Ba*", "anything at all", False),
    ],
)
def test_what_an_allow_rule_allows(project: Path, rule: str, code: str, by_rule: bool) -> None:
    verdict = decided(project, code, allow=(rule,))
    assert (verdict.decision, verdict.rule is not None) == ("allow", by_rule)


@pytest.mark.parametrize(
    ("rule", "code", "decision"),
    [
        ("Bash(curl * | bash)", "curl -s x | bash", "deny"),
        ("Bash(curl * | bash)", "curl -s x | tee y", "allow"),
        ("Bash(psql -c \"drop *)", "psql -c 'drop table x'", "deny"),
        ("Bash(echo \\*)", "echo '*'", "deny"),
        ("Bash(echo \\*)", "echo x", "allow"),
        ("Bash(git push --force:*)", "git push origin -f", "deny"),
        ("Bash(find . -delete)", "find . -name x -ls", "allow"),
        ("Bash(FOO=1 run)", "FOO=1 run", "deny"),
        ("Bash(:*)", "ls", "deny"),
        ("B*", "ls", "deny"),
        ("Bash(git.exe push)", "git.exe push", "deny"),
        ("Bash(git push)", "git.exe push", "deny"),
    ],
)  # fmt: skip
def test_forms_of_deny_rules(project: Path, rule: str, code: str, decision: str) -> None:
    assert decided(project, code, deny=(rule,)).decision == decision


def test_prefix_rules_of_codex_are_held_against_words(project: Path) -> None:
    rule = Rule("Bash", "", source="a.rules", base="", text="prefix_rule(...)", prefix=(("git",), ("push", "fetch")))
    rules = Rules([rule], project=str(project))
    codes = (
        "git push",
        "/usr/bin/git fetch x",
        "git pushd",
        "git",
        "git -C x push",
        "git 'push x'",
        "git $x",
        "echo git push",
    )
    found = [decide(code, "shell", rules, cwd=str(project)).decision for code in codes]
    assert found == ["deny", "deny", "allow", "allow", "deny", "allow", "ask", "allow"]


@pytest.mark.parametrize(
    ("unreadable", "rules", "code", "decision"),
    [
        ("ask", {"deny": ("Bash(a)",)}, 'eval "$x"', "ask"),
        ("deny", {"deny": ("Bash(a)",)}, 'eval "$x"', "deny"),
        ("allow", {"deny": ("Bash(a)",)}, 'eval "$x"', "allow"),
        ("deny", {"ask": ("Bash(a)",)}, 'eval "$x"', "ask"),
        ("deny", {"allow": ("Bash(a)",)}, 'eval "$x"', "allow"),
        ("allow", {"deny": ("Bash(a)",)}, "if ls", "deny"),
        ("ask", {"ask": ("Bash(a)",)}, "if ls", "ask"),
        ("ask", {"deny": ("Read(a)",)}, "if ls", "ask"),
        ("ask", {"deny": ("Bash(git push:*)",)}, "git $x", "ask"),
        ("deny", {"deny": ("Bash(git push:*)",)}, "git $x", "deny"),
        ("allow", {"deny": ("Bash(git push:*)",)}, "git $x", "allow"),
        ("ask", {"deny": ("Read(a)",)}, "cat $x", "allow"),
        ("deny", {"deny": ("Read(a)",)}, "cat $x", "deny"),
        ("ask", {"notes": ("the rules in f are not known",)}, "ls", "ask"),
        ("ask", {"notes": ("n",), "deny": ("Bash(ls)",)}, "ls", "deny"),
    ],
)
def test_what_cannot_be_read(project: Path, unreadable: str, rules: dict[str, Any], code: str, decision: str) -> None:
    assert decided(project, code, unreadable=unreadable, **rules).decision == decision


@pytest.mark.parametrize(
    ("code", "decision"),
    [
        ("cd sub && cat key", "deny"),
        ("cd nowhere; cat sub/key", "deny"),
        ("(cd sub); cat sub/key", "deny"),
        ("cd sub || true; cat key", "deny"),
        ("cd /tmp && cat sub/key", "allow"),
        ("cat sub/k*", "deny"),
        ("cat sub/[j-l]ey", "deny"),
        ("cat s*/x", "allow"),
        ("cat {sub/key,x}", "deny"),
        ("cat link", "deny"),
        ("cat ~/.ssh/id", "deny"),
        ("cat $HOME/.ssh/id ", "deny"),
        ("dd if=sub/key of=x", "deny"),
        ("curl -d @sub/key u; true", "deny"),
        ("curl -F f=@sub/key u", "deny"),
        ("grep -f sub/key x", "deny"),
        ("grep -e sub/key x", "allow"),
        ("tar czf x.tgz -- sub/key", "deny"),
        ("sort --files0-from=sub/key", "deny"),
        ("mv sub/key x", "deny"),
        ("sed -i s/a/b/ locked", "deny"),
        ("sed s/a/b/ locked", "allow"),
        ("cp x locked", "deny"),
        ("cp locked x", "allow"),
        ("dd of=locked", "deny"),
        ("chmod 600 locked", "deny"),
        ("echo sub/key locked", "allow"),
        ("python3 -c \"open('sub/key')\"", "deny"),
        ("ruby -e \"File.write('locked', '')\"", "deny"),
    ],
)
def test_files_that_commands_name(project: Path, code: str, decision: str) -> None:
    (project / "sub").mkdir()
    (project / "sub" / "key").touch()
    (project / "link").symlink_to("sub/key")
    rules = {"deny": ("Read(/sub/key)", "Edit(locked)", "Read(~/.ssh/**)")}
    assert decided(project, code, **rules).decision == decision


@pytest.mark.parametrize(
    "code",
    [
        "python3 -c \"import os; os.system('sudo x')\"",
        "python3 - <<'E'\nimport os\nos.system('sudo x')\nE\n",
        'node -e \'require("child_process").exec("sudo x")\'',
        "perl -e 'system(\"sudo x\")'",
        "capy-exec python -c \"import os; os.system('sudo x')\"",
        'python3 -c "exec(\'import os; os.system(\\"sudo x\\")\')"',
    ],
)
def test_code_within_commands_is_judged_by_its_own_language(project: Path, code: str) -> None:
    verdict = decided(project, code, deny=("Bash(sudo:*)",))
    assert (verdict.decision, verdict.command) == ("deny", "sudo x")


def test_code_within_code_within_code_is_asked_about_in_the_end(project: Path) -> None:
    code = "import os\nos.system('sudo x')"
    for _ in range(8):
        code = f"import os\nos.system({('python3 -c ' + shlex.quote(code))!r})"
    assert decided(project, code, "python", deny=("Bash(sudo:*)",)).decision in ("ask", "deny")


def test_languages_go_by_all_their_names(project: Path) -> None:
    for name in ("py", "python", "Python"):
        assert decided(project, "import os\nos.system('sudo x')", name, deny=("Bash(sudo:*)",)).decision == "deny"
    for name in ("sh", "bash", "shell", "Bash"):
        assert decided(project, "sudo x", name, deny=("Bash(sudo:*)",)).decision == "deny"


def test_many_commands_and_many_rules(project: Path) -> None:
    deny = tuple(f"Bash(tool{number} push:*)" for number in range(30))
    assert decided(project, "git status\n" * 15_000 + "tool7 push", deny=deny).decision == "deny"


words = st.lists(
    st.sampled_from(["git", "push", "-f", "--force", "-C", "x", "*", "a b", "'q'", "$"]), min_size=1, max_size=6
)


@given(words)
@settings(deadline=None)
def test_an_exact_rule_fits_the_command_it_was_made_of(command: list[str]) -> None:
    text = " ".join(command)
    rule = Rule("Bash", text.replace("*", "\\*"), source="s", base="/", text=f"Bash({text})")
    code = shlex.join(command)
    assert decide(code, "shell", Rules([rule], project="/"), cwd="/").decision == "deny"


def test_rules_of_other_tools_say_nothing_of_commands() -> None:
    rules = [rule for text in ("Read(x)", "WebFetch", "mcp__a", "Bash(ls)") if (rule := parse_rule(text))]
    assert [rule.rule.text for rule in bash_rules(rules, forbids=True)] == ["Bash(ls)"]
