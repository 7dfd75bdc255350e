from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capy_core.config import load as load_config
from capy_core.globs import overlap, text_matches
from capy_core.permissions import Rules, load, parse_rule
from capy_core.toolrules import judge_tool, judge_url


def write(file: Path, content: object) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return file


def settings_with(**permissions: object) -> dict[str, object]:
    return {"permissions": permissions}


def loaded(project: Path, managed: Path | None = None) -> Rules:
    return load(str(project), managed=(str(managed),) if managed else ())


def texts(rules: Rules) -> tuple[list[str], list[str], list[str]]:
    return [rule.text for rule in rules.deny], [rule.text for rule in rules.ask], [rule.text for rule in rules.allow]


# --- one rule ---


@pytest.mark.parametrize(
    ("text", "tool", "spec"),
    [
        ("Bash", "Bash", ""),
        ("Bash(*)", "Bash", ""),
        ("Bash()", "Bash", ""),
        ("Bash(git push:*)", "Bash", "git push:*"),
        ("Bash(echo (a) [b])", "Bash", "echo (a) [b]"),
        (r"Bash(echo \(a\))", "Bash", "echo (a)"),
        ("Read(./.env)", "Read", "./.env"),
        ("WebFetch(domain:example.com)", "WebFetch", "domain:example.com"),
        ("mcp__github__create_issue", "mcp__github__create_issue", ""),
        ("mcp__github__*", "mcp__github__*", ""),
        ("  Bash(ls)  ", "Bash", "ls"),
    ],
)
def test_a_rule_is_a_tool_and_a_text(text: str, tool: str, spec: str) -> None:
    rule = parse_rule(text)
    assert rule is not None
    assert (rule.tool, rule.spec, rule.text) == (tool, spec, text.strip())


@pytest.mark.parametrize("text", ["", "(ls)", "Bash(ls", "Bash(ls) x", "Ba sh(ls)", "rm -rf"])
def test_what_is_no_rule(text: str) -> None:
    assert parse_rule(text) is None


# --- wildcards ---


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("git *", "git push origin", True),
        ("git *", "git", False),
        ("a*c", "abbc", True),
        ("a*c", "a\nc", True),
        ("a*a", "a", False),
        ("*x*", "yxz", True),
        (r"a\*", "a*", True),
        (r"a\*", "ab", False),
        ("a.b", "axb", False),
        ("[x]+", "[x]+", True),
        ("", "", True),
        ("**", "anything", True),
    ],
)
def test_stars_are_any_run_and_all_else_is_literal(pattern: str, text: str, fits: bool) -> None:
    assert text_matches(pattern, text) is fits


def naive(pattern: str, text: str) -> bool:
    """The definition, by trying everything."""
    if not pattern:
        return not text
    if pattern[0] == "*":
        return any(naive(pattern[1:], text[end:]) for end in range(len(text) + 1))
    return bool(text) and pattern[0] == text[0] and naive(pattern[1:], text[1:])


@given(st.text("ab*", max_size=6), st.text("ab", max_size=6))
def test_matching_is_what_trying_everything_finds(pattern: str, text: str) -> None:
    assert text_matches(pattern, text) == naive(pattern, text)


@given(st.text("ab*", max_size=4), st.text("ab*", max_size=4))
def test_two_patterns_overlap_when_a_text_fits_both(one: str, other: str) -> None:
    candidates = {""}
    for _ in range(7):
        candidates |= {text + char for text in candidates for char in "ab"}
    assert overlap(one, other) == any(naive(one, text) and naive(other, text) for text in candidates)


def test_hostile_patterns_take_no_time() -> None:
    assert not text_matches("*a" * 2000 + "b", "a" * 20_000)


# --- where rules come from ---


def test_no_settings_no_rules(project: Path) -> None:
    rules = loaded(project)
    assert not rules
    assert (texts(rules), rules.notes, rules.unreadable) == (([], [], []), (), "ask")


def test_lists_of_all_levels_add_up_in_the_order_of_precedence(project: Path, home: Path, tmp_path: Path) -> None:
    managed = tmp_path / "managed"
    write(managed / "managed-settings.json", settings_with(deny=["Bash(a)"]))
    write(managed / "managed-settings.d" / "20.json", settings_with(deny=["Bash(c)"]))
    write(managed / "managed-settings.d" / "10.json", settings_with(deny=["Bash(b)"]))
    write(project / ".claude" / "settings.local.json", settings_with(deny=["Bash(d)"]))
    shared = write(project / ".claude" / "settings.json", settings_with(deny=["Bash(e)"], allow=["Bash(x)"]))
    write(home / ".claude" / "settings.json", settings_with(deny=["Bash(f)"], ask=["Read(y)"]))
    rules = loaded(project, managed)
    assert texts(rules) == ([f"Bash({name})" for name in "abcdef"], ["Read(y)"], ["Bash(x)"])
    assert [rule.source for rule in rules.allow] == [str(shared)]
    assert [rule.base for rule in rules.deny[2:]] == [str(managed), str(project), str(project), str(home / ".claude")]


def test_the_administrator_may_be_the_only_one_whose_rules_count(project: Path, home: Path, tmp_path: Path) -> None:
    managed = tmp_path / "managed"
    write(
        managed / "managed-settings.json", {"allowManagedPermissionRulesOnly": True, **settings_with(allow=["Bash(a)"])}
    )
    write(project / ".claude" / "settings.json", settings_with(deny=["Bash(b)"], allow=["Bash(c)"]))
    write(home / ".config" / "capy" / "config.toml", '[policy]\nallow = ["Bash(d)"]\ndeny = ["Bash(e)"]\n')
    assert texts(loaded(project, managed)) == (["Bash(e)"], [], ["Bash(a)"])


def test_the_users_folder_can_be_elsewhere(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "c"))
    write(tmp_path / "c" / "settings.json", settings_with(deny=["Bash(a)"]))
    rules = loaded(project)
    assert (texts(rules)[0], rules.deny[0].base) == (["Bash(a)"], str(tmp_path / "c"))


def test_a_linked_worktree_has_the_main_ones_local_rules_too(tmp_path: Path) -> None:
    main, worktree = tmp_path / "main", tmp_path / "wt"
    main.mkdir()
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "x"], ["worktree", "add", "-q", worktree]):
        subprocess.run(["git", *identity, *words], cwd=main, check=True, capture_output=True)
    write(main / ".claude" / "settings.local.json", settings_with(deny=["Bash(a)"]))
    write(main / ".claude" / "settings.json", settings_with(deny=["Bash(b)"]))
    write(main / ".capy.toml", '[policy]\ndeny = ["Bash(c)"]\n')
    assert texts(loaded(worktree))[0] == ["Bash(a)", "Bash(c)"]


# --- files that cannot be read ---


@pytest.mark.parametrize(
    "content",
    ["{", "[]", '"x"', '{"permissions": []}',
     '{"permissions": {"deny": "Bash"}}', '{"permissions": {"deny": ["Bash(x"]}}',
     '{"permissions": {"ask": [1]}}', '{"permissions": {"deny": ["rm -rf"]}}', "[" * 100_000],
)  # fmt: skip
def test_rules_that_cannot_be_known_are_told(project: Path, content: str) -> None:
    file = write(project / ".claude" / "settings.json", content)
    rules = loaded(project)
    assert len(rules.notes) == 1
    assert str(file) in rules.notes[0]
    assert rules


@pytest.mark.parametrize("content", ["", " \n", "{}", '{"permissions": {}}', '\ufeff{"hooks": {}}'])
def test_files_without_rules_are_no_matter(project: Path, content: str) -> None:
    write(project / ".claude" / "settings.json", content)
    assert not loaded(project)


def test_an_allow_that_cannot_be_read_allows_nothing(project: Path) -> None:
    write(project / ".claude" / "settings.json", settings_with(allow=["Bash(x", 3, "Bash(ls)"]))
    rules = loaded(project)
    assert (texts(rules)[2], rules.notes) == (["Bash(ls)"], ())


def test_a_pipe_in_a_files_place_does_not_block(project: Path) -> None:
    (project / ".claude").mkdir()
    os.mkfifo(project / ".claude" / "settings.json")
    assert "not a regular file" in loaded(project).notes[0]


def test_a_folder_in_a_files_place_is_told(project: Path) -> None:
    (project / ".claude" / "settings.json").mkdir(parents=True)
    assert len(loaded(project).notes) == 1


# --- Codex ---

RULES = """
# what may run
prefix_rule(pattern = ["git", ["push", "fetch"]], decision = "forbidden", justification = "no network")
prefix_rule(pattern = ["npm", "publish"], decision = "prompt", match = ["npm publish"], not_match = [["npm", "x"]])
prefix_rule(
    pattern = ["ls"],
)
host_executable(name = "git", paths = ["/usr/bin/git"])
"""


def test_the_rules_of_codex(project: Path, home: Path) -> None:
    file = write(home / ".codex" / "rules" / "default.rules", RULES)
    write(project / ".codex" / "rules" / "a.rules", 'prefix_rule(pattern=["rm"], decision="forbidden")\n')
    rules = loaded(project)
    assert [rule.prefix for rule in rules.deny] == [(("git",), ("push", "fetch")), (("rm",),)]
    assert [rule.prefix for rule in rules.ask] == [(("npm",), ("publish",))]
    assert [rule.prefix for rule in rules.allow] == [(("ls",),)]
    assert rules.deny[0].text == "prefix_rule(pattern=['git', ['push', 'fetch']])"
    assert (rules.deny[0].tool, rules.deny[0].source, rules.notes) == ("Bash", str(file), ())


@pytest.mark.parametrize(
    "text",
    ["prefix_rule(pattern=[", "prefix_rule(pattern=words)", "[prefix_rule(pattern=[x]) for x in y]", "prefix_rule()",
     'prefix_rule(pattern="rm")', 'prefix_rule(pattern=["rm"], decision="never")', "prefix_rule(pattern=[])",
     'def f():\n    prefix_rule(pattern=["rm"])\n', "x" * 3 + "(" * 500],
)  # fmt: skip
def test_codex_rules_that_cannot_be_read_are_told_and_never_run(project: Path, text: str) -> None:
    file = write(project / ".codex" / "rules" / "a.rules", text)
    rules = loaded(project)
    assert (texts(rules), len(rules.notes)) == (([], [], []), 1)
    assert str(file) in rules.notes[0]


# --- capy's own ---


def test_a_project_may_only_forbid(project: Path, home: Path) -> None:
    write(home / ".config/capy/config.toml", '[policy]\ndeny = ["Bash(a)"]\nallow = ["Bash(b)"]\nunreadable = "ask"\n')
    write(
        project / ".capy.toml",
        '[policy]\ndeny = ["Bash(c)"]\nask = ["Bash(d)"]\nallow = ["Bash"]\nunreadable = "allow"\n',
    )
    rules = loaded(project)
    assert texts(rules) == (["Bash(a)", "Bash(c)"], ["Bash(d)"], ["Bash(b)"])
    assert rules.unreadable == "ask"
    write(project / ".capy" / "config.toml", '[policy]\nunreadable = "deny"\n')
    assert loaded(project).unreadable == "deny"


@pytest.mark.parametrize(
    "text", ["[policy\n", "policy = 3\n", '[policy]\nunreadable = "never"\n', '[policy]\ndeny = "Bash"\n',
             '[policy]\ndeny = ["Bash("]\n', "[policy]\nunreadable = []\n"],
)  # fmt: skip
def test_settings_of_ours_that_cannot_be_read_are_told(project: Path, text: str) -> None:
    write(project / ".capy.toml", text)
    rules = loaded(project)
    assert (len(rules.notes), rules.unreadable) == (1, "ask")


rule_texts = st.lists(st.sampled_from(["Bash(a)", "Bash(b:*)", "Read(c)", "Edit"]), max_size=3)
policies = st.fixed_dictionaries(
    {},
    optional={
        "deny": rule_texts,
        "ask": rule_texts,
        "allow": rule_texts,
        "unreadable": st.sampled_from(["allow", "ask", "deny"]),
    },
)


@given(st.lists(policies, min_size=3, max_size=3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_both_readers_of_our_settings_agree(project: Path, home: Path, levels: list[dict[str, Any]]) -> None:
    places = (home / ".config/capy/config.toml", project / ".capy/config.toml", project / ".capy.toml")
    for file, level in zip(places, levels, strict=True):
        write(file, "[policy]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in level.items()))
    rules, policy = loaded(project), load_config(project, lambda *_: None).policy
    assert tuple(tuple(dict.fromkeys(listed)) for listed in texts(rules)) == (
        policy.deny, policy.ask, tuple(dict.fromkeys(policy.allow)),
    )  # fmt: skip
    assert rules.unreadable == policy.unreadable


# --- other tools ---

TOOLS = Rules(
    deny=[
        rule for text in ("mcp__db", "mcp__*__delete_*", "WebFetch(domain:evil.example)") if (rule := parse_rule(text))
    ],
    ask=[rule for text in ("mcp__git__push", "WebFetch(domain:*.example.com)") if (rule := parse_rule(text))],
    allow=[
        rule
        for text in ("mcp__git__*", "mcp__*", "*", "WebFetch(domain:docs.*)", "WebFetch(domain:Python.org)")
        if (rule := parse_rule(text))
    ],
)


@pytest.mark.parametrize(
    ("name", "decision", "by_rule"),
    [
        ("mcp__db", "deny", "mcp__db"),
        ("mcp__db__query", "deny", "mcp__db"),
        ("mcp__database__query", "allow", None),
        ("mcp__git__delete_branch", "deny", "mcp__*__delete_*"),
        ("mcp__git__push", "ask", "mcp__git__push"),
        ("mcp__git__pull", "allow", "mcp__git__*"),
        ("Task", "allow", None),
    ],
)
def test_tools_by_name_server_and_pattern(name: str, decision: str, by_rule: str | None) -> None:
    verdict = judge_tool(name, TOOLS)
    assert (verdict.decision, verdict.rule and verdict.rule.text) == (decision, by_rule)


@pytest.mark.parametrize(
    ("url", "decision", "by_rule"),
    [
        ("https://EVIL.example./x", "deny", "WebFetch(domain:evil.example)"),
        ("https://user@evil.example:8443/", "deny", "WebFetch(domain:evil.example)"),
        ("https://www.evil.example/", "allow", None),
        ("https://a.b.example.com/", "ask", "WebFetch(domain:*.example.com)"),
        ("https://example.com/", "allow", None),
        ("https://docs.org/", "allow", "WebFetch(domain:docs.*)"),
        ("https://docs.a.org/", "allow", None),
        ("https://python.org/", "allow", "WebFetch(domain:Python.org)"),
        ("http://[broken", "allow", None),
    ],
)
def test_pages_by_their_host(url: str, decision: str, by_rule: str | None) -> None:
    verdict = judge_url(url, TOOLS)
    assert (verdict.decision, verdict.rule and verdict.rule.text) == (decision, by_rule)


# --- the hook's time ---


def test_loading_imports_nothing_that_is_slow(python: Any, project: Path) -> None:
    write(project / ".claude" / "settings.json", settings_with(deny=["Bash(git push:*)", "Read(~/.ssh/**)"]))
    code = (
        "import sys; before = set(sys.modules)\n"
        "from capy_core.permissions import load\nfrom capy_core.pathrules import judge\n"
        f"rules = load({str(project)!r}, managed=())\n"
        f"assert judge('x', rules, cwd={str(project)!r}, access='read').decision == 'allow' and len(rules.deny) == 2\n"
        "slow = {'re', 'json', 'dataclasses', 'pathlib', 'typing', 'tomllib', 'fnmatch', 'ast', 'click', 'orjson'}\n"
        "print(sorted((set(sys.modules) - before) & slow))"
    )
    assert python(code).stdout == b"[]\n"
