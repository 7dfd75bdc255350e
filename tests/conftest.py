"""Shared fixtures: every test gets a HOME of its own, no keys, and helpers to run the installed tools."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

RAW_KEY = "x'" + "5a" * 32 + "'"

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # so does a shell with what it runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty HOME and XDG directories; nothing of the machine's own settings reaches a test."""
    home = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if name.startswith(("CAPY_", "CLAUDE_", "GIT_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    for name, folder in (
        ("CONFIG", ".config"),
        ("DATA", ".local/share"),
        ("STATE", ".local/state"),
        ("CACHE", ".cache"),
    ):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / folder))
    return home


@pytest.fixture
def lasting(home: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tools lie in a place that lasts, even if this checkout lies in the machine's temporary folder."""
    monkeypatch.setenv("TMPDIR", str(tmp_path_factory.mktemp("tmp")))
    monkeypatch.setattr(tempfile, "tempdir", None)  # asked for anew


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project folder, current directory of the test."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(folder))
    return folder


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    """A raw database key in the environment."""
    monkeypatch.setenv("CAPY_DB_KEY", RAW_KEY)
    return RAW_KEY


Tool = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def tool() -> Tool:
    """Run an installed command: `tool("capy-store", "search", "x", stdin=b"...")`; bytes in and out."""

    def run(
        name: str, *args: str | Path, stdin: bytes = b"", env: dict[str, str] | None = None, timeout: float = 60
    ) -> subprocess.CompletedProcess[bytes]:
        command = Path(sys.executable).with_name(name)
        return subprocess.run(
            [command, *map(str, args)],
            input=stdin,
            capture_output=True,
            env={**os.environ, **(env or {})},
            timeout=timeout,
        )

    return run


@pytest.fixture
def open_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that other users can reach (pytest's own is private)."""
    folder = tmp_path_factory.mktemp("open")
    above = itertools.takewhile(lambda part: not (part.is_mount() or part.stat().st_mode & 0o002), folder.parents)
    for part in above if os.geteuid() == 0 else ():
        part.chmod(0o755)
    folder.chmod(0o777)
    return folder
