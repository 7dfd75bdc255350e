"""Programs beside what they stand for: code in each language, much output, a hook, the server's start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

from capy_core.config import ExecutorConfig
from capy_core.errors import NotFound
from capy_exec.plan import Prepared, lay_out, prepare
from capy_exec.request import Request
from capy_exec.run import run_code
from capy_exec.runtimes import LANGUAGES

from ..record import Metric
from .floors import run
from .timing import interleaved, metric, once, ratio

Progress = Callable[[str], None]
_NOTHING = {
    "elixir": ":ok",
    "go": "package main\nfunc main() {}",
    "javascript": "0",
    "perl": "1;",
    "php": "<?php",
    "python": "pass",
    "r": "invisible(0)",
    "ruby": "nil",
    "rust": "fn main() {}",
    "shell": ":",
    "typescript": "0",
}
_COMPILED = ("go", "rust", "elixir", "typescript")  # slow starts: fewer rounds
_CAP = 1 << 30  # bytes; above what is streamed here


def executing(scratch: Path, rounds: int, progress: Progress) -> Iterator[Metric]:
    """For each language that this machine has: the same script run by capy and bare, in turns."""
    for name in LANGUAGES:
        progress(f"run {name}")
        request = Request(name, _NOTHING[name])
        try:
            prepared = prepare(request)
            _bare(prepared, scratch)
        except (NotFound, OSError, subprocess.CalledProcessError):  # `capy-exec runtimes` tells what is missing
            continue
        taken = interleaved(
            {
                "bare": partial(_bare, prepared, scratch),
                "capy": partial(_by_capy, request, ExecutorConfig()),
            },
            3 if name in _COMPILED else rounds,
        )
        yield metric(f"exec/{name}", "bare", taken["bare"])
        yield metric(f"exec/{name}", "capy", taken["capy"])
        yield ratio(f"exec/{name}", "ratio", taken["capy"], taken["bare"])


def streaming(megabytes: int, rounds: int) -> Iterator[Metric]:
    """Much output through capy, of which head and tail are kept, and into a bare pipe that is read to its end."""
    code = f"head -c {megabytes * 1_000_000} /dev/zero | tr '\\0' 'x' | fold -w 120"
    config = ExecutorConfig(hard_cap_bytes=_CAP)
    taken = interleaved(
        {
            "bare": lambda: subprocess.run(["sh", "-c", code], stdout=subprocess.PIPE, check=True),
            "capy": lambda: _by_capy(Request("shell", code), config),
        },
        rounds,
    )
    group = f"output/{megabytes} MB"
    yield metric(group, "bare", taken["bare"])
    yield metric(group, "capy", taken["capy"])
    yield ratio(group, "ratio", taken["capy"], taken["bare"])


def hooking(scratch: Path, rounds: int) -> Iterator[Metric]:
    """The installed capy-hook, by what it has to do, beside the bare start of an interpreter."""
    program = _beside("capy-hook")
    if program is None:
        return
    (scratch / "hooked" / ".claude").mkdir(parents=True)
    rules = {"permissions": {"deny": ["Bash(sudo *)", "Read(./.env)"]}}
    (scratch / "hooked" / ".claude" / "settings.json").write_text(json.dumps(rules))
    events: dict[str, tuple[str, Path, dict[str, object]]] = {
        "ignored": ("posttooluse", scratch, {"tool_name": "TodoWrite", "tool_input": {}}),
        "handled": ("pretooluse", scratch, {"tool_name": "WebFetch", "tool_input": {"url": "https://example.org/a"}}),
        "parsed": (
            "pretooluse",
            scratch / "hooked",
            {"tool_name": "Bash", "tool_input": {"command": "git status | cat"}},
        ),
    }
    actions: dict[str, Callable[[], object]] = {"python": partial(run, [sys.executable, "-c", "pass"])}
    for name, (event, project, payload) in events.items():
        actions[name] = _hook(program, event, project, payload, scratch)
    taken = interleaved(actions, rounds)
    for name in events:
        yield metric(f"hook/{name}", "time", taken[name])
        yield ratio(f"hook/{name}", "ratio", taken[name], taken["python"])


def serving(scratch: Path, rounds: int) -> Iterator[Metric]:
    """The installed server from its start to the answer of `initialize`."""
    program = _beside("capy-mcp")
    if program is None:
        return
    taken = interleaved(
        {"python": partial(run, [sys.executable, "-c", "pass"]), "server": partial(_initialize, program, scratch)},
        rounds,
    )
    yield metric("mcp", "initialize", taken["server"])
    yield ratio("mcp", "ratio", taken["server"], taken["python"])


def commands(scratch: Path, rounds: int) -> Iterator[Metric]:
    """The start of the installed command lines."""
    for name in ("capy-exec", "capy-store", "capy-qualstat"):
        if program := _beside(name):
            spent = [once(partial(run, [program, "--help"])) for _ in range(rounds + 1)]
            yield metric("start", name, spent[1:])


def _by_capy(request: Request, config: ExecutorConfig) -> None:
    result = run_code(request, config)
    if not result.succeeded:
        raise ValueError(f"{request.language} ran bare and not by capy: {result.outcome}")


def _apart(scratch: Path) -> dict[str, str]:
    """The environment without what leads to the user's own store, key and settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "CAPY_", "CLAUDE_"))}
    return kept | {"HOME": str(scratch)}


def _bare(prepared: Prepared, scratch: Path) -> None:
    """The steps of a run with nothing around them, in a new folder as capy's are: compilers remember old ones."""
    with TemporaryDirectory(dir=scratch) as folder:
        steps, variables = lay_out(prepared, Path(folder))
        for step in steps:
            run(step, env=os.environ | variables)


def _hook(program: str, event: str, project: Path, payload: dict[str, object], scratch: Path) -> Callable[[], object]:
    data = json.dumps({"session_id": "bench", "cwd": str(project), "hook_event_name": event} | payload).encode()
    env = _apart(scratch) | {"CLAUDE_PROJECT_DIR": str(project)}
    return lambda: subprocess.run([program, event], input=data, env=env, capture_output=True, check=True)


def _initialize(program: str, scratch: Path) -> None:
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "0"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    server = subprocess.Popen(
        [program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_apart(scratch),
        cwd=scratch,
    )
    with server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(message).encode() + b"\n")
        server.stdin.flush()
        answer = json.loads(server.stdout.readline())
        server.stdin.close()
    if "result" not in answer:
        raise ValueError(f"the server answered initialize with {answer}")


def _beside(name: str) -> str | None:
    """An installed program of ours: first that of this environment."""
    own = Path(sys.executable).with_name(name)
    return str(own) if own.exists() else which(name)
