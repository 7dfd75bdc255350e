"""Exit codes that are answers, exit codes that are failures, and signals."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capy_exec.outcome import judge

from .conftest import Run

_EXIT_1 = 1 << 8


def soft(code: str) -> bool:
    """True when exit code 1 of this shell code is an answer."""
    return judge("shell", code, _EXIT_1, stderr_is_empty=True).outcome == "soft"


@pytest.mark.parametrize(
    "code",
    [
        "grep x f",
        "/usr/bin/grep -q x f\n\n",
        "cat f | grep -c x",
        "LC_ALL=C grep x f 2>/dev/null",
        "grep x f &> out",
        "grep x f # a comment; make",
        "grep x <<E\nit's text\nE",
        "cat <<'E' | grep z\na;b\nE\n",
        "diff <(sort a) <(sort b)",
        "cmp a b",
        "test -f x && echo yes",
        "[ -f x ]",
        "[[ $a == b ]]",
        "! grep x f",
        "if true; then grep x f; fi",
        "for f in *; do grep x $f; done",
        "(cd a && grep x f)",
        "x=$(grep a b)",
        "grep $(date) f",
        "sudo grep x f",
        "timeout 5 grep x f",
        "env A=1 grep x f",
        "pgrep nothing",
        "git diff --exit-code",
        "git --no-pager grep x",
        "command -v nothing",
        "jq -e .a f",
    ],
)
def test_a_last_command_that_says_no_by_its_exit_code_is_soft(code: str) -> None:
    assert soft(code)


@pytest.mark.parametrize(
    "code",
    [
        "make",
        "false",
        "exit 1",
        "grep x f; make",
        "grep -q x f && make",
        "grep x f | head",
        "git commit -m x",
        "echo 'unclosed",
        "python grep",
        "",
        "# grep x f",
        "timeout ''",
        "'' grep",
    ],
)
def test_any_other_command_has_failed(code: str) -> None:
    assert not soft(code)


def test_soft_needs_exit_code_1_an_empty_stderr_and_shell() -> None:
    assert judge("shell", "grep x f", 2 << 8, stderr_is_empty=True).outcome == "error"
    assert judge("shell", "grep x f", _EXIT_1, stderr_is_empty=False).outcome == "error"
    assert judge("python", "grep x f", _EXIT_1, stderr_is_empty=True).outcome == "error"


@given(st.text(alphabet=st.sampled_from("grep<>|&;()$'\"#\n \\E=-'x"), max_size=40))
def test_any_text_is_judged(code: str) -> None:
    assert judge("shell", code, _EXIT_1, stderr_is_empty=True).outcome in ("soft", "error")


def test_what_really_happens(project: Path, execute: Run) -> None:
    (project / "f").write_text("text\n", encoding="utf-8")
    result = execute("shell", "grep -n nothing f")
    assert (result.outcome, result.exit_code, result.reason) == ("soft", 1, "exit code 1: no match")
    assert execute("shell", "grep nothing missing-file").outcome == "error"
    assert execute("shell", "diff f f").outcome == "ok"


@pytest.mark.parametrize(
    ("code", "exit_code", "signal", "reason"),
    [
        ("kill -SEGV $$", None, "SIGSEGV", "ended by SIGSEGV"),
        ("sh -c 'kill -TERM $$'", 143, None, "exit code 143 (a command was ended by SIGTERM)"),
        ("no-such-command-here", 127, None, "exit code 127 (a command was not found)"),
        ("/etc", 126, None, "exit code 126 (a command could not be executed)"),
        ("exit 42", 42, None, "exit code 42"),
    ],
)
def test_failures_are_named(code: str, exit_code: int | None, signal: str | None, reason: str, execute: Run) -> None:
    result = execute("shell", code)
    assert (result.outcome, result.exit_code, result.signal, result.reason) == ("error", exit_code, signal, reason)
