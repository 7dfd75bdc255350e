from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capy_core.config import Config, load
from capy_core.errors import BadConfig

DOCUMENT = Path(__file__).parents[2] / "docs" / "configuration.md"


class Warnings(list[tuple[str, str, str]]):
    def __call__(self, code: str, message: str, hint: str) -> None:
        self.append((code, message, hint))


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


@pytest.fixture
def user_file(home: Path) -> Path:
    return home / ".config" / "capy" / "config.toml"


def loaded(root: Path | None) -> Config:
    """The settings, with no warning."""
    warnings = Warnings()
    config = load(root, warnings)
    assert warnings == []
    return config


# --- merging ---


def test_no_file_gives_the_defaults_without_loading_a_parser(python: Any) -> None:
    assert loaded(None) == Config()
    code = "import sys; from capy_core.config import load; load(None, print); print('tomllib' in sys.modules)"
    assert python(code).stdout == b"False\n"


def test_later_files_override_earlier_ones_key_by_key(project: Path, user_file: Path) -> None:
    write(user_file, "[executor]\ntimeout_s = 10\nmax_output_bytes = 1\n[fetch]\nttl_hours = 5\n")
    write(project / ".capy" / "config.toml", "[executor]\ntimeout_s = 20\nmax_record_bytes = 2\n")
    write(project / ".capy.toml", "[executor]\nmax_record_bytes = 3\n")
    config = loaded(project)
    assert (config.executor.timeout_s, config.executor.max_output_bytes, config.executor.max_record_bytes) == (20, 1, 3)
    assert config.fetch.ttl_hours == 5
    assert loaded(None).executor.timeout_s == 10


def test_a_present_key_counts_whatever_its_value(project: Path, user_file: Path) -> None:
    write(user_file, "[store]\nauto_prune = true\ntrigram_max_bytes = 9\n[fetch]\nttl_hours = 24\n")
    write(project / ".capy.toml", "[store]\nauto_prune = false\ntrigram_max_bytes = 0\n[fetch]\nttl_hours = 0\n")
    config = loaded(project)
    assert (config.store.auto_prune, config.store.trigram_max_bytes, config.fetch.ttl_hours) == (False, 0, 0)


free_keys = {
    "store": {
        "auto_prune": st.booleans(),
        "ephemeral_ttl_hours": st.integers(1, 999),
        "trigram_max_bytes": st.integers(0, 999),
    },
    "fetch": {"ttl_hours": st.integers(0, 999)},
    "executor": {"timeout_s": st.floats(0.5, 99), "max_output_bytes": st.integers(1, 999)},
}
layers = st.lists(
    st.fixed_dictionaries({}, optional={s: st.fixed_dictionaries({}, optional=keys) for s, keys in free_keys.items()}),
    min_size=3,
    max_size=3,
)


@given(layers)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_the_merge_is_the_last_value_written(project: Path, user_file: Path, layers: list[dict[str, Any]]) -> None:
    for file, layer in zip((user_file, project / ".capy/config.toml", project / ".capy.toml"), layers, strict=True):
        write(file, "".join(f"{s}.{k} = {str(v).lower()}\n" for s, table in layer.items() for k, v in table.items()))
    expected = asdict(Config())
    for layer in layers:
        for section, table in layer.items():
            expected[section].update(table)
    assert asdict(loaded(project)) == expected


def test_a_worktree_reads_the_main_worktrees_files_below_its_own(tmp_path: Path) -> None:
    main, worktree = tmp_path / "main", tmp_path / "wt"
    main.mkdir()
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "x"], ["worktree", "add", "-q", worktree]):
        subprocess.run(["git", *identity, *words], cwd=main, check=True, capture_output=True)
    write(main / ".capy" / "config.toml", '[store]\npath = ".capy/kb.db"\n[executor]\ntimeout_s = 7\n')
    write(worktree / ".capy.toml", "[executor]\ntimeout_s = 8\n")
    config = loaded(worktree)
    assert (config.store.path, config.executor.timeout_s) == (".capy/kb.db", 8)


def test_policies_of_all_files_add_up_and_grow_stricter(project: Path, user_file: Path) -> None:
    write(user_file, '[policy]\ndeny = ["Bash(a)"]\nallow = ["Bash(b)"]\n')
    write(project / ".capy" / "config.toml", '[policy]\ndeny = ["Bash(c)", "Bash(a)"]\nunreadable = "deny"\n')
    write(project / ".capy.toml", '[policy]\nask = ["Read(d)"]\nunreadable = "ask"\n')
    warnings = Warnings()
    policy = load(project, warnings).policy
    assert (policy.deny, policy.ask, policy.allow) == (("Bash(a)", "Bash(c)"), ("Read(d)",), ("Bash(b)",))
    assert (policy.unreadable, [code for code, _, _ in warnings]) == ("deny", ["ignored_config_key"])


# --- what a project may not do ---


def refused(project: Path, text: str) -> tuple[Config, str]:
    """The settings with one ignored key of the project's file, and the warning about it."""
    file = write(project / ".capy.toml", text)
    warnings = Warnings()
    config = load(project, warnings)
    assert [code for code, _, _ in warnings] == ["ignored_config_key"]
    assert str(file) in warnings[0][1] and "config.toml" in warnings[0][2]
    return config, warnings[0][1]


@pytest.mark.parametrize("name", ["db_command", "vault_command"])
def test_a_project_cannot_name_a_key_command(project: Path, name: str) -> None:
    config, warning = refused(project, f'[keys]\n{name} = "touch pwned"\n')
    assert config.keys == Config().keys
    assert f"keys.{name}" in warning and "pwned" not in warning


@pytest.mark.parametrize(
    "path", ["/etc/kb.db", "../kb.db", "a/../../kb.db", "~/kb.db", "a/..", ".git/config", "main.py", "."]
)
def test_a_projects_store_stays_below_the_project(project: Path, path: str) -> None:
    config, _ = refused(project, f'[store]\npath = "{path}"\n')
    assert config.store.path == ""


def test_a_project_cannot_leave_or_prune_the_store_that_the_user_shares(project: Path, user_file: Path) -> None:
    write(user_file, '[store]\npath = "~/kb.db"\n')
    assert refused(project, '[store]\npath = "kb.db"\n')[0].store.path == "~/kb.db"
    assert refused(project, "[store]\nephemeral_ttl_hours = 1\n")[0].store.ephemeral_ttl_hours == 24
    assert refused(project, "[store]\nsession_ttl_days = 1\n")[0].store.session_ttl_days == 60


@pytest.mark.parametrize(
    "key",
    ["store.max_source_bytes", "fetch.timeout_s", "fetch.max_bytes", "fetch.max_redirects", "executor.hard_cap_bytes"],
)
def test_a_project_can_only_lower_a_cap(project: Path, user_file: Path, key: str) -> None:
    section, name = key.split(".")
    write(user_file, f"[{section}]\n{name} = 20\n")
    assert getattr(getattr(refused(project, f"{key} = 21\n")[0], section), name) == 20
    write(project / ".capy.toml", f"{key} = 19\n")
    assert getattr(getattr(loaded(project), section), name) == 19
    write(project / ".capy/config.toml", f"{key} = 3\n")  # the ceiling is the user's value, not the last one
    assert getattr(getattr(loaded(project), section), name) == 19


def test_a_project_can_only_narrow_the_environment(project: Path, user_file: Path) -> None:
    write(project / ".capy.toml", '[executor]\nenv = "minimal"\nenv_passthrough = ["CI"]\n')
    narrowed = loaded(project).executor
    assert (narrowed.env, narrowed.env_passthrough) == ("minimal", ("CI",))
    write(user_file, '[executor]\nenv = "minimal"\nenv_passthrough = ["GO*", "CI"]\n')
    assert refused(project, '[executor]\nenv = "inherit"\n')[0].executor.env == "minimal"
    assert refused(project, '[executor]\nenv_passthrough = ["CI", "*"]\n')[0].executor.env_passthrough == ("GO*", "CI")
    write(project / ".capy.toml", '[executor]\nenv_passthrough = ["CI"]\n')
    assert loaded(project).executor.env_passthrough == ("CI",)


# --- unknown keys ---


@pytest.mark.parametrize(
    ("text", "unknown", "hint"),
    [
        ("[store]\nephemeral_ttl_hour = 3\n", "store.ephemeral_ttl_hour", "did you mean store.ephemeral_ttl_hours?"),
        (
            "[store.cleanup]\nsession_ttl_days = 3\n",
            "store.cleanup.session_ttl_days",
            "did you mean store.session_ttl_days?",
        ),
        ("[executer]\ntimeout_s = 3\n", "executer.timeout_s", "did you mean executor.timeout_s?"),
        ("[zzz]\nqqq = 1\n", "zzz.qqq", "docs/configuration.md lists the keys"),
        ("max_bytes = 1\n", "max_bytes", "did you mean fetch.max_bytes?"),
        ("store = 3\n", "store", "did you mean store.path?"),
        ("[zzz]\n", "zzz", "docs/configuration.md lists the keys"),
    ],
)
def test_an_unknown_key_warns_with_file_and_nearest_name(user_file: Path, text: str, unknown: str, hint: str) -> None:
    write(user_file, text)
    warnings = Warnings()
    assert load(None, warnings) == Config()
    assert warnings == [("unknown_config_key", f"{user_file}: unknown setting {unknown}", hint)]


# --- wrong values and files ---


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("store.auto_prune = 1", "store.auto_prune must be true or false, not 1"),
        ("fetch.ttl_hours = true", "fetch.ttl_hours must be a whole number from 0 to 1000000, not True"),
        ("fetch.ttl_hours = 1.5", "fetch.ttl_hours must be a whole number"),
        ("fetch.ttl_hours = -1", "from 0"),
        ('executor.timeout_s = "30"', "executor.timeout_s must be a number from 0.001 to 604800, not '30'"),
        ("executor.timeout_s = 0", "executor.timeout_s"),
        ("executor.timeout_s = nan", "executor.timeout_s"),
        ("executor.timeout_s = inf", "executor.timeout_s"),
        ("executor.hard_cap_bytes = 99999999999999999999999", "executor.hard_cap_bytes"),
        ('executor.env = "all"', 'executor.env must be "inherit" or "minimal", not \'all\''),
        ('executor.env_passthrough = "CI"', "executor.env_passthrough must be a list of texts"),
        ("executor.env_passthrough = [1]", "executor.env_passthrough must be a list of texts"),
        ("store.path = 1979-05-27", "store.path must be a text in quotes"),
        ('store.path = "a\\u0000b"', "store.path must be a text in quotes"),
        ("store.max_source_bytes = 0", "store.max_source_bytes"),
        ('hook.redirect = ["web"]', 'hook.redirect must be a list of "network" or "webfetch" or "agent"'),
        ('hook.enabled = "no"', "hook.enabled must be true or false"),
    ],
)
def test_a_wrong_value_names_file_key_and_what_is_wanted(project: Path, text: str, wanted: str) -> None:
    file = write(project / ".capy.toml", text)
    with pytest.raises(BadConfig) as caught:
        load(project, Warnings())
    assert str(file) in caught.value.message and wanted in caught.value.message
    assert caught.value.details["path"] == str(file)


@pytest.mark.parametrize("value", [0, -1])
@pytest.mark.parametrize(("key", "purge"), [("ephemeral_ttl_hours", "ephemeral"), ("session_ttl_days", "session")])
def test_a_lifetime_below_one_points_to_the_purge(user_file: Path, key: str, purge: str, value: int) -> None:
    write(user_file, f"[store]\n{key} = {value}\n")
    with pytest.raises(BadConfig, match=f"store.{key} must be a whole number from 1") as caught:
        load(None, Warnings())
    assert f"capy-store cleanup --purge {purge}" in caught.value.hint


def test_a_long_value_is_not_repeated(user_file: Path) -> None:
    write(user_file, f'fetch.ttl_hours = "{"x" * 5000}"')
    with pytest.raises(BadConfig) as caught:
        load(None, Warnings())
    assert len(caught.value.message) < 500


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"[store]\nauto_prune = \n", 2),
        (b"[broken", 1),
        (b"[store]\nauto_prune = true\nauto_prune = false\n", 3),
        (b"# ok\n\npath = '\xff'\n", 3),
    ],
)
def test_malformed_toml_names_file_and_line(user_file: Path, data: bytes, line: int) -> None:
    user_file.parent.mkdir(parents=True)
    user_file.write_bytes(data)
    with pytest.raises(BadConfig, match=re.escape(str(user_file))) as caught:
        load(None, Warnings())
    assert str(line) in caught.value.message
    assert caught.value.details == {"path": str(user_file), "line": line}


def test_a_file_full_of_unknown_keys_does_not_flood(project: Path) -> None:
    file = write(project / ".capy.toml", "".join(f"{'k' * 1000}{number} = 1\n" for number in range(900)))
    warnings = Warnings()
    assert load(project, warnings) == Config()
    assert len(warnings) == 6 and sum(len(message) for _, message, _ in warnings) < 6 * (len(str(file)) + 200)
    assert warnings[-1][1] == f"{file}: 895 more unknown settings"


def test_dots_in_comments_and_lists_are_no_deep_keys(project: Path) -> None:
    names = ", ".join(f'"A.{number}"' for number in range(40))
    write(project / ".capy.toml", f"# {'.' * 200}\n[executor]\nenv_passthrough = [{names}]\n")
    assert len(loaded(project).executor.env_passthrough) == 40


@pytest.mark.parametrize(
    "data",
    [
        "a = " + "[" * 50_000,
        "a = " + "9" * 5000,
        "#" * 1_100_000,
        "a." * 200_000 + "a = 1",
        "['a' ." + " a." * 60 + "a]",
    ],
)
def test_a_hostile_file_is_refused(project: Path, data: str) -> None:
    write(project / ".capy.toml", data)
    with pytest.raises(BadConfig):
        load(project, Warnings())


def test_a_byte_order_mark_is_accepted(user_file: Path) -> None:
    write(user_file, "\ufeff[fetch]\nttl_hours = 1\n")
    assert loaded(None).fetch.ttl_hours == 1


def test_what_is_no_regular_file_is_refused_without_reading_it(project: Path) -> None:
    os.mkfifo(project / ".capy.toml")
    with pytest.raises(BadConfig, match="not a regular file"):
        load(project, Warnings())


def test_a_file_in_place_of_the_capy_folder_is_no_error(project: Path) -> None:
    write(project / ".capy", "not a folder")
    assert loaded(project) == Config()


def test_a_file_without_permission_is_named(open_folder: Path, without_privileges: Any) -> None:
    file = write(open_folder / ".capy.toml", "[store]\n")
    file.chmod(0)

    def attempt() -> str:
        os.environ.pop("XDG_CONFIG_HOME")
        os.environ["HOME"] = "/nonexistent"
        try:
            load(open_folder, Warnings())
        except BadConfig as ex:
            return ex.message
        return "read"

    assert without_privileges(attempt) == f"cannot read {file}: Permission denied"


# --- the document ---


def test_the_document_lists_exactly_the_settings_with_their_defaults() -> None:
    rows = re.findall(r"^\| `([a-z_]+\.[a-z_]+)` \| `([^`]*)` \|", DOCUMENT.read_text(encoding="utf-8"), re.M)
    assert [name for name, _ in rows] == [
        f"{section.name}.{item.name}" for section in fields(Config) for item in fields(getattr(Config(), section.name))
    ]
    for name, shown in rows:
        section, key = name.split(".")
        value = getattr(getattr(Config(), section), key)
        toml = json.dumps(value) if isinstance(value, bool | str | tuple) else str(value)
        assert shown.replace("_", "") == toml.replace("_", ""), name


# --- [policy] ---


@pytest.mark.parametrize("text", ['allow = ["Bash"]', 'unreadable = "allow"'])
def test_a_project_may_not_allow(project: Path, text: str) -> None:
    config, warning = refused(project, f"[policy]\n{text}\n")
    assert config == Config()
    assert text.partition(" ")[0] in warning


@pytest.mark.parametrize("text", ['deny = ["Bash("]', 'ask = ["rm -rf"]', "deny = 3", 'unreadable = "never"'])
def test_a_policy_that_is_none_is_an_error(project: Path, text: str) -> None:
    file = write(project / ".capy.toml", f"[policy]\n{text}\n")
    with pytest.raises(BadConfig, match=re.escape(str(file))):
        load(project, Warnings())
