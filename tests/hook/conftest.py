"""A hook as a process, as its host runs it: bytes in, bytes out."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Hook = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def hook(tool: Hook, project: Path) -> Callable[..., Any]:
    """`hook("pretooluse", tool_name=..., tool_input=...)` -> the decoded answer, or None for no output; status 0."""

    def run(event: str, *options: str, env: dict[str, str] | None = None, **payload: object) -> Any:
        common = {"hook_event_name": event, "session_id": "s-1", "cwd": str(project)}
        done = tool("capy-hook", event, *options, stdin=json.dumps(common | payload).encode(), env=env)
        assert (done.returncode, done.stderr) == (0, b"")
        return json.loads(done.stdout) if done.stdout else None

    return run


@pytest.fixture
def log(home: Path) -> Callable[[], str]:
    """The text of the hook's log, "" when there is none."""

    def read() -> str:
        file = home / ".local" / "state" / "capy" / "hook.log"
        return file.read_text() if file.exists() else ""

    return read


@pytest.fixture
def rules(project: Path) -> Callable[..., Path]:
    """`rules(deny=["Bash(sudo:*)"])` writes them into the project's settings for Claude Code."""

    def write(**permissions: list[str]) -> Path:
        file = project / ".claude" / "settings.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({"permissions": permissions}))
        return file

    return write
