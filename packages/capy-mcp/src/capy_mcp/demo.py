"""A demonstration with nothing staged: the real server, real commands, sizes as they were measured.

Everything happens in a temporary folder with a key and a home of its own; nothing of the user's is read, apart from the
history of the repository that the demo is started in, and nothing stays.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple

from capy_core.errors import SystemFailure

from . import demo_material as material
from .umbrella import found

if TYPE_CHECKING:
    from mcp import ClientSession

_LIMIT_S = 120.0
_COMMITS = 400
_LEAST_HISTORY = 20_000  # bytes; a shorter one is no demonstration
_GET = "import urllib.request as u; data = u.build_opener(u.ProxyHandler({{}})).open({url!r}).read(); "
_TESTS = f"{shlex.quote(sys.executable)} -m unittest -v test_shop"


class Scratch(NamedTuple):
    """Where the demo works."""

    project: Path
    home: Path
    env: dict[str, str]
    url: str


class Ask(NamedTuple):
    """One question and the calls that answer it.

    Attributes:
        name: what is looked at.
        question: as an agent would put it.
        answer: words that the reply must hold; the question does not.
        raw_bytes: what would have been read without capy.
        calls: tool and arguments, in this order.
    """

    name: str
    question: str
    answer: str
    raw_bytes: int
    calls: tuple[tuple[str, dict[str, Any]], ...]


class Outcome(NamedTuple):
    """What came of a question; `tools` are the tools that were called."""

    ask: Ask
    tools: str
    returned_bytes: int
    answered: bool
    seconds: float


def run(tell: Callable[[Outcome], None], repository: Path | None = None) -> None:
    """Ask all questions, one after the other.

    Args:
        tell: called with each outcome as it comes.
        repository: a folder; where it lies in a git repository with some history, that is asked about too.

    Raises:
        SystemFailure: the server cannot be started, or does not answer.
    """
    import anyio
    from mcp.shared.exceptions import MCPError

    with _scratch() as scratch:
        asks = [*_asks(scratch, repository)]
        log = scratch.home / "server.log"

        async def talk() -> None:
            with anyio.fail_after(_LIMIT_S):
                async with _client(scratch, log) as session:
                    for ask in asks:
                        tell(await _outcome(session, ask))

        try:
            anyio.run(talk)
        except (Exception, BaseExceptionGroup) as ex:
            first = _first(ex)
            if isinstance(first, BrokenPipeError) or not isinstance(first, OSError | TimeoutError | MCPError):
                raise first from None
            said = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
            message = f"the server did not answer: {first}" + (f" ({said[-1]})" if said else "")
            raise SystemFailure(message, "run: capy doctor") from first


def _first(ex: BaseException) -> BaseException:
    """What went wrong first; what runs side by side fails in groups."""
    while isinstance(ex, BaseExceptionGroup):
        ex = ex.exceptions[0]
    return ex


@contextmanager
def _scratch() -> Iterator[Scratch]:
    from capy_core.keys import generate_raw_key

    with TemporaryDirectory(prefix="capy-demo-", ignore_cleanup_errors=True) as folder, _served() as url:
        base = Path(os.path.realpath(folder))
        project, home = base / "shop", base / "home"
        for place in (project, home):
            place.mkdir()
        (project / ".capy.toml").touch()  # so that it is a project, wherever the folder lies
        env = {
            "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)]),
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "CAPY_DB_KEY": generate_raw_key().reveal(),
            "CLAUDE_PROJECT_DIR": str(project),
            **{f"XDG_{name}_HOME": str(home / name.lower()) for name in ("CONFIG", "DATA", "STATE", "CACHE")},
        }
        yield Scratch(project, home, env, url)


@contextmanager
def _served() -> Iterator[str]:
    """The API and the page, on this machine only."""
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    content = {
        "/orders": ("application/json", material.orders()),
        "/manual": ("text/html; charset=utf-8", material.page()),
    }

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind, body = content[self.path]
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing: the demo's own lines are what people read."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _asks(scratch: Scratch, repository: Path | None) -> Iterator[Ask]:
    """All questions. What a command prints is measured here by running it without capy."""
    yield (repository and _history_of(repository, scratch)) or _invented_history(scratch)
    material.write_tests(scratch.project)
    size = len(_printed(_TESTS, scratch))
    yield _execute("a run of 300 tests", material.TEST_QUESTION, material.TEST_ANSWER, size, "shell", f"{_TESTS} 2>&1")
    log = scratch.project / "shop.log"
    material.write_log(log)
    arguments = {
        "path": log.name, "language": "python", "code": "print(FILE_CONTENT)", "intent": material.LOG_QUESTION,
    }  # fmt: skip
    calls = (("capy_execute_file", arguments),)
    yield Ask("a server's log", material.LOG_QUESTION, material.LOG_ANSWER, log.stat().st_size, calls)
    code = _GET.format(url=f"{scratch.url}/orders") + "print(data.decode())"
    size = len(material.orders())
    yield _execute("an API's reply", material.API_QUESTION, material.API_ANSWER, size, "python", code)
    code = _GET.format(url=f"{scratch.url}/manual") + "open('manual.html', 'wb').write(data)"
    fetched: tuple[tuple[str, dict[str, Any]], ...] = (
        ("capy_execute", {"language": "python", "code": code}),
        ("capy_index", {"path": "manual.html", "source": "manual"}),
        ("capy_search", {"queries": [material.PAGE_QUESTION], "source": "manual"}),
    )
    yield Ask("a web page", material.PAGE_QUESTION, material.PAGE_ANSWER, len(material.page()), fetched)


def _execute(name: str, question: str, answer: str, size: int, language: str, code: str) -> Ask:
    arguments = {"language": language, "code": code, "intent": question}
    return Ask(name, question, answer, size, (("capy_execute", arguments),))


def _history_of(folder: Path, scratch: Scratch) -> Ask | None:
    """A question about a commit in the middle of a repository's history; None when there is not enough of it."""
    git = f"git -C {shlex.quote(str(folder))} -c log.showSignature=false"  # else the repository may name a program
    command = f"{git} log --no-color --oneline --stat -n {_COMMITS}"
    printed = _printed(command, scratch)
    commits = [line for line in printed.decode("utf-8", "replace").splitlines() if line[:1].strip()]
    middle = commits[len(commits) // 2].partition(" ") if commits else ("", "", "")
    name, _, subject = middle
    if len(printed) < _LEAST_HISTORY or not subject or any(part in subject for part in (name, "http")):
        return None
    return _execute("this repository's history", f"which commit: {subject}", name, len(printed), "shell", command)


def _invented_history(scratch: Scratch) -> Ask:
    path = scratch.project / "history.txt"
    material.write_history(path)
    size, question, answer = path.stat().st_size, material.HISTORY_QUESTION, material.HISTORY_ANSWER
    return _execute("a project's history", question, answer, size, "shell", f"cat {path.name}")


def _printed(command: str, scratch: Scratch) -> bytes:
    """What a command prints, both streams; b"" when it cannot be run."""
    env = {name: text for name, text in scratch.env.items() if name != "CAPY_DB_KEY"}
    try:
        done = subprocess.run(
            command, shell=True, cwd=scratch.project, env=env, timeout=30,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return done.stdout


@asynccontextmanager
async def _client(scratch: Scratch, log: Path) -> AsyncIterator[ClientSession]:
    """A connection to a server of its own, as an AI tool makes it."""
    from mcp.client.stdio import StdioServerParameters, stdio_client

    from mcp import ClientSession

    program = found("capy-mcp")
    if not program:
        raise SystemFailure("capy-mcp is not installed here", "install the package capy-mcp")
    server = StdioServerParameters(command=program, env=scratch.env, cwd=scratch.project)
    with log.open("w", encoding="utf-8") as errors:
        async with stdio_client(server, errlog=errors) as wire, ClientSession(*wire) as session:
            await session.initialize()
            yield session


async def _outcome(session: ClientSession, ask: Ask) -> Outcome:
    begin, replies = time.monotonic(), []
    for tool, arguments in ask.calls:
        result = await session.call_tool(tool, arguments)
        replies.append("".join(getattr(item, "text", "") for item in getattr(result, "content", ())))
    text = "\n".join(replies)
    tools = ", ".join(tool for tool, _ in ask.calls)
    return Outcome(ask, tools, len(text.encode("utf-8", "replace")), ask.answer in text, time.monotonic() - begin)
