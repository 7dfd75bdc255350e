"""What the tests of running code share. All eleven runtimes are expected to be on the machine."""

from __future__ import annotations

import os
import pwd
import random
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capy_core.config import ExecutorConfig
from capy_exec.run import Request, Result, run_code

# rustup keeps its toolchains in the home of the user, which may not be the HOME that the tests were started with
_HOME = Path(pwd.getpwuid(os.getuid()).pw_dir)
_RUSTUP = Path(os.environ.get("RUSTUP_HOME") or _HOME / ".rustup")

Run = Callable[..., Result]
Tool = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture(autouse=True)
def toolchains(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let rustup's proxies find their toolchain although the test's home is empty."""
    if _RUSTUP.is_dir():
        monkeypatch.setenv("RUSTUP_HOME", str(_RUSTUP))


@pytest.fixture
def execute(project: Path) -> Run:
    """Run code in the project folder: `execute("shell", "echo hi", timeout=2)`, with settings as `config=`."""

    def run(language: str, code: str, *, config: ExecutorConfig | None = None, **fields: Any) -> Result:
        return run_code(Request(language, code, cwd=project, **fields), config or ExecutorConfig())

    return run


@pytest.fixture
def mark() -> str:
    """A number that no other process of the machine has on its command line, for `sleep`."""
    return str(random.randint(10**8, 10**9))


def processes_with(mark: str) -> list[str]:
    """Command lines that contain the mark."""
    listing = subprocess.run(["ps", "-A", "-o", "stat=,args="], capture_output=True, text=True, check=True).stdout
    return [line for line in listing.splitlines() if mark in line and not line.startswith("Z")]


def wait_until(condition: Callable[[], object], seconds: float = 10) -> bool:
    """Wait for something to become true; False when it did not."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())
