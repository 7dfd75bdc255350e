"""Shell lines with the installed tools in them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Shell = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def shell(key: str, project: Path) -> Shell:
    """Run a bash line in the project, the tools on its PATH; `pipefail` is set. Values come in as variables."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))

    def run(line: str, stdin: bytes = b"", **variables: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["bash", "-c", f"set -o pipefail\n{line}"],
            input=stdin,
            capture_output=True,
            env={**os.environ, "PATH": path, **variables},
            timeout=100,
        )

    return run
