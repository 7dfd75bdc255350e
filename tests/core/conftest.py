"""Helpers for tests of the core: real processes, with and without privileges."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Python = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def python() -> Python:
    """Run Python code in a process of its own: `python("print(1)", "arg", env={...})`; bytes out."""

    def run(code: str, *args: str | Path, env: dict[str, str] | None = None, **options: Any) -> Any:
        command = [sys.executable, "-c", textwrap.dedent(code), *map(str, args)]
        options.setdefault("timeout", 60)
        if not {"stdout", "stderr"} & options.keys():
            options["capture_output"] = True
        return subprocess.run(command, env={**os.environ, **(env or {})}, **options)

    return run


@pytest.fixture
def start() -> Callable[..., subprocess.Popen[bytes]]:
    """Start Python code in a process of its own and leave it running; ended with the test."""
    running: list[subprocess.Popen[bytes]] = []

    def launch(code: str, *args: str | Path) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", textwrap.dedent(code), *map(str, args)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        running.append(process)
        return process

    yield launch
    for process in running:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


@pytest.fixture
def without_privileges() -> Callable[[Callable[[], Any]], Any]:
    """The JSON-ready result of a function, called in a forked process as an ordinary user: permissions bind there."""

    def call(function: Callable[[], Any]) -> Any:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                if os.geteuid() == 0:
                    os.setgid(65534)
                    os.setuid(65534)
                os.write(writer, json.dumps(function()).encode())
                status = 0
            except BaseException as ex:
                os.write(writer, json.dumps(f"failed: {ex!r}").encode())
            finally:
                os._exit(status)
        os.close(writer)
        with os.fdopen(reader, "rb") as stream:
            answer = stream.read()
        os.waitpid(child, 0)
        return json.loads(answer)

    return call
