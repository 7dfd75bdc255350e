"""`capy demo`: every answer is there, and nothing stays."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

import pytest

from capy_mcp import demo, demo_material
from conftest import Tool


def leftovers() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("capy-demo-*"))


def test_every_question_is_answered_from_a_fraction_of_the_bytes(
    tool: Tool, home: Path, project: Path, tmp_path: Path
) -> None:
    done = tool("capy", "demo", env={"TMPDIR": str(tmp_path)}, timeout=110)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, done.stderr) == (0, b""), found
    assert [item["answered"] for item in found] == [True] * 5
    raw, returned = (sum(item[name] for item in found) for name in ("raw_bytes", "returned_bytes"))
    assert raw > 2_000_000 and returned < raw / 50
    assert all(item["answer"] not in item["question"] for item in found)
    assert list(home.rglob("*")) == [] and list(project.iterdir()) == []
    assert list(tmp_path.glob("capy-demo-*")) == []


def test_a_person_gets_a_table_and_what_to_do_next(tool: Tool, project: Path) -> None:
    shown = tool("capy", "--format", "text", "demo", env={"UV": "/bin/uv"}, timeout=110).stdout.decode()
    assert "5 of 5" in shown and "kept out" in shown
    assert "uv run capy setup" in shown and "uv run capy doctor" in shown


def test_the_history_of_a_repository_is_asked_about(tool: Tool, project: Path) -> None:
    git = [
        "git",
        "-C",
        str(project),
        "-c",
        "user.name=A",
        "-c",
        "user.email=a@example.org",
        "-c",
        "commit.gpgsign=false",
    ]
    subprocess.run([*git, "init", "-q"], check=True)
    for number in range(120):
        for name in range(4):
            (project / f"module_{number % 7}_{name}.py").write_text(f"VALUE = {number * name}\n" * 3)
        subprocess.run([*git, "add", "-A"], check=True)
        subprocess.run([*git, "commit", "-qm", f"Teach module {number % 7} the value of step {number}"], check=True)
    with demo._scratch() as scratch:
        ask = demo._history_of(project, scratch)
        assert ask is not None and ask.question.startswith("which commit: Teach module")
        log = subprocess.run([*git, "log", "--oneline"], capture_output=True, check=True).stdout.decode()
        assert f"{ask.answer} {ask.question.removeprefix('which commit: ')}" in log
    seen: list[demo.Outcome] = []
    demo.run(seen.append, project)
    assert seen[0].ask.name == "this repository's history" and seen[0].answered


def test_without_a_repository_a_history_is_invented(project: Path) -> None:
    with demo._scratch() as scratch:
        assert demo._history_of(project, scratch) is None


def test_a_reader_that_leaves_is_no_error_of_the_server(project: Path) -> None:
    def leave(_: demo.Outcome) -> None:
        raise BrokenPipeError

    before = leftovers()
    with pytest.raises(BrokenPipeError):
        demo.run(leave)
    assert leftovers() <= before


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (demo_material.orders().decode(), demo_material.API_ANSWER),
        (demo_material.page().decode(), demo_material.PAGE_ANSWER),
    ],
)
def test_each_answer_stands_in_one_place(text: str, answer: str) -> None:
    assert text.count(answer) == 1


def test_files_are_the_same_each_time(tmp_path: Path) -> None:
    for write, answer in (
        (demo_material.write_log, demo_material.LOG_ANSWER),
        (demo_material.write_history, demo_material.HISTORY_ANSWER),
    ):
        for name in ("a", "b"):
            write(tmp_path / name)
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
        assert (tmp_path / "a").read_text().count(answer) == 1
