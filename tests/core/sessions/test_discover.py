from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capy_core.errors import NotFound
from capy_core.sessions import claude, claude_files, discover
from capy_core.sessions.events import Session
from capy_core.sessions.tree import Note
from core.sessions.session_files import as_bytes

ID = "11111111-2222-3333-4444-555555555555"


def line(text: str = "hi", **fields: Any) -> dict[str, Any]:
    return {"type": "user", "parentUuid": None, "message": {"role": "user", "content": text}, **fields}


def put(path: Path, *lines: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(as_bytes(*lines))
    return path


def found_in(root: Path, notes: list[Note] | None = None) -> list[Session]:
    return list(discover.find(["claude"], roots={"claude": root}, notes=notes))


def test_a_session_has_its_sub_agents_of_all_layouts_and_its_other_files(tmp_path: Path) -> None:
    folder = tmp_path / "projects" / "-w"
    main = put(folder / f"{ID}.jsonl", line(sessionId=ID))
    put(folder / "agent-abcdef0.jsonl", line("old", sessionId=ID, agentId="abcdef0", isSidechain=True))
    put(folder / ID / "subagents" / "agent-a17.jsonl", line("new", sessionId=ID, agentId="a17"))
    put(folder / ID / "subagents" / "agent-a17.meta.json", {"agentType": "Explore", "description": "look"})
    put(folder / ID / "subagents" / "workflows" / "run" / "agent-w1.jsonl", line("flow"))
    put(folder / ID / "subagents" / "workflows" / "run" / "journal.jsonl", {"type": "started"})
    put(folder / ID / "tool-results" / "t.txt", b"output")
    put(folder / "journal.jsonl", {"type": "started"})
    (session,) = found_in(tmp_path / "projects")
    assert (session.host, session.id, session.path, session.folder) == ("claude", ID, main, "-w")
    assert (session.size, session.mtime_ns) == (main.stat().st_size, main.stat().st_mtime_ns)
    assert [agent.agent_id for agent in session.agents] == ["abcdef0", "a17", "w1"]
    assert {agent.parent_id for agent in session.agents} == {ID}
    assert (session.agents[1].agent_type, session.agents[1].description) == ("Explore", "look")
    assert [(file.name, file.size) for file in session.sidecars] == [
        ("subagents/agent-a17.meta.json", 48),
        ("subagents/workflows/run/journal.jsonl", 20),
        ("tool-results/t.txt", 6),
    ]


def test_an_old_sub_agent_without_its_session_is_not_lost(tmp_path: Path) -> None:
    put(tmp_path / "p" / "agent-abc.jsonl", b"torn{\n", line(sessionId="gone"))
    (session,) = found_in(tmp_path)
    assert (session.agent_id, session.parent_id) == ("abc", "gone")


def test_a_folder_without_its_session_is_none(tmp_path: Path) -> None:
    put(tmp_path / "p" / ID / "subagents" / "agent-a.jsonl", line())
    assert found_in(tmp_path) == []


def test_links_are_passed_over_and_noted_but_the_root_may_be_one(tmp_path: Path) -> None:
    real = tmp_path / "data" / "projects"
    put(real / "b" / "s.jsonl", line())
    secret = put(tmp_path / "secret.txt", b"secret")
    (real / "a").symlink_to(real / "b")
    (real / "loop").symlink_to(real)
    (real / "b" / "s").mkdir()
    (real / "b" / "s" / "etc").symlink_to(secret)
    (real / "b" / "link.jsonl").symlink_to(real / "b" / "s.jsonl")
    (tmp_path / "home").symlink_to(tmp_path / "data")
    notes: list[Note] = []
    (session,) = found_in(tmp_path / "home" / "projects", notes)
    assert session.path == real / "b" / "s.jsonl"
    assert session.sidecars == ()
    assert sorted(note.path.name for note in notes) == ["a", "etc", "link.jsonl", "loop"]


def test_folders_too_deep_are_noted(tmp_path: Path) -> None:
    put(tmp_path / "p" / "s.jsonl", line())
    deep = tmp_path / "p" / "s" / "/".join("abcdefghijk")
    put(deep / "f", b"")
    notes: list[Note] = []
    (session,) = found_in(tmp_path, notes)
    assert session.sidecars == ()
    assert [note.reason for note in notes] == ["nested too deeply"]


def test_a_closed_folder_is_noted_and_the_others_are_found(
    open_folder: Path, without_privileges: Callable[..., Any]
) -> None:
    put(open_folder / "a" / "s.jsonl", line())
    put(open_folder / "b" / "s.jsonl", line())
    (open_folder / "a").chmod(0)

    def look() -> list[Any]:
        notes: list[Note] = []
        return [[session.folder for session in found_in(open_folder, notes)], [note.reason for note in notes]]

    folders, reasons = without_privileges(look)
    (open_folder / "a").chmod(0o755)
    assert folders == ["b"]
    assert reasons == ["cannot be read: Permission denied"]


def test_the_project_is_what_the_records_say_not_the_folder(tmp_path: Path) -> None:
    first = put(tmp_path / "-p----app" / "a.jsonl", {"type": "summary", "summary": "x"}, line(cwd="/p/문서/app"))
    put(first.with_name("b.jsonl"), line(cwd="/p/사진/app"), line(cwd="/elsewhere"))
    put(first.with_name("c.jsonl"), {"type": "summary", "summary": "x"})
    assert [discover.project(session) for session in found_in(tmp_path)] == [
        ("/p/문서/app", "recorded"),
        ("/p/사진/app", "recorded"),
        ("-p----app", "unknown"),
    ]


def test_a_folders_name_is_guessed_only_if_one_existing_folder_fits(tmp_path: Path) -> None:
    (tmp_path / "my.app" / "sub dir").mkdir(parents=True)
    name = claude_files.encode(f"{tmp_path}/my.app/sub dir")
    assert claude_files.guess(name) == tmp_path / "my.app" / "sub dir"
    (tmp_path / "my" / "app" / "sub-dir").mkdir(parents=True)
    assert claude_files.guess(name) is None
    assert claude_files.guess("-no-such-folder-at-all") is None
    assert claude_files.guess("relative") is None


@pytest.mark.parametrize(
    ("path", "name"),
    [("/mnt/c/my_app", "-mnt-c-my-app"), ("/h/My.Project", "-h-My-Project"), ("/é/文", "----"), ("/\U0001f600", "---")],
)
def test_folders_are_named_as_the_host_names_them(path: str, name: str) -> None:
    assert claude_files.encode(path) == name


def test_the_default_place_follows_the_variable(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    assert claude.roots() == (home / ".claude" / "projects",)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/c")
    assert claude.roots() == (Path("/c/projects"),)


def test_nothing_is_found_on_an_empty_machine() -> None:
    notes: list[Note] = []
    assert list(discover.find(notes=notes)) == []
    assert notes == []


def test_all_hosts_are_found_in_their_default_places(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CODEX_HOME", raising=False)
    put(home / ".claude" / "projects" / "-w" / "c.jsonl", line())
    meta = {"type": "session_meta", "payload": {"id": "x", "cwd": "/w"}}
    put(home / ".codex" / "sessions" / "2026" / "01" / "01" / "rollout-x.jsonl", meta)
    put(home / ".gemini" / "tmp" / "p" / "chats" / "session-g.json", b"{}")
    put(home / ".local" / "share" / "opencode" / "storage" / "session" / "p" / "o.json", {"id": "o"})
    assert [(session.host, session.id) for session in discover.find()] == [
        ("claude", "c"),
        ("codex", "x"),
        ("gemini", "session-g"),
        ("opencode", "o"),
    ]


def test_any_folder_is_searched_and_the_host_told_from_the_content(tmp_path: Path) -> None:
    put(tmp_path / "x" / "one.jsonl", line())
    put(tmp_path / "x" / "one" / "subagents" / "agent-a.jsonl", line())
    put(tmp_path / "x" / "two.jsonl", {"type": "session_meta", "payload": {"id": "x"}})
    put(tmp_path / "y" / "three.json", json.dumps({"projectHash": "h", "messages": []}).encode())
    put(
        tmp_path / "y" / "four.jsonl",
        {"id": "a", "type": "user", "content": "q"},
        {"id": "b", "type": "gemini", "content": "r"},
    )
    put(tmp_path / "z" / "session" / "p" / "o.json", {"id": "o"})
    put(tmp_path / "z" / "message" / "o" / "m.json", {"id": "m", "role": "user"})
    readme = put(tmp_path / "README.md", b"text")
    notes: list[Note] = []
    found = list(discover.at(tmp_path, notes=notes))
    assert sorted((session.id, session.host) for session in found) == [
        ("four", "gemini"),
        ("o", "opencode"),
        ("one", "claude"),
        ("three", "gemini"),
        ("two", "codex"),
    ]
    assert [note.path for note in notes] == [readme]
    (one,) = discover.at(tmp_path / "x" / "one.jsonl")
    assert [agent.id for agent in one.agents] == ["agent-a"]
    with pytest.raises(NotFound):
        list(discover.at(tmp_path / "none"))


def test_a_pipe_in_the_tree_does_not_hang_the_search(tmp_path: Path) -> None:
    put(tmp_path / "p" / "s.jsonl", line())
    os.mkfifo(tmp_path / "p" / "pipe.jsonl")
    assert [session.id for session in found_in(tmp_path)] == ["s"]
