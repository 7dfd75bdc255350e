"""The exit codes of docs/formats/exit-codes.md, each by a command that ends so."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import RAW_KEY, Tool

from .conftest import FORMATS

OTHER_KEY = "x'" + "a5" * 32 + "'"


@pytest.fixture
def filled(tool: Tool, project: Path, key: str) -> Path:
    """A project whose store holds one source."""
    assert tool("capy-store", "index", "--label", "notes", stdin=b"The keeper winds the clockwork.\n").returncode == 0
    return project


@pytest.mark.parametrize(
    ("code", "command"),
    [
        (0, "capy-store search clockwork"),
        (1, "capy-store search zeppelin"),
        (2, "capy-store search --nope x"),
        (2, "capy-store nope"),
        (2, "capy-store show"),
        (2, "capy-exec nope -c x"),
        (3, "capy-store show nothing"),
        (3, "capy-store delete nothing"),
        (3, "capy-store index no-such-file"),
        (3, "capy-exec python no-such-file.py"),
        (0, "capy-exec shell -c true"),
        (1, "capy-exec shell -c false"),
    ],
)
def test_a_command_ends_with_its_code(tool: Tool, filled: Path, code: int, command: str) -> None:
    assert tool(*command.split()).returncode == code


def test_bad_input_is_4(tool: Tool, filled: Path) -> None:
    (filled / "image.bin").write_bytes(bytes(range(256)) * 40)
    assert tool("capy-store", "index", "image.bin").returncode == 4
    (filled / ".capy.toml").write_text("[store\n")
    assert tool("capy-store", "sources").returncode == 4


def test_no_key_and_a_wrong_key_are_6(tool: Tool, filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tool("capy-store", "search", "clockwork", env={"CAPY_DB_KEY": OTHER_KEY}).returncode == 6
    monkeypatch.delenv("CAPY_DB_KEY")
    assert tool("capy-store", "search", "clockwork").returncode == 6


def test_a_private_address_is_refused_with_7(tool: Tool, filled: Path) -> None:
    assert tool("capy-store", "fetch", "http://127.0.0.1:9/x").returncode == 7


def test_a_database_kept_busy_is_5(tool: Tool, filled: Path) -> None:
    import sqlcipher3.dbapi2 as sqlcipher

    path = next(Path.home().glob(".local/share/capy/*/knowledge.db"))
    other = sqlcipher.connect(str(path), isolation_level=None)
    other.execute(f'PRAGMA key = "{RAW_KEY}"')
    other.execute("BEGIN IMMEDIATE")
    try:
        assert tool("capy-store", "delete", "notes").returncode == 5
    finally:
        other.close()


def test_a_partial_failure_is_1(tool: Tool, filled: Path) -> None:
    lines = b'{"schema": "capy.document/1", "label": "good", "content": "text"}\n{"schema": "capy.document/1"}\n'
    done = tool("capy-store", "index", stdin=lines)
    assert (done.returncode, done.stdout.count(b"\n"), done.stderr.count(b"\n")) == (1, 1, 1)


def test_ctrl_c_is_130(project: Path) -> None:
    command = [str(Path(sys.executable).with_name("capy-exec")), "shell", "-c", "touch up; sleep 60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while not (project / "up").exists() and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
    assert process.returncode == 130


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_closed_pipe_is_141(tool: Tool, filled: Path, unbuffered: str) -> None:
    text = b"".join(b"line %d of the clockwork log, long enough to fill a pipe soon\n" % i for i in range(20_000))
    tool("capy-store", "index", "--label", "log", stdin=text)
    command = [str(Path(sys.executable).with_name("capy-store")), "show", "log"]
    env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_the_page_lists_these_codes() -> None:
    page = (FORMATS / "exit-codes.md").read_text(encoding="utf-8")
    codes = [line.split("|")[1].strip() for line in page.splitlines() if line.startswith("| ")]
    assert codes[1:] == ["0", "1", "2", "3", "4", "5", "6", "7", "70", "130", "141"]
