"""A session file of a few lines, written and read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capy_core.sessions.events import Mark
from core.sessions.session_files import Read, as_bytes, read_whole, session_of


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Read]:
    """`read("claude", record, b"raw bytes", ...)`: write a file of these lines and read it."""

    def call(host: str, *lines: Any, name: str = "s.jsonl", start: Mark | None = None, **fields: Any) -> Read:
        path = tmp_path / name
        path.write_bytes(as_bytes(*lines))
        return read_whole(session_of(host, path, **fields), start)

    return call
