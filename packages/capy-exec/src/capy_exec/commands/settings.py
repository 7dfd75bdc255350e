"""What the commands need to know of the project."""

from __future__ import annotations

from pathlib import Path

from capy_core.cli import App
from capy_core.config import ExecutorConfig, load
from capy_core.paths import project_root


def settings(app: App) -> tuple[Path, ExecutorConfig]:
    """The project's folder, in which code runs, and its `[executor]` settings."""
    root = project_root(app.project_dir)
    return root, load(root, app.warn).executor
