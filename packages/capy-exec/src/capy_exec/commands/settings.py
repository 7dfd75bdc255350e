"""What the commands need to know of the project."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TextIO

from capy_core.cli import App
from capy_core.config import ExecutorConfig, load
from capy_core.paths import project_root


def settings(app: App) -> tuple[Path, ExecutorConfig]:
    """The project's folder, in which code runs, and its `[executor]` settings."""
    root = project_root(app.project_dir)
    return root, load(root, app.warn).executor


def coloured(stream: TextIO) -> bool:
    """True when colour is welcome there (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR")
