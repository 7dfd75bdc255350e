"""Advice comes once for each session and kind, whatever the id looks like and however many hooks run at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capy_hook import guidance
from capy_hook.guidance import TIPS, prune, tip


def markers(home: Path) -> list[Path]:
    folder = home / ".local" / "state" / "capy" / "hook"
    return [path for path in folder.rglob("*") if path.is_file()] if folder.exists() else []


@pytest.mark.parametrize("tool", TIPS)
def test_the_first_call_of_a_session_gets_advice_and_the_second_none(tool: str) -> None:
    assert tip(tool, "s", "").startswith("<context_guidance><tip>")
    assert tip(tool, "s", "") == ""


def test_each_session_each_agent_and_each_kind_counts_for_itself() -> None:
    calls = [(tool, session, agent) for tool in TIPS for session in ("a", "b") for agent in ("", "x")]
    assert all(tip(*call) for call in calls)
    assert not any(tip(*call) for call in calls)


def test_without_a_session_nothing_is_said() -> None:
    assert tip("Read", "", "") == ""


@given(st.text(min_size=1))
def test_any_id_stays_inside_the_state_folder(session: str) -> None:
    name = guidance._name(session)
    assert name.isalnum() and len(name) < 200


def test_ids_that_are_paths_write_nothing_elsewhere(home: Path, project: Path) -> None:
    assert tip("Read", "../../../../x", "/etc/passwd")
    assert len(markers(home)) == 1
    assert list(project.iterdir()) == []


def test_long_ids_with_one_beginning_differ() -> None:
    assert guidance._name("x" * 500 + "a") != guidance._name("x" * 500 + "b")


def test_of_many_hooks_at_once_one_speaks(project: Path) -> None:
    program = Path(sys.executable).with_name("capy-hook")
    data = json.dumps({"tool_name": "Read", "tool_input": {"file_path": "x"}, "session_id": "s", "cwd": "/"}).encode()
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    running = [subprocess.Popen([program, "pretooluse"], **pipes) for _ in range(8)]
    spoken = [out for process in running if (out := process.communicate(data)[0])]
    assert len(spoken) == 1


def test_through_the_process_it_is_said_once(hook: Callable[..., Any], home: Path) -> None:
    said = hook("pretooluse", tool_name="Bash", tool_input={"command": "./gradlew build"})["hookSpecificOutput"]
    assert "permissionDecision" not in said
    assert "capy_execute" in said["additionalContext"]
    assert hook("pretooluse", tool_name="Bash", tool_input={"command": "mvn test"}) is None


def test_the_end_of_a_session_drops_its_markers_only(hook: Callable[..., Any], home: Path) -> None:
    tip("Read", "s-1", "")
    tip("Read", "s-2", "")
    assert hook("sessionend", reason="exit") is None
    assert len(markers(home)) == 1
    assert tip("Read", "s-2", "") == ""


def test_the_start_of_a_session_drops_old_markers_only(hook: Callable[..., Any], home: Path) -> None:
    tip("Read", "old", "")
    week_ago = markers(home)[0].stat().st_mtime - 8 * 24 * 3600
    os.utime(markers(home)[0].parent, (week_ago, week_ago))
    tip("Read", "new", "")
    hook("sessionstart", source="startup")
    assert len(markers(home)) == 1
    assert tip("Read", "new", "") == ""


def test_pruning_survives_what_it_cannot_drop(home: Path) -> None:
    tip("Read", "s", "")
    folder = markers(home)[0].parent
    (folder / "a folder").mkdir()
    (folder.parent / "a file").write_text("")
    os.utime(folder, (0, 0))
    prune()
    assert folder.exists()


def test_a_folder_that_is_no_folder_means_no_advice(home: Path) -> None:
    (home / ".local").mkdir()
    (home / ".local" / "state").write_text("")
    assert tip("Read", "s", "") == ""
    prune()
    prune("s")
