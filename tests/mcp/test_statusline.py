"""`capy statusline`: one line, whatever it is given."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from capy_mcp import statusline
from capy_mcp.call import Reply
from capy_mcp.stats import Stats
from conftest import Tool


def event(folder: Path) -> bytes:
    return json.dumps({"session_id": "s", "cwd": "/", "workspace": {"project_dir": str(folder)}}).encode()


@pytest.fixture
def counted(project: Path) -> Path:
    """A project in which three calls were counted; the file of counts."""
    (project / ".capy").mkdir()
    stats = Stats.of_project(project)
    stats.count("capy_execute", Reply("x" * 1_000, raw_bytes=2_000_000))
    stats.count("capy_search", Reply("y" * 500))
    stats.count("capy_execute", Reply("z" * 100, raw_bytes=50))
    return Path(statusline.stats_file(str(project)))


def wait_for_note(file: Path, least: int = 0) -> dict[str, int]:
    note, end = Path(statusline.note_of(str(file))), time.monotonic() + 30
    while not note.exists() or (found := json.loads(note.read_text()))["sources"] is None or found["upto"] < least:
        assert time.monotonic() < end
        time.sleep(0.05)
    return dict(found)


def test_the_line_holds_what_was_kept_out_and_returned(tool: Tool, project: Path, counted: Path) -> None:
    done = tool("capy", "statusline", stdin=event(project))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"capy: 2.0 MB kept out, 1.6 KB returned\n", b"")


def test_the_next_line_holds_the_sources_too(tool: Tool, project: Path, counted: Path, key: str) -> None:
    tool("capy-store", "index", "--label", "a", stdin=b"some text\n")
    tool("capy", "statusline", stdin=event(project))
    assert wait_for_note(counted)["upto"] == counted.stat().st_size
    done = tool("capy", "statusline", stdin=event(project))
    assert done.stdout == b"capy: 2.0 MB kept out, 1.6 KB returned, 1 source\n"


def test_calls_after_the_note_are_counted(tool: Tool, project: Path, counted: Path, key: str) -> None:
    tool("capy-store", "index", "--label", "a", stdin=b"some text\n")
    tool("capy", "statusline", stdin=event(project))
    wait_for_note(counted)
    Stats.of_project(project).count("capy_execute", Reply("x" * 1_000, raw_bytes=3_000_000))
    assert statusline.line(str(counted)) == "capy: 5.0 MB kept out, 2.6 KB returned, 1 source"


def test_a_file_whose_lines_were_added_up_is_counted_anew(counted: Path) -> None:
    note = {"raw": 9, "returned": 9, "upto": 10**6, "sources": 4}
    Path(statusline.note_of(str(counted))).write_text(json.dumps(note))
    assert statusline.line(str(counted)) == "capy: 2.0 MB kept out, 1.6 KB returned"


def test_lines_that_are_torn_or_foreign_are_passed_over(counted: Path) -> None:
    with counted.open("ab") as file:
        file.write(b'{"tool": "x", "calls": 1, "ra\nnonsense\n{"a": }\n{"b": 1}\n')
    assert statusline.line(str(counted)) == "capy: 2.0 MB kept out, 1.6 KB returned"


def test_a_folder_inside_a_project_shows_the_projects_counts(tool: Tool, project: Path, counted: Path) -> None:
    inner = project / "src" / "deep"
    inner.mkdir(parents=True)
    assert tool("capy", "statusline", stdin=event(inner)).stdout.startswith(b"capy: 2.0 MB")
    (inner / ".git").mkdir()
    assert tool("capy", "statusline", stdin=event(inner)).stdout == b"\n"


@pytest.mark.parametrize("stdin", [b"", b"no json", b"[]", b'{"workspace": 3}', b'{"cwd": "\\u0000"}', b"\xff\xfe{}"])
def test_whatever_goes_wrong_the_line_is_empty(tool: Tool, project: Path, stdin: bytes) -> None:
    done = tool("capy", "statusline", stdin=stdin)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"\n", b"")


def test_a_password_manager_is_not_asked(tool: Tool, home: Path, project: Path, counted: Path) -> None:
    config = home / ".config/capy/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f"[keys]\ndb_command = \"touch '{project}/asked'\"\n")
    tool("capy", "statusline", stdin=event(project))
    note, end = Path(statusline.note_of(str(counted))), time.monotonic() + 30
    while not note.exists():
        assert time.monotonic() < end
        time.sleep(0.05)
    time.sleep(0.5)  # as long as the rest of the child's work takes
    assert not (project / "asked").exists()


def test_nothing_heavy_is_loaded_for_the_line(project: Path, counted: Path) -> None:
    Path(statusline.note_of(str(counted))).write_text("{}")
    program = Path(sys.executable).with_name("capy")
    done = subprocess.run(
        [sys.executable, "-X", "importtime", program, "statusline"],
        input=event(project),
        capture_output=True,
        timeout=60,
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}
    assert b"kept out" in done.stdout
    assert loaded & {"click", "json", "pathlib", "re", "hashlib", "sqlcipher3", "dataclasses", "tomllib"} == set()
