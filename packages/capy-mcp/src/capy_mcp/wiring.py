"""What stands in the settings of AI tools, and whether it works: registered commands are started and spoken to."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from capy_core.errors import CapyError
from capy_hook.install import jsonc, plan, precommit
from capy_hook.install.command import outer_path, programs
from capy_hook.install.hosts import HOSTS
from capy_hook.install.state import command_lines, state
from capy_store.health import Check

if TYPE_CHECKING:
    from capy_hook.install.plan import Part

_AGAIN = "run: capy setup"
_ANSWER_S = 20.0
_VERSION_S = 5.0
_PROGRAMS = {
    "claude": "claude", "codex": "codex", "gemini": "gemini", "cursor": "cursor-agent", "vscode": "copilot",
    "opencode": "opencode", "kiro": "kiro-cli",
}  # fmt: skip
_REQUESTS = [
    {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "capy-doctor", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
]  # fmt: skip


class _Place(NamedTuple):
    """A part that is installed."""

    host: str
    scope: str
    part: Part

    @property
    def name(self) -> str:
        return f"{self.part.name} of {HOSTS[self.host].title} ({self.scope})"


class _Start(NamedTuple):
    """How a host starts what is registered: the candidates for the program, its arguments, the environment added."""

    kind: str
    programs: tuple[str, ...]
    arguments: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()

    def found(self, path: str) -> str | None:
        """The first of the programs that is there."""
        path = dict(self.env).get("PATH", path)
        return next((found for program in self.programs if (found := shutil.which(program, path=path))), None)

    @property
    def anywhere(self) -> str | None:
        """As `found`, last of all beside this interpreter: where a launcher such as `uv run` looks."""
        return self.found(outer_path()) or self.found(os.environ.get("PATH", os.defpath))


def checks(project: Path, *, thorough: bool) -> list[Check]:
    """Every entry of ours in the files of hosts; `thorough` starts what they name, and asks hosts for versions."""
    places = list(_places(project))
    found = [_broken(place) or _guarded_start(place, project) for place in places]
    starts = {item for item in found if isinstance(item, _Start) and item.anywhere} if thorough else set()
    with ThreadPoolExecutor(4) as pool:
        problems = dict(zip(starts, pool.map(lambda start: _problem(start, project), starts), strict=True))
    well = [
        _judged(place, item, problems.get(item, ""), thorough) if isinstance(item, _Start) else item
        for place, item in zip(places, found, strict=True)
    ]
    missing = (
        Check(kind, False, what, _AGAIN)
        for kind, what in (("mcp", "capy is registered with no AI tool"), ("hooks", "no AI tool has capy's hooks"))
        if not any(place.part.name == kind for place in places)
    )
    return [*missing, *well, *_guard(project), *(_host_versions(project) if thorough else ())]


def link_hint(folder: Path) -> str:
    """How programs that only a virtual environment has come to where AI tools find them."""
    return f"run: mkdir -p ~/.local/bin && ln -s {folder}/capy-mcp {folder}/capy-hook ~/.local/bin/"


def _places(project: Path) -> Iterator[_Place]:
    for host in HOSTS:
        for scope in HOSTS[host].files:
            for part in plan.parts(host, scope, project).values():
                if state(part).status != "absent":
                    yield _Place(host, scope, part)


def _broken(place: _Place) -> Check | None:
    stands = state(place.part)
    # A registration may be written in many ways: what counts is whether it works. And the hooks' command is looked at
    # more closely below
    judged_later = {"mcp": ("installed", "outdated"), "hooks": ("installed", "broken")}
    if stands.status in judged_later.get(place.part.name, ()):
        return None
    if stands.status == "installed":
        return Check(place.name, True, str(place.part.path))
    hint = "correct the file" if stands.status == "unreadable" else _AGAIN
    return Check(place.name, False, f"{place.part.path}: {stands.status}; {stands.detail}", hint)


def _guarded_start(place: _Place, project: Path) -> _Start | Check:
    try:
        return _start(place, project)
    except (KeyError, TypeError, IndexError, AttributeError, ValueError, OSError) as ex:  # edited by hand
        detail = f"{place.part.path}: cannot be understood ({type(ex).__name__}: {ex})"
        return Check(place.name, False, detail, "capy setup --uninstall, then capy setup")


def _start(place: _Place, project: Path) -> _Start | Check:
    env: dict[str, str] = {}
    if place.part.name == "mcp":
        words, env = registered(place.part.path, place.host, place.scope, project)
        candidates, arguments = words[:1], words[1:]
    else:
        line = next(command_lines(place.part, place.part.path.read_text(encoding="utf-8-sig")))
        candidates = programs(line)
        arguments = ["pretooluse", *(() if place.host == "claude" else ("--platform", place.host))]
    if place.part.path.is_relative_to(project):
        # It may have come with a clone: looking at it must not run what it names, nor in its environment
        known, env = [program for program in candidates if _is_known(program)], {}
        if not known:
            detail = f"{place.part.path}: {candidates[0]} was not started, because the project's own file names it"
            return Check(place.name, True, detail, "see what it is before your AI tool runs it")
        candidates = known
    return _Start(place.part.name, tuple(candidates), tuple(arguments), tuple(sorted(env.items())))


def _is_known(program: str) -> bool:
    """True for a name, which the user's PATH resolves, and for a place where the user has installed it."""
    name = os.path.basename(program)
    if program == name:
        return True
    ours = (shutil.which(name), str(Path(sys.executable).with_name(name)), os.path.expanduser(f"~/.local/bin/{name}"))
    return any(place and os.path.realpath(program) == os.path.realpath(place) for place in ours)


def _judged(place: _Place, start: _Start, problem: str, thorough: bool) -> Check:
    """The check of what a host starts."""
    path, name = place.part.path, " or ".join(start.programs)
    program, here = start.anywhere, Path(sys.executable).parent
    if program is None:
        is_here = (here / Path(start.programs[0]).name).exists()
        hint = link_hint(here) if is_here else f"install it, then {_AGAIN}"
        return Check(place.name, False, f"{path}: {name} is not there, or not on the PATH", hint)
    if problem:
        return Check(place.name, False, f"{path}: {program} {problem}", f"install it again, then {_AGAIN}")
    detail = f"{path}: {program} {'works' if thorough else 'is there'}"
    if start.found(outer_path()):
        return Check(place.name, True, detail)
    return Check(place.name, True, f"{detail}, on the PATH of this environment only", link_hint(Path(program).parent))


def _guard(project: Path) -> Iterator[Check]:
    """git's guard, where it is installed."""
    try:
        part = precommit.part(project)
    except CapyError:
        return
    stands = state(part)
    if stands.status != "absent":
        ok = stands.status == "installed"
        detail = str(part.path) if ok else f"{part.path}: {stands.status}; {stands.detail}"
        yield Check("guard of git", ok, detail, "" if ok else _AGAIN)


def _problem(start: _Start, project: Path) -> str:
    """What is wrong with a program that is there; "" when it answers."""
    program = start.anywhere
    assert program is not None
    speak = _shakes_hands if start.kind == "mcp" else _answers_an_event
    return speak([program, *start.arguments], dict(start.env), project)


def registered(path: Path, host: str, scope: str, project: Path) -> tuple[list[str], dict[str, str]]:
    """The command line by which a host starts the server, and what it adds to the environment."""
    text = path.read_text(encoding="utf-8-sig")
    if path.suffix == ".toml":
        import tomllib

        value: Any = tomllib.loads(text)
    else:
        value = jsonc.parse(text).value
    local = ("projects", str(project)) if scope == "local" else ()
    for name in (*local, *HOSTS[host].servers, plan.SERVER):
        value = value[name]
    command = value["command"]
    words = command if isinstance(command, list) else [command, *value.get("args", [])]
    added = value.get("env") or value.get("environment") or {}
    return [os.path.expanduser(str(words[0])), *map(str, words[1:])], {
        name: text for name, text in added.items() if isinstance(text, str)
    }


def _shakes_hands(words: list[str], env: Mapping[str, str], project: Path) -> str:
    """What is wrong with a server: it is asked for its tools as a host asks; "" when it has ours."""
    data = b"".join(json.dumps(request).encode() + b"\n" for request in _REQUESTS)
    status, out, problem = _run(words, data, env, project)
    if problem:
        return problem
    tools: set[str] = set()
    for line in out.splitlines():
        with suppress(ValueError, KeyError, TypeError):
            message = json.loads(line)
            if message.get("id") == 2:
                tools = {tool["name"] for tool in message["result"]["tools"]}
    if "capy_execute" in tools:
        return ""
    return f"does not list capy's tools (exit status {status})"


def _answers_an_event(words: list[str], env: Mapping[str, str], project: Path) -> str:
    """What is wrong with a hook: it gets an event that it has no answer for."""
    event = {"hook_event_name": "PreToolUse", "tool_name": "TodoRead", "tool_input": {}, "session_id": "capy-doctor"}
    status, _, problem = _run(words, json.dumps({**event, "cwd": str(project)}).encode(), env, project)
    return problem or (f"ends with exit status {status}" if status else "")


def _run(
    words: list[str], data: bytes, env: Mapping[str, str], project: Path, limit_s: float = _ANSWER_S
) -> tuple[int, bytes, str]:
    """Exit status and stdout of a program, or why there is none. It is ended with all it started when it takes long."""
    whole = {**os.environ, "CLAUDE_PROJECT_DIR": str(project), **env}
    try:
        process = subprocess.Popen(
            words, cwd=project, env=whole, start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except OSError as ex:  # such as an interpreter in the first line that is gone
        return 0, b"", f"cannot be started: {ex.strerror}"
    with process:
        try:
            out, _ = process.communicate(data, limit_s)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            return 0, b"", f"gave no answer within {limit_s:.0f} s"
    return process.returncode, out, ""


def _host_versions(project: Path) -> Iterator[Check]:
    """The AI tools on the PATH, as they name their versions."""
    there = {host: path for host, name in _PROGRAMS.items() if (path := shutil.which(name))}
    with ThreadPoolExecutor(max(1, len(there))) as pool:
        for host, told in zip(there, pool.map(lambda path: _version(path, project), there.values()), strict=True):
            yield Check(HOSTS[host].title, True, f"{there[host]}: {told}")


def _version(program: str, project: Path) -> str:
    _, out, _ = _run([program, "--version"], b"", {}, project, _VERSION_S)
    return out.decode("utf-8", "replace").strip().partition("\n")[0][:80] or "does not tell its version"
