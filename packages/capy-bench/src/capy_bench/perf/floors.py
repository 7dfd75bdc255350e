"""What this machine can do at best, without capy: the figures that ratios stand on."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from ..record import Metric
from .text import documents
from .timing import metric, once, times

_BLOCK = os.urandom(1 << 20)


def floors(scratch: Path, rounds: int) -> Iterator[Metric]:
    """Starts of an interpreter and a shell, a plain FTS5 table, a write that reaches the disk, a loop of arithmetic."""
    for name, command in (
        ("python_start", [sys.executable, "-c", "pass"]),
        ("python_isolated_start", [sys.executable, "-I", "-S", "-c", "pass"]),
        ("sh_start", ["sh", "-c", ":"]),
    ):
        yield metric("floor", name, times(partial(run, command), rounds))
    yield metric("floor", "arithmetic", times(lambda: sum(number * number for number in range(300_000)), rounds))
    yield metric("floor", "write_and_sync_1mb", times(lambda: _sync(scratch / "block"), rounds))
    texts = [text for _, text in documents("log", 1_000_000)]
    size = sum(len(text.encode()) for text in texts) / 1e6
    spent = [once(partial(_plain_fts5, scratch / f"plain-{number}.db", texts)) for number in range(3)]
    yield metric("floor", "plain_fts5_insert", [size / (milliseconds / 1000) for milliseconds in spent], unit="MB/s")


def run(command: list[str], **options: object) -> None:
    """Run a command to its end, its output to nowhere.

    Raises:
        subprocess.CalledProcessError: it failed; its time would mean nothing.
    """
    subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
        **options,  # type: ignore[call-overload]
    )


def _plain_fts5(path: Path, texts: list[str]) -> None:
    """Texts into an unencrypted FTS5 table in chunks of 2,000 characters: indexing with nothing around it."""
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("CREATE VIRTUAL TABLE chunks USING fts5(content, tokenize = 'porter unicode61')")
    for text in texts:
        chunks = [(text[at : at + 2000],) for at in range(0, len(text), 2000)]
        with db:
            db.executemany("INSERT INTO chunks VALUES (?)", chunks)
    db.close()


def _sync(path: Path) -> None:
    with path.open("wb") as file:
        file.write(_BLOCK)
        file.flush()
        os.fsync(file.fileno())
