from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capy_core.errors import Refused
from capy_core.globs import name_matches, path_matches
from capy_core.pathrules import judge, require_path
from capy_core.permissions import Rule, Rules, parse_rule

HOME = "/home/dev"
PROJECT = "/work/app"


def rule(text: str, base: str = PROJECT) -> Rule:
    found = parse_rule(text, source="settings.json", base=base)
    assert found is not None
    return found


def denied(text: str, path: str, *, access: str = "read", cwd: str = PROJECT, windows: bool = False) -> bool:
    rules = Rules(deny=[rule(text)], project=PROJECT, home=HOME)
    return judge(path, rules, cwd=cwd, access=access, windows=windows).decision == "deny"


@pytest.mark.parametrize(
    ("text", "path", "fits"),
    [
        ("Read", "/anything", True),
        ("Read(//etc/shadow)", "/etc/shadow", True),
        ("Read(//etc/*)", "/etc/ssl/key", True),  # what fits a folder fits all in it
        ("Read(//etc/*.conf)", "/etc/ssl/a.conf", False),
        ("Read(//etc/**/*.conf)", "/etc/ssl/x/a.conf", True),
        ("Read(//etc/**/*.conf)", "/etc/a.conf", True),
        ("Read(~/.ssh/**)", "/home/dev/.ssh/id", True),
        ("Read(~/.ssh/**)", "/home/dev/.ssh", True),
        ("Read(~/.ssh/**)", "/home/dev/.sshx/id", False),
        ("Read(~/.ssh)", "/home/other/.ssh/id", False),
        ("Read(/src/*.py)", "src/a.py", True),
        ("Read(/src/*.py)", "src/b/a.py", False),
        ("Read(/src)", "lib/src/a.py", False),
        ("Read(.env)", ".env", True),
        ("Read(.env)", "./x/../.env", True),
        ("Read(.env)", "a/b/.env", True),
        ("Read(./.env)", ".env", True),
        ("Read(.env)", ".env.example", False),
        ("Read(.env*)", ".env.example", True),
        ("Read(.env)", "/elsewhere/.env", False),
        ("Read(.env)", "../.env", False),
        ("Read(secrets/**)", "a/secrets/b/c", True),
        ("Read(secrets/**)", "secrets", True),
        ("Read(a/secrets/**)", "b/a/secrets/c", False),
        ("Read(**/secrets/**)", "a/b/secrets/c", True),
        ("Read(**/secrets/**)", "secrets/c", True),
        ("Read(**/secrets/**)", "mysecrets/c", False),
        ("Read(build/)", "a/build/x", True),
        ("Read(*.pem)", "a/key.pem", True),
        ("Read(?.txt)", "a.txt", True),
        ("Read(?.txt)", "ab.txt", False),
        ("Read([a-c].txt)", "b.txt", True),
        ("Read([!a-c].txt)", "b.txt", False),
        (r"Read(\\*.txt)", "*.txt", True),
        (r"Read(\\*.txt)", "b.txt", False),
        ("Read(a(1).txt)", "a(1).txt", True),
        ("Read(a+b.txt)", "aab.txt", False),
        ("Read(.ENV)", ".env", False),
        ("Edit(.env)", ".env", False),
        ("Write(.env)", ".env", False),
        ("R*(.env)", ".env", True),
    ],
)
def test_what_a_deny_rule_speaks_of(text: str, path: str, fits: bool) -> None:
    assert denied(text, path) is fits


def test_relative_rules_begin_at_the_current_folder_and_at_the_project() -> None:
    assert denied("Read(a/b)", "a/b", cwd=f"{PROJECT}/sub")
    assert denied("Read(a/b)", f"{PROJECT}/a/b", cwd=f"{PROJECT}/sub")
    assert not denied("Read(a/b)", f"{PROJECT}/other/a/b", cwd=f"{PROJECT}/sub")


def test_the_root_of_a_slash_is_the_folder_of_the_settings() -> None:
    rules = Rules(deny=[rule("Read(/x)", base="/home/dev/.claude")], project=PROJECT, home=HOME)
    assert judge("/home/dev/.claude/x", rules, cwd=PROJECT, access="read").decision == "deny"
    assert judge("x", rules, cwd=PROJECT, access="read").decision == "allow"


def test_what_may_not_be_read_may_not_be_changed() -> None:
    assert denied("Read(.env)", ".env", access="write")
    assert denied("Edit(.env)", ".env", access="write")
    assert not denied("Edit(.env)", ".env", access="read")


def test_deny_goes_before_ask_before_allow() -> None:
    rules = Rules(
        deny=[rule("Read(a/b)")], ask=[rule("Read(a/**)")], allow=[rule("Read(**)")], project=PROJECT, home=HOME
    )
    verdicts = [judge(path, rules, cwd=PROJECT, access="read") for path in ("a/b", "a/c", "d", "/e")]
    assert [verdict.decision for verdict in verdicts] == ["deny", "ask", "allow", "allow"]
    assert [verdict.rule and verdict.rule.text for verdict in verdicts] == [
        "Read(a/b)", "Read(a/**)", "Read(**)", None,
    ]  # fmt: skip


def test_a_lone_folder_that_is_allowed_is_only_the_one_here() -> None:
    rules = Rules(allow=[rule("Read(docs/**)"), rule("Read(./notes)")], project=PROJECT, home=HOME)
    found = {path: judge(path, rules, cwd=PROJECT, access="read").rule for path in ("docs/a", "x/docs/a", "x/notes")}
    assert [found["docs/a"] is not None, found["x/docs/a"], found["x/notes"]] == [True, None, None]


def test_rules_that_are_not_known_make_it_ask() -> None:
    rules = Rules(notes=["the rules in x are not known"], project=PROJECT, home=HOME)
    verdict = judge("a", rules, cwd=PROJECT, access="read")
    assert (verdict.decision, verdict.reason) == ("ask", "the rules in x are not known")


def test_devices_that_hold_nothing_are_no_files() -> None:
    assert not denied("Edit", "/dev/null", access="write")
    assert not denied("Edit", "/dev/fd/2", access="write")
    assert denied("Edit", "/dev/sda", access="write")


# --- links ---


@pytest.fixture
def real(tmp_path: Path) -> Rules:
    """A project with secret/key, and links to it: near -> secret/key, folder -> secret, far -> near."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text("x")
    (tmp_path / "near").symlink_to("secret/key")
    (tmp_path / "folder").symlink_to("secret")
    (tmp_path / "far").symlink_to("near")
    (tmp_path / "loop").symlink_to("loop")
    return Rules(project=str(tmp_path), home=HOME)


@pytest.mark.parametrize(
    "path", ["secret/key", "near", "far", "folder/key", "folder", "folder/../secret/key", "folder/new"]
)
def test_a_link_is_denied_with_what_it_leads_to(real: Rules, path: str) -> None:
    real.deny = (rule("Read(/secret/**)", base=real.project),)
    assert judge(path, real, cwd=real.project, access="read").decision == "deny"


@pytest.mark.parametrize(
    ("text", "path"), [("Read(near)", "near"), ("Read(near)", "far"), ("Read(folder/**)", "folder/key")]
)
def test_a_link_is_denied_by_its_own_name_too(real: Rules, text: str, path: str) -> None:
    real.deny = (rule(text, base=real.project),)
    assert judge(path, real, cwd=real.project, access="read").decision == "deny"
    assert judge("secret/key", real, cwd=real.project, access="read").decision == "allow"


def test_a_link_is_allowed_only_when_what_it_leads_to_is(real: Rules) -> None:
    real.allow = (rule("Read(near)", base=real.project),)
    assert judge("near", real, cwd=real.project, access="read").rule is None
    real.allow = (rule("Read(**)", base=real.project),)
    assert judge("near", real, cwd=real.project, access="read").rule is not None


def test_a_loop_of_links_ends(real: Rules) -> None:
    real.deny = (rule("Read(loop)", base=real.project),)
    assert judge("loop/x", real, cwd=real.project, access="read").decision == "deny"


def test_a_project_that_is_reached_by_a_link(tmp_path: Path, real: Rules) -> None:
    door = tmp_path.parent / f"{tmp_path.name}-door"
    door.symlink_to(tmp_path)
    real.project = str(door)
    real.deny = (rule("Read(secret/key)", base=str(door)), rule("Read(/near)", base=str(door)))
    for path in ("secret/key", str(tmp_path / "secret" / "key"), "near", str(tmp_path / "near")):
        assert judge(path, real, cwd=str(door), access="read").decision == "deny", path


# --- Windows ---


@pytest.mark.parametrize(
    "path",
    [r"C:\Users\dev\.ssh\k", "c:/users/DEV/.ssh/k", "/c/Users/dev/.ssh/k", r"\\?\C:\Users\dev\.ssh\k",
     r"C:\Users\x\..\dev\.ssh\k"],
)  # fmt: skip
@pytest.mark.parametrize(
    "text", ["Read(C:/Users/dev/.ssh/**)", "Read(//c/Users/dev/.ssh/**)", "Read(C:\\\\Users\\\\dev\\\\.ssh/**)"]
)
def test_one_file_in_all_its_spellings_on_windows(text: str, path: str) -> None:
    assert denied(text, path, cwd=r"C:\work", windows=True)
    assert not denied(text, path.replace("ssh", "sshx"), cwd=r"C:\work", windows=True)


def test_backslashes_part_folders_on_windows_only() -> None:
    rules = Rules(deny=[rule("Read(**/secret.env)")], project=r"C:\work", home=r"C:\Users\dev")
    assert judge(r"sub\secret.env", rules, cwd=r"C:\work", access="read", windows=True).decision == "deny"
    assert not denied("Read(**/secret.env)", r"sub\secret.env")
    assert denied(r"Read(a\\b)", r"ab") and not denied("Read(b)", r"a\b")


# --- wildcards ---


@given(st.lists(st.sampled_from("ab*?"), max_size=6), st.text("ab", max_size=6))
def test_names_fit_as_trying_everything_finds(pattern: list[str], name: str) -> None:
    def naive(pattern: list[str], name: str) -> bool:
        if not pattern:
            return not name
        if pattern[0] == "*":
            return any(naive(pattern[1:], name[end:]) for end in range(len(name) + 1))
        return bool(name) and pattern[0] in ("?", name[0]) and naive(pattern[1:], name[1:])

    assert name_matches("".join(pattern), name) == naive(pattern, name)


def test_hostile_patterns_take_no_time() -> None:
    assert not name_matches("*a" * 300 + "b", "a" * 2000)
    assert not path_matches(["**", "a"] * 300 + ["b"], ["a"] * 2000)


# --- refusing ---


def test_a_denied_path_is_refused_with_its_rule(tmp_path: Path) -> None:
    rules = Rules(deny=[rule("Read(.env)", base=str(tmp_path))], project=str(tmp_path), home=HOME)
    with pytest.raises(Refused) as refused:
        require_path(".env", rules, cwd=str(tmp_path))
    assert refused.value.details == {"path": ".env", "rule": "Read(.env)", "source": "settings.json"}
    assert "settings.json" in refused.value.hint
    require_path("README.md", rules, cwd=str(tmp_path))
    require_path(".env", Rules(ask=rules.deny, project=str(tmp_path)), cwd=str(tmp_path))


def test_case_counts_where_the_disk_says_so(tmp_path: Path) -> None:
    (tmp_path / "Key").write_text("x")
    folds = os.path.exists(tmp_path / "kEY")
    rules = Rules(deny=[rule("Read(key)", base=str(tmp_path))], project=str(tmp_path), home=HOME)
    assert (judge("Key", rules, cwd=str(tmp_path), access="read").decision == "deny") is folds
