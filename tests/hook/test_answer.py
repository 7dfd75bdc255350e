"""The user's rules first, then redirects, then advice; and nothing that loosens a rule."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capy_core.permissions import load
from capy_exec.policy.decide import decide
from capy_hook.adapters import claude
from capy_hook.answer import answer
from capy_hook.event import Verdict
from capy_hook.routing import TAG, block
from policy_table import ROWS, RULE_SETS


@pytest.fixture
def ask(project: Path) -> Callable[..., Verdict]:
    """`ask("Bash", command="ls")` -> the verdict, in this process."""

    def run(tool: str, session: str = "", **arguments: object) -> Verdict:
        payload = {"tool_name": tool, "tool_input": arguments, "session_id": session, "cwd": str(project)}
        return answer(claude.read(payload, "pretooluse"))

    return run


EXPECTED = {"allow": ("none", "context"), "ask": ("ask",), "deny": ("deny",)}


@pytest.mark.parametrize("rule_set", RULE_SETS)
def test_the_policy_table_holds_in_the_hook(
    rule_set: str, ask: Callable[..., Verdict], rules: Callable[..., Path], project: Path
) -> None:
    """Redirects are off, as they speak of commands that no rule speaks of."""
    rules(**RULE_SETS[rule_set])
    (project / ".capy.toml").write_text("[hook]\nredirect = []\n")
    wrong = []
    for name, code, expected in ROWS:
        if name != rule_set:
            continue
        direct = decide(code, "shell", load(str(project)), cwd=str(project)).decision
        for tool, arguments in (
            ("Bash", {"command": code}),
            ("mcp__capy__capy_execute", {"language": "shell", "code": code}),
            ("mcp__capy__capy_batch_execute", {"commands": [{"label": "a", "command": "# first"}, {"command": code}]}),
        ):
            verdict = ask(tool, **arguments)
            if verdict.kind not in EXPECTED[direct] or direct != expected:
                wrong.append((tool, code, expected, direct, verdict.kind))
    assert wrong == []


@pytest.mark.parametrize("row", [row for row in ROWS if row[2] != "allow"][::20])
def test_the_process_gives_the_table_s_verdict(
    row: tuple[str, str, str], hook: Callable[..., Any], rules: Callable[..., Path]
) -> None:
    rules(**RULE_SETS[row[0]])
    said = hook("pretooluse", tool_name="Bash", tool_input={"command": row[1]})["hookSpecificOutput"]
    assert said["permissionDecision"] == row[2]


def test_a_refusal_names_rule_and_file(ask: Callable[..., Verdict], rules: Callable[..., Path]) -> None:
    file = rules(deny=["Bash(sudo:*)"])
    verdict = ask("Bash", command="cd x && /usr/bin/sudo ls")
    assert verdict.kind == "deny"
    assert "Bash(sudo:*)" in verdict.text and str(file) in verdict.text and "policy" in verdict.text


@pytest.mark.parametrize("language", ["shell", "python", "javascript", "ruby"])
def test_no_language_is_a_softer_door(ask: Callable[..., Verdict], rules: Callable[..., Path], language: str) -> None:
    rules(deny=["Bash(rm:*)"])
    code = {
        "shell": "rm x",
        "python": "import os; os.system('rm x')",
        "javascript": "require('child_process').execSync('rm x')",
        "ruby": "system('rm x')",
    }[language]
    assert ask("mcp__capy__capy_execute", language=language, code=code).kind == "deny"
    assert ask("mcp__capy__capy_execute_file", language=language, code=code, path="a.txt").kind == "deny"


@pytest.mark.parametrize(
    "commands",
    [
        [{"label": "a", "command": "ls"}, {"label": "b", "command": "sudo ls"}],
        ["ls", "sudo ls"],
        '[{"command": "sudo ls"}]',
        ['{"command": "sudo ls"}'],
        '["sudo ls"]',
        {"command": "sudo ls"},
        '{"command": "sudo ls"}',
        "sudo ls",
        "{ sudo ls; }",
    ],
)
def test_every_form_of_a_batch_that_the_server_takes_is_judged(
    ask: Callable[..., Verdict], rules: Callable[..., Path], commands: object
) -> None:
    rules(deny=["Bash(sudo:*)"])
    assert ask("mcp__capy__capy_batch_execute", commands=commands, queries=["x"]).kind == "deny"


@pytest.mark.parametrize(
    "tool", ["mcp__capy__capy_index", "mcp__capy__capy_execute_file", "mcp__plugin_x_capy__capy_index"]
)
def test_files_that_may_not_be_read_are_not_handed_to_our_tools(
    ask: Callable[..., Verdict], rules: Callable[..., Path], project: Path, tool: str
) -> None:
    rules(deny=["Read(.env)"], ask=["Read(private/**)"])
    assert ask(tool, path=".env", language="python", code="print(1)").kind == "deny"
    assert ask(tool, path=str(project / ".env")).kind == "deny"
    assert ask(tool, path="private/a").kind == "ask"
    assert ask(tool, path="notes.md").kind == "none"


def test_ask_beats_a_redirect_and_deny_beats_ask(ask: Callable[..., Verdict], rules: Callable[..., Path]) -> None:
    rules(ask=["Bash(curl:*)"], deny=["Bash(wget:*)"])
    assert ask("Bash", command="curl https://example.com").kind == "ask"
    assert ask("Bash", command="curl https://example.com; wget -q https://example.com").kind == "deny"


def test_an_allow_rule_of_the_user_says_nothing_about_the_context(
    ask: Callable[..., Verdict], rules: Callable[..., Path]
) -> None:
    rules(allow=["Bash(curl:*)"])
    assert ask("Bash", command="curl https://example.com").kind == "deny"


def test_no_verdict_on_a_command_ever_allows_it(ask: Callable[..., Verdict], rules: Callable[..., Path]) -> None:
    rules(allow=["Bash(*)"])
    for command in ("ls", "curl -o x https://example.com", "git push"):
        assert ask("Bash", session="s", command=command).kind in ("none", "context")


@pytest.mark.parametrize("content", ["{,}", "[]", '{"permissions": {"deny": "x"}}', '{"permissions": 5}'])
def test_a_broken_settings_file_leaves_the_other_s_rules_and_is_told(
    hook: Callable[..., Any], ask: Callable[..., Verdict], project: Path, rules: Callable[..., Path], content: str
) -> None:
    rules(deny=["Bash(sudo:*)"])
    (project / ".claude" / "settings.local.json").write_text(content)
    assert ask("Bash", command="sudo ls").kind == "deny"
    if content != '{"permissions": 5}' and content != "[]":
        assert (
            "settings.local.json" in hook("sessionstart", source="startup")["hookSpecificOutput"]["additionalContext"]
        )


# Redirects ------------------------------------------------------------------------------------------------------------


def test_webfetch_is_sent_to_the_index_with_the_same_url(ask: Callable[..., Verdict]) -> None:
    verdict = ask("WebFetch", url="https://example.com/a?b=1", prompt="x")
    assert verdict.kind == "deny"
    assert 'capy_fetch_and_index(url: "https://example.com/a?b=1", source: "example.com/a")' in verdict.text
    assert "fetch 'https://example.com/a?b=1'" in verdict.text


@pytest.mark.parametrize(
    ("url", "command"),
    [
        ("https://github.com/o/r/issues/7#note", "gh issue view 7 --repo o/r --comments"),
        ("https://github.com/o/r/pull/47/files", "gh pr view 47 --repo o/r --comments"),
        ("https://gitlab.com/g/p/-/merge_requests/5", "glab mr view 5 --repo g/p --comments"),
    ],
)
def test_issues_are_sent_to_the_forge_s_command(ask: Callable[..., Verdict], url: str, command: str) -> None:
    for tool in ("WebFetch", "mcp__capy__capy_fetch_and_index"):
        verdict = ask(tool, url=url, prompt="x")
        assert (verdict.kind, command in verdict.text) == ("deny", True)


@pytest.mark.parametrize(
    "url", ["https://github.com/o/r/issues", "https://github.com/o/r/issues/new", "https://example.com/a"]
)
def test_other_pages_are_fetched(ask: Callable[..., Verdict], url: str) -> None:
    assert ask("mcp__capy__capy_fetch_and_index", url=url).kind == "none"


def test_a_gist_is_fetched_with_advice(ask: Callable[..., Verdict]) -> None:
    verdict = ask("mcp__capy__capy_fetch_and_index", url="https://gist.github.com/u/abc")
    assert (verdict.kind, "gh gist view" in verdict.text) == ("context", True)


def test_a_local_page_is_left_to_the_host(ask: Callable[..., Verdict]) -> None:
    assert ask("WebFetch", url="http://localhost:8000/", prompt="x").kind == "none"


def test_webfetch_passes_where_no_other_tool_of_capy_is_installed(
    ask: Callable[..., Verdict], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    assert ask("WebFetch", url="https://example.com/", prompt="x").kind == "none"


@pytest.mark.parametrize("tool", ["Agent", "Task"])
def test_an_agent_s_prompt_gets_the_block_and_keeps_everything_else(ask: Callable[..., Verdict], tool: str) -> None:
    given = {
        "prompt": "Find it.",
        "description": "d",
        "subagent_type": "Explore",
        "model": "m",
        "extra": [1, {"a": None}],
    }
    verdict = ask(tool, **given)
    assert verdict.kind == "rewrite"
    assert verdict.input == given | {"prompt": f"Find it.\n\n{block()}"}


def test_other_names_of_the_prompt_are_known(ask: Callable[..., Verdict]) -> None:
    verdict = ask("Agent", request="Find it.")
    assert verdict.input is not None and str(verdict.input["request"]).startswith("Find it.\n\n<")


@pytest.mark.parametrize(
    "given",
    [
        {"prompt": f"Nested.\n\n<{TAG}>"},
        {"prompt": ""},
        {"prompt": 5},
        {},
        {"prompt": "Run it.", "subagent_type": "Bash"},
    ],
)
def test_an_agent_that_needs_no_block_is_left_alone(ask: Callable[..., Verdict], given: dict[str, object]) -> None:
    assert ask("Agent", **given).kind == "none"


@pytest.mark.parametrize("kind", ["deny", "ask"])
@pytest.mark.parametrize("rule", ["Agent(Explore)", "Task", "Agent"])
def test_where_rules_speak_of_agents_nothing_is_rewritten(
    ask: Callable[..., Verdict], rules: Callable[..., Path], kind: str, rule: str
) -> None:
    rules(**{kind: [rule]})
    assert ask("Agent", prompt="Find it.").kind == "none"


# Switches -------------------------------------------------------------------------------------------------------------


def user_config(home: Path, text: str) -> None:
    file = home / ".config" / "capy" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


CURL = {"command": "curl https://example.com"}


def test_the_environment_switches_all_off(
    ask: Callable[..., Verdict], rules: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    rules(deny=["Bash(sudo:*)"])
    monkeypatch.setenv("CAPY_HOOK", "off")
    assert ask("Bash", session="s", command="sudo ls").kind == "none"
    assert ask("Bash", session="s", **CURL).kind == "none"


def test_the_user_may_switch_all_off(ask: Callable[..., Verdict], rules: Callable[..., Path], home: Path) -> None:
    rules(deny=["Bash(sudo:*)"])
    user_config(home, "[hook]\nenabled = false\n")
    assert ask("Bash", session="s", command="sudo ls").kind == "none"


@pytest.mark.parametrize("name", [".capy.toml", ".capy/config.toml"])
def test_a_project_may_switch_off_help_but_not_rules(
    ask: Callable[..., Verdict], rules: Callable[..., Path], project: Path, name: str
) -> None:
    rules(deny=["Bash(sudo:*)"])
    (project / name).parent.mkdir(exist_ok=True)
    (project / name).write_text("[hook]\nenabled = false\n")
    assert ask("Bash", session="s", **CURL).kind == "none"
    assert ask("WebFetch", url="https://example.com/", prompt="x").kind == "none"
    assert ask("Bash", session="s", command="sudo ls").kind == "deny"


def test_redirects_are_chosen_one_by_one(ask: Callable[..., Verdict], project: Path) -> None:
    (project / ".capy.toml").write_text('[hook]\nredirect = ["webfetch"]\n')
    assert ask("Bash", **CURL).kind != "deny"
    assert ask("Agent", prompt="x").kind == "none"
    assert ask("WebFetch", url="https://example.com/", prompt="x").kind == "deny"


def test_allowed_commands_are_not_redirected_but_rules_hold(
    ask: Callable[..., Verdict], rules: Callable[..., Path], project: Path
) -> None:
    rules(deny=["Bash(curl http://localhost:1*)"])
    (project / ".capy.toml").write_text('[hook]\nallow = ["curl http://localhost*"]\n')
    assert ask("Bash", command="curl http://localhost:80/").kind != "deny"
    assert ask("Bash", command="curl http://localhost:1/").kind == "deny"
    assert ask("Bash", **CURL).kind == "deny"


def test_guidance_can_be_off_alone(ask: Callable[..., Verdict], project: Path) -> None:
    (project / ".capy.toml").write_text("[hook]\nguidance = false\n")
    assert ask("Read", session="s", file_path="x").kind == "none"
    assert ask("Bash", **CURL).kind == "deny"


def test_the_project_s_value_goes_over_the_user_s(ask: Callable[..., Verdict], project: Path, home: Path) -> None:
    user_config(home, "[hook]\nguidance = false\n")
    (project / ".capy.toml").write_text("[hook]\nguidance = true\n")
    assert ask("Read", session="s", file_path="x").kind == "context"


def test_settings_are_found_from_a_folder_below(
    project: Path, monkeypatch: pytest.MonkeyPatch, rules: Callable[..., Path]
) -> None:
    (project / "a" / "b").mkdir(parents=True)
    (project / ".capy.toml").write_text("[hook]\nredirect = []\n")
    rules(deny=["Bash(sudo:*)"])
    monkeypatch.delenv("CLAUDE_PROJECT_DIR")
    for command, kind in (("curl https://example.com", "none"), ("sudo ls", "deny")):
        payload = {"tool_name": "Bash", "tool_input": {"command": command}, "cwd": str(project / "a" / "b")}
        event = claude.read(payload, "PreToolUse")
        event.session = ""
        assert answer(event).kind == kind


@pytest.mark.parametrize(
    "text", ["[hook", "hook = 5", '[hook]\nenabled = "no"', "[hook]\nredirect = 3\nnew = 1", "\xff hook"]
)
def test_bad_settings_are_left_out_and_logged(
    ask: Callable[..., Verdict], project: Path, text: str, log: Callable[[], str]
) -> None:
    (project / ".capy.toml").write_text(text, encoding="latin-1")
    assert ask("Bash", **CURL).kind == "deny"
    assert ".capy.toml" in log()


# Sessions -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["startup", "resume", "compact", "clear"])
def test_a_session_starts_with_the_block(hook: Callable[..., Any], source: str) -> None:
    said = hook("sessionstart", source=source)["hookSpecificOutput"]
    assert said == {"hookEventName": "SessionStart", "additionalContext": block()}


def test_a_session_s_start_without_guidance_says_nothing(hook: Callable[..., Any], project: Path) -> None:
    (project / ".capy.toml").write_text("[hook]\nguidance = false\n")
    assert hook("sessionstart", source="startup") is None


def test_the_block_is_short_and_names_what_is_needed() -> None:
    assert len(block()) < 4 * 400
    for word in ("capy_search", "capy_batch_execute", "word_limit", "artifact_policy", "capy stats", "WebFetch"):
        assert word in block()


def test_tools_without_work_get_no_answer(ask: Callable[..., Verdict]) -> None:
    for tool in ("Write", "Edit", "Glob", "TodoWrite", "mcp__other__tool", "mcp__capy__capy_search", ""):
        assert ask(tool, session="s", path=".env", command="sudo ls").kind == "none"


def test_json_of_any_answer_is_plain_ascii(hook: Callable[..., Any], rules: Callable[..., Path]) -> None:
    rules(deny=["Bash(sudo ✓:*)"])
    assert "✓" in json.dumps(hook("pretooluse", tool_name="Bash", tool_input={"command": "sudo ✓"}), ensure_ascii=False)
