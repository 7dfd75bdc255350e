"""The first minutes with the tools, in the order of the README: a key, a large log, one question."""

from __future__ import annotations

import json
import os
import pty
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import Tool


def build_log() -> str:
    """Half a megabyte as a build prints it, with one failure in the middle."""
    lines = []
    for number in range(10500):
        lines.append(
            f"[{number:05}] Compiling module_{number % 97} v0.{number % 13}.{number % 7} ({number % 41} units)"
        )
        if number % 50 == 0:
            lines.append(f"warning: unused variable `tmp_{number}` in src/module_{number % 97}/lib.rs:{number % 300}")
        if number == 6200:
            lines += [
                "error[E0502]: cannot borrow `ledger` as mutable because it is also borrowed as immutable",
                "   --> src/accounts/transfer.rs:218:9",
                "    |",
                "218 |         ledger.post(entry);",
                "    |         ^^^^^^^^^^^^^^^^^^ mutable borrow occurs here",
            ]
    return "\n".join(lines) + "\n"


def test_a_key_a_log_a_question(tool: Tool, home: Path, project: Path) -> None:
    without_key = tool("capy-store", "index", "--label", "x", stdin=b"text")
    error = json.loads(without_key.stderr)
    assert without_key.returncode == 6 and "keygen --save" in error["hint"]

    assert tool("capy-store", "keygen", "--save").returncode == 0
    key_file = home / ".config" / "capy" / "db.key"
    assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
    assert tool("capy-store", "keygen", "--save").returncode != 0  # the first key is not lost

    log = build_log().encode()
    assert 450_000 < len(log) < 600_000
    indexed = tool("capy-store", "index", "--label", "build", stdin=log)
    record = json.loads(indexed.stdout)
    assert (indexed.returncode, record["source"], record["content_type"]) == (0, "build", "output")

    answer = tool("capy-store", "search", "why can ledger not be borrowed as mutable", "--limit", "3")
    hits = [json.loads(line) for line in answer.stdout.splitlines()]
    assert answer.returncode == 0
    assert "error[E0502]" in hits[0]["content"] and "transfer.rs:218" in hits[0]["content"]
    assert len(answer.stdout) < 4000  # of more than 450,000

    shown = tool("capy-store", "show", "build", "--lines", f"{hits[0]['line_start']}:{hits[0]['line_end']}")
    assert "error[E0502]" in json.loads(shown.stdout)["content"]

    (database,) = (home / ".local/share/capy").glob("*/knowledge.db")
    assert b"E0502" not in database.read_bytes() and stat.S_IMODE(database.stat().st_mode) == 0o600


@pytest.mark.usefixtures("key")
def test_a_person_at_a_terminal_reads_text(tool: Tool, project: Path) -> None:
    tool("capy-store", "index", "--label", "build", stdin=build_log().encode())
    master, slave = pty.openpty()
    command = [Path(sys.executable).with_name("capy-store"), "search", "ledger borrow mutable"]
    done = subprocess.run(command, stdin=slave, stdout=slave, stderr=slave, check=False, timeout=60)
    os.close(slave)
    shown = os.read(master, 60_000).decode()
    os.close(master)
    assert done.returncode == 0
    assert "E0502" in shown and "build" in shown and '{"schema"' not in shown
