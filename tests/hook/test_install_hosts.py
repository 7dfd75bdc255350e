"""Install, again, uninstall, for every host and scope: the user's files come back to the byte."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from capy_core.errors import BadInput, Busy, UsageError
from capy_hook.install import apply, command, jsonc, plan
from capy_hook.install.command import EVENTS
from capy_hook.install.command import command as command_line
from capy_hook.install.hosts import HOSTS
from capy_hook.install.state import state

pytestmark = pytest.mark.usefixtures("lasting")

TARGETS = [(host, scope) for host, about in HOSTS.items() for scope in about.files]
WITH_COMMENTS = (
    '\ufeff{\r\n    // keep\r\n    "theme": "dark", /* why */\r\n'
    '    "hooks": { "PreToolUse": [], "Other": [{"x": "y"}] },\r\n}'
)
THEIRS = {
    ".json": [WITH_COMMENTS, "{}\n", '{"version": 1, "hooks": {}, "mcpServers": {"a": {"command": "a"}}}'],
    ".toml": ["", "# mine\r\nmodel = 'm'\r\n\r\n[mcp_servers.a]\r\ncommand = 'a'"],
    ".md": ["", "# Mine\n", "# Mine without end"],
    ".mdc": ["---\nalwaysApply: false\n---\n"],
    ".js": [],
}


def tree(*folders: Path) -> dict[str, tuple[int, bytes | str]]:
    """Every file, folder and link below, with mode and content."""
    found: dict[str, tuple[int, bytes | str]] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            mode = path.lstat().st_mode
            content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else ""
            found[str(path)] = (mode, content)
    return found


def in_form_of(host: str, text: str) -> str:
    """Kiro's hooks are a list."""
    if host != "kiro":
        return text
    return text.replace('"hooks": {}', '"hooks": []').replace('{ "PreToolUse": [], "Other": [{"x": "y"}] }', "[ ]")


def put_all(host: str, scope: str, project: Path) -> list[str]:
    actions = []
    for part in plan.parts(host, scope, project).values():
        change = apply.putting(part)
        apply.carry_out(change)
        actions.append(change.action)
    return actions


def take_all(host: str, scope: str, project: Path) -> None:
    for part in plan.parts(host, scope, project).values():
        apply.carry_out(apply.taking(part))


@pytest.mark.parametrize(("host", "scope"), TARGETS)
def test_files_that_we_made_go_with_their_folders(host: str, scope: str, project: Path, home: Path) -> None:
    before = tree(project, home)
    assert set(put_all(host, scope, project)) <= {"created", "changed"}  # changed: two parts in one file
    after = tree(project, home)
    assert set(put_all(host, scope, project)) == {"unchanged"}
    assert tree(project, home) == after
    assert {state(part).status for name, part in plan.parts(host, scope, project).items() if name != "hooks"} <= {
        "installed"
    }
    take_all(host, scope, project)
    assert tree(project, home) == before


@pytest.mark.parametrize(("host", "scope"), TARGETS)
@pytest.mark.parametrize("which", range(3))
def test_files_of_the_user_come_back_to_the_byte(host: str, scope: str, which: int, project: Path, home: Path) -> None:
    for part in plan.parts(host, scope, project).values():
        texts = THEIRS[part.path.suffix]
        if which < len(texts):
            part.path.parent.mkdir(parents=True, exist_ok=True)
            part.path.write_bytes(in_form_of(host, texts[which]).encode())
            part.path.chmod(0o640)
    before = tree(project, home)
    put_all(host, scope, project)
    after = tree(project, home)
    for path, (mode, content) in before.items():
        assert after[path][0] == mode
        if after[path][1] != content:
            assert after[f"{path}.capy-backup"] == (mode, content)
    put_all(host, scope, project)
    assert tree(project, home) == after
    take_all(host, scope, project)
    assert tree(project, home) == before


@pytest.mark.parametrize("host", [host for host in HOSTS if host != "opencode"])
def test_hooks_have_the_form_of_their_host(host: str, project: Path) -> None:
    put_all(host, "project", project)
    value = jsonc.parse(plan.parts(host, "project", project)["hooks"].path.read_text()).value
    handlers = list(found_handlers(value["hooks"]))
    assert len(handlers) == len(HOSTS[host].hooks)
    for handler in handlers:
        line = handler["action"]["command"] if host == "kiro" else handler["command"]
        assert (f"--platform {host}" in line) == (host != "claude")
        assert str(Path.home()) not in line  # the file is shared
        assert "//" not in line  # Cursor's reader of comments stumbles over it
        assert handler["timeout"] == (10_000 if host == "gemini" else 10)


def found_handlers(value: Any) -> Any:
    if isinstance(value, dict) and ("command" in value or "action" in value):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from found_handlers(item)


def test_the_servers_are_registered_where_each_host_looks(project: Path) -> None:
    for host in HOSTS:
        put_all(host, "project", project)
    read = {
        ".mcp.json": ("mcpServers", {"type": "stdio", "command": "capy-mcp", "args": []}),
        ".gemini/settings.json": ("mcpServers", {"command": "capy-mcp", "args": []}),
        ".cursor/mcp.json": ("mcpServers", {"command": "capy-mcp", "args": []}),
        ".vscode/mcp.json": ("servers", {"type": "stdio", "command": "capy-mcp", "args": []}),
        "opencode.json": ("mcp", {"type": "local", "command": ["capy-mcp"], "enabled": True}),
        ".kiro/settings/mcp.json": ("mcpServers", {"command": "capy-mcp", "args": []}),
    }
    for name, (key, value) in read.items():
        assert json.loads((project / name).read_text())[key] == {"capy": value}
    codex = tomllib.loads((project / ".codex/config.toml").read_text())
    assert codex["mcp_servers"]["capy"]["command"] == "capy-mcp"


def test_opencode_s_other_settings_file_is_taken_when_it_is_there(project: Path) -> None:
    (project / "opencode.jsonc").write_text("{ /* mine */ }")
    assert plan.parts("opencode", "project", project)["mcp"].path == project / "opencode.jsonc"


def test_hosts_settings_folders_can_be_moved(project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable, host, name in (
        ("CLAUDE_CONFIG_DIR", "claude", "settings.json"),
        ("CODEX_HOME", "codex", "hooks.json"),
        ("COPILOT_HOME", "vscode", "hooks/capy.json"),
    ):
        monkeypatch.setenv(variable, str(tmp_path / host))
        assert plan.parts(host, "user", project)["hooks"].path == tmp_path / host / name


def test_a_scope_that_the_host_does_not_know_is_a_usage_error(project: Path) -> None:
    with pytest.raises(UsageError, match="Codex CLI has no scope 'local'"):
        plan.parts("codex", "local", project)


def test_a_link_to_the_settings_stays_a_link(project: Path, home: Path, tmp_path: Path) -> None:
    target = tmp_path / "dotfiles.json"
    target.write_text('{"a": 1}')
    (home / ".claude").mkdir()
    (home / ".claude/settings.json").symlink_to(target)
    before = tree(home, tmp_path)
    put_all("claude", "user", project)
    assert (home / ".claude/settings.json").readlink() == target
    assert "hooks" in json.loads(target.read_text())
    take_all("claude", "user", project)
    assert tree(home, tmp_path) == before


@pytest.mark.parametrize("content", [b"", b"{", b'{"hooks": 1}', b"\xff\xfe{}", b'{"hooks": {"PreToolUse": {}}}'])
def test_a_file_that_cannot_be_read_is_left_alone(content: bytes, project: Path) -> None:
    path = project / ".claude/settings.json"
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(BadInput, match=r"settings\.json: "):
        put_all("claude", "project", project)
    assert path.read_bytes() == content
    assert not path.with_name("settings.json.capy-backup").exists()
    assert state(plan.parts("claude", "project", project)["hooks"]).status == "unreadable"


def test_a_file_changed_in_between_is_not_overwritten(project: Path) -> None:
    part = plan.parts("claude", "project", project)["hooks"]
    change = apply.putting(part)
    part.path.parent.mkdir()
    part.path.write_text('{"new": 1}')
    with pytest.raises(Busy):
        apply.carry_out(change)
    assert part.path.read_text() == '{"new": 1}'


def test_a_backup_stays_when_the_file_was_changed_meanwhile(project: Path) -> None:
    path = project / ".claude/settings.json"
    path.parent.mkdir()
    path.write_text('{"a": 1}')
    put_all("claude", "project", project)
    path.write_text(path.read_text().replace('"a": 1', '"a": 2'))
    take_all("claude", "project", project)
    assert path.read_text() == '{"a": 2}'
    assert path.with_name("settings.json.capy-backup").read_text() == '{"a": 1}'


def test_foreign_hooks_beside_ours_in_one_group_stay(project: Path) -> None:
    put_all("claude", "project", project)
    path = project / ".claude/settings.json"
    settings = json.loads(path.read_text())
    settings["hooks"]["PreToolUse"][0]["hooks"].append({"type": "command", "command": "mine"})
    path.write_text(json.dumps(settings))
    apply.carry_out(apply.taking(plan.parts("claude", "project", project)["hooks"]))
    (group,) = json.loads(path.read_text())["hooks"]["PreToolUse"]
    assert group["hooks"] == [{"type": "command", "command": "mine"}]


def test_states_from_absent_to_broken(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "a place"
    programs.mkdir()
    program = programs / "capy-hook"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    for host in HOSTS:
        part = plan.parts(host, "project", project)["hooks"]
        assert state(part).status == "absent"
        apply.carry_out(apply.putting(part))
        assert state(part).status == "installed", host
    part = plan.parts("claude", "project", project)["hooks"]
    text = part.path.read_text()
    part.path.write_text(text.replace('"timeout": 10', '"timeout": 5', 1))
    assert state(part).status == "outdated"
    program.unlink()
    for host in HOSTS:
        found = state(plan.parts(host, "project", project)["hooks"])
        assert (found.status, "capy-hook" in found.detail) == ("broken", True), host


def test_a_place_outside_of_the_path_is_enough(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    for host in HOSTS:
        part = plan.parts(host, "user", project)["hooks"]
        apply.carry_out(apply.putting(part))
        assert state(part).status == "installed", host


def test_a_place_that_will_not_last_is_not_written_down(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Path(sys.executable).with_name("capy-hook")
    assert command.fallback_for("user") == command.quoted(str(program))
    assert command.fallback_for("project") == "~/.local/bin/capy-hook"
    monkeypatch.setenv("XDG_CACHE_HOME", str(program.parent.parent))
    assert command.fallback_for("user") == "~/.local/bin/capy-hook"
    monkeypatch.delenv("XDG_CACHE_HOME")
    (home / ".local/bin").mkdir(parents=True)
    (home / ".local/bin/capy-hook").symlink_to(program)
    assert command.fallback_for("user") == "~/.local/bin/capy-hook"


def test_a_place_with_odd_characters_is_found(tmp_path: Path) -> None:
    program = tmp_path / 'it\'s "here"' / "capy-hook"
    line = command_line("pretooluse", "codex", command.quoted(str(program)))
    assert command.is_ours(line)
    assert not command.runs(line.replace("capy-hook pre", "gone pre", 1))
    program.parent.mkdir()
    program.write_text("")
    program.chmod(0o755)
    assert command.runs(line)
    assert not command.runs(line + "'")


def test_a_file_that_may_not_be_read_is_said_so(project: Path) -> None:
    part = plan.parts("claude", "project", project)["hooks"]
    part.path.mkdir(parents=True)
    assert state(part).status == "unreadable"


SHELLS = [shell for shell in ("sh", "bash", "dash", "zsh", "fish") if shutil.which(shell)]
PRINTS = '#!/bin/sh\ncat >/dev/null\necho "{\\"ran\\": \\"$1\\"}"\n'


def run(line: str, shell: str, path: Path, home: Path) -> subprocess.CompletedProcess[bytes]:
    environment = {"PATH": f"{path}:/usr/bin:/bin", "HOME": str(home)}
    return subprocess.run([shell, "-c", line], input=b"{}", capture_output=True, env=environment, timeout=20)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("host", list(HOSTS))
@pytest.mark.parametrize("fallback", ["~/.local/bin/capy-hook", "'/nowhere/with space/capy-hook'"])
def test_without_capy_the_call_goes_on(shell: str, host: str, fallback: str, tmp_path: Path, home: Path) -> None:
    done = run(command_line("pretooluse", host, fallback), shell, tmp_path, home)
    assert (done.returncode, done.stdout) == (0, b"{}\n" if host == "cursor" else b"")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("host", list(HOSTS))
@pytest.mark.parametrize("place", ["path", "home", "elsewhere"])
def test_capy_is_found_on_the_path_and_in_its_place(
    shell: str, host: str, place: str, tmp_path: Path, home: Path
) -> None:
    folders = {"path": tmp_path / "bin", "home": home / ".local/bin", "elsewhere": tmp_path / "it's here"}
    program = folders[place] / "capy-hook"
    program.parent.mkdir(parents=True)
    program.write_text(PRINTS)
    program.chmod(0o755)
    fallback = command.quoted(str(program)) if place == "elsewhere" else "~/.local/bin/capy-hook"
    done = run(command_line("pretooluse", host, fallback), shell, tmp_path / "bin", home)
    assert (done.returncode, done.stdout) == (0, b'{"ran": "pretooluse"}\n')


@pytest.mark.parametrize("shell", SHELLS)
def test_a_program_that_rots_or_fails_lets_the_call_go_on(shell: str, tmp_path: Path, home: Path) -> None:
    program = tmp_path / "capy-hook"
    for script in ("#!/nowhere/python\n", "#!/bin/sh\nexit 2\n", "#!/bin/sh\nkill -9 $$\n"):
        program.write_text(script)
        program.chmod(0o755)
        done = run(command_line("pretooluse", "claude", "~/.local/bin/capy-hook"), shell, tmp_path, home)
        assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.parametrize("shell", SHELLS)
def test_kiro_hears_a_refusal_by_status_and_stderr(shell: str, tmp_path: Path, home: Path) -> None:
    program = tmp_path / "capy-hook"
    program.write_text("#!/bin/sh\necho no >&2\nexit 2\n")
    program.chmod(0o755)
    done = run(command_line("pretooluse", "kiro", "~/.local/bin/capy-hook"), shell, tmp_path, home)
    assert (done.returncode, done.stderr) == (2, b"no\n")


def test_every_installed_event_is_one_that_capy_hook_knows() -> None:
    assert {ours for about in HOSTS.values() for _, ours, _ in about.hooks} <= set(EVENTS)
