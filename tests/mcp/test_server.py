"""The installed server as a host meets it: a process, lines in, lines out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import anyio
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from capy_mcp.context import Context
from capy_mcp.front import VERSIONS, welcome
from capy_mcp.serve import _server
from capy_mcp.tools.schemas import INSTRUCTIONS, TOOLS

from .peer import KEY, PROGRAM, Peer, gone, wait_for


@pytest.fixture
def peer(project: Path) -> Iterator[Peer]:
    with Peer(project, CAPY_DB_KEY=KEY) as server:
        yield server


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
@pytest.mark.parametrize("version", [*VERSIONS, "2026-07-28", "1999-01-01"])
async def test_the_front_answers_as_the_sdk_would(version: str, project: Path) -> None:
    """The SDK's own server, over its own streams in memory, beside our words."""
    from mcp.shared.message import SessionMessage

    from capy_mcp.wire import dump, parse

    server = _server(Context(project))
    to_server, for_server = anyio.create_memory_object_stream[SessionMessage | Exception](4)
    to_client, for_client = anyio.create_memory_object_stream[SessionMessage](4)
    hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    lines = (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    )
    async with to_server, for_client, anyio.create_task_group() as tasks:
        tasks.start_soon(server.run, for_server, to_client, server.create_initialization_options())
        for line in lines:
            await to_server.send(SessionMessage(parse(json.dumps(line).encode())))
        answers = [json.loads(dump((await for_client.receive()).message)) for _ in range(2)]
        tasks.cancel_scope.cancel()
    assert answers[0]["result"] == welcome(version)
    assert answers[1]["result"] == {"tools": TOOLS}


def test_what_a_host_pays_for_is_small() -> None:
    assert len(json.dumps(TOOLS)) / 4 <= 2000
    assert len(INSTRUCTIONS) / 4 <= 250


def test_it_answers_before_the_sdk_is_loaded(project: Path) -> None:
    code = (
        "import sys; sys.argv = ['capy-mcp']; from capy_mcp import front; front.Front._load_meanwhile = lambda _: None;"
        "import atexit, os; real = os._exit;"
        "os._exit = lambda code: (print(sorted({'mcp', 'pydantic', 'anyio', 'json', 're', 'click'} & set(sys.modules)),"
        "file=sys.stderr, flush=True), real(code)); front.main()"
    )
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    data = "".join(json.dumps(line) + "\n" for line in lines).encode()
    done = subprocess.run([sys.executable, "-I", "-c", code], input=data, capture_output=True, check=True, cwd=project)
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1, 2]
    assert done.stderr.decode().strip() == "[]"


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_sdks_own_client_lists_and_calls_the_tools(mode: str, project: Path) -> None:
    env = {**os.environ, "CLAUDE_PROJECT_DIR": str(project), "CAPY_DB_KEY": KEY}
    parameters = StdioServerParameters(command=str(PROGRAM), args=[], env=env, cwd=str(project))
    async with Client(parameters, mode=mode) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == [tool["name"] for tool in TOOLS]
        done = await client.call_tool("capy_execute", {"language": "shell", "code": "echo hello"})
        assert (done.is_error, done.content[0].text) == (False, "hello")
        failed = await client.call_tool("capy_execute", {"language": "shell", "code": "echo out; exit 3"})
        assert failed.is_error
        assert "exit code 3" in failed.content[0].text
        assert "out" in failed.content[0].text


def test_a_long_output_is_answered_by_its_lines_and_stays_searchable(peer: Peer) -> None:
    peer.start()
    code = "for i in $(seq 3000); do echo \"step $i went well\"; done; echo 'lighthouse: lamp 7 is out'; seq 2000"
    text, is_error = peer.call("capy_execute", language="shell", code=code, intent="which lamp is out")
    assert not is_error
    assert "lighthouse: lamp 7 is out" in text
    assert len(text) < 6500
    label = text.rsplit('"', 2)[1]
    again, _ = peer.call("capy_search", queries=["which lamp is out"], source=label)
    assert "lamp 7 is out" in again
    stats, _ = peer.call("capy_stats")
    assert "capy_execute | 1 |" in stats


def test_a_batch_answers_from_its_own_output_and_then_from_what_was_known(peer: Peer) -> None:
    peer.start()
    peer.call("capy_index", content="The harbour master keeps the tide tables in the red cabinet.", source="notes")
    text, is_error = peer.call(
        "capy_batch_execute",
        commands=[
            {"label": "a", "command": "echo apples are sold out"},
            {"label": "b", "command": "echo pears; exit 4"},
        ],
        queries=["which fruit is sold out", "where are tide tables"],
        concurrency=2,
    )
    assert not is_error
    assert text.index("# a [exit 0") < text.index("# b [exit code 4")
    assert "apples are sold out" in text
    assert "red cabinet" in text


def test_a_denied_command_does_not_run_and_the_rule_is_named(peer: Peer, project: Path) -> None:
    (project / ".claude").mkdir()
    (project / ".claude" / "settings.json").write_text('{"permissions": {"deny": ["Bash(touch *)", "Read(./.env)"]}}')
    (project / ".env").write_text("WORD=lighthouse")
    peer.start()
    for tool, arguments in (
        ("capy_execute", {"language": "shell", "code": "true && touch made"}),
        ("capy_execute", {"language": "python", "code": "import os; os.system('touch made')"}),
        ("capy_batch_execute", {"commands": ["touch made", "echo x"], "queries": ["x"]}),
        ("capy_execute_file", {"path": ".env", "language": "python", "code": "print(FILE_CONTENT)"}),
        ("capy_index", {"path": ".env"}),
    ):
        text, is_error = peer.call(tool, **arguments)
        assert is_error, text
        assert "touch *" in text or "./.env" in text
        assert "lighthouse" not in text
    assert not (project / "made").exists()


def test_without_a_key_code_runs_and_the_rest_says_what_to_do(project: Path) -> None:
    with Peer(project) as server:
        server.start()
        assert server.call("capy_execute", language="shell", code="echo hello") == ("hello", False)
        text, is_error = server.call(
            "capy_execute", language="shell", code="seq 9000; echo done 77", intent="what is done"
        )
        assert not is_error
        assert "done 77" in text
        assert "keygen --save" in text
        text, is_error = server.call("capy_search", queries=["x"])
        assert is_error
        assert "keygen --save" in text
        assert server.close() == 0


def test_a_changed_file_is_indexed_anew_before_it_answers(peer: Peer, project: Path) -> None:
    file = project / "conf.txt"
    file.write_text("the timeout of the harbour crane is 30 seconds\n")
    peer.start()
    peer.call("capy_index", path="conf.txt")
    facts = file.stat()
    file.write_text("the timeout of the harbour crane is 90 seconds\n")
    os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    text, _ = peer.call("capy_search", queries=["timeout of the crane"])
    assert "90 seconds" in text
    assert "indexed anew" in text
    file.unlink()
    text, _ = peer.call("capy_search", queries=["timeout of the crane"])
    assert "the file is gone" in text


@pytest.mark.parametrize(
    "line",
    [b"", b"oops", b"{}", b"[]", b"\xc3\x28", b'{"jsonrpc": "2.0", "id": null, "method": "x"}', b"[" * 100_000,
     b'{"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "capy_search", "arguments": '
     b'{"queries": ["\\ud800"]}}}'],
)  # fmt: skip
def test_a_broken_line_ends_nothing(peer: Peer, line: bytes) -> None:
    peer.start()
    peer.answer(peer.ask("tools/list"))
    peer.send(line)
    assert peer.answer(peer.ask("ping"))["result"] == {}


def test_output_that_is_no_text_comes_back_as_text(peer: Peer) -> None:
    peer.start()
    text, _ = peer.call("capy_execute", language="shell", code="printf 'a\\377b \\355\\240\\200 c'")
    assert text.startswith("a")
    assert text.endswith("c")
    assert peer.answer(peer.ask("ping"))["result"] == {}


def test_an_unknown_tool_is_an_error_that_names_those_there_are(peer: Peer) -> None:
    peer.start()
    error = peer.answer(peer.ask("tools/call", {"name": "capy_dance", "arguments": {}}))["error"]
    assert error["code"] == -32602
    assert "capy_search" in error["message"]


def test_twenty_calls_at_once_are_answered_each_with_its_own(peer: Peer) -> None:
    peer.start()
    asked = {
        peer.ask(
            "tools/call", {"name": "capy_execute", "arguments": {"language": "shell", "code": f"sleep 0.3; echo {n}"}}
        ): n
        for n in range(20)
    }
    found = {}
    while len(found) < 20:
        message = json.loads(peer.lines.get(timeout=30))
        if "id" in message:
            found[message["id"]] = message["result"]["content"][0]["text"]
    assert found == {number: str(n) for number, n in asked.items()}


def test_a_cancelled_call_ends_its_command(peer: Peer, project: Path) -> None:
    peer.start()
    code = "echo $$ > pid; exec sleep 60"
    number = peer.ask("tools/call", {"name": "capy_execute", "arguments": {"language": "shell", "code": code}})
    pid = wait_for(project / "pid")
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}
    peer.send(json.dumps(note).encode())
    assert gone(pid)
    assert peer.answer(peer.ask("ping"))["result"] == {}


@pytest.mark.parametrize("how", ["stdin", "SIGTERM", "SIGINT", "SIGKILL"])
def test_however_it_ends_its_commands_end_with_it(peer: Peer, project: Path, how: str) -> None:
    peer.start()
    peer.call("capy_index", content="kept", source="notes")
    code = "echo $$ > pid; exec sleep 60"
    peer.ask("tools/call", {"name": "capy_execute", "arguments": {"language": "shell", "code": code}})
    pid = wait_for(project / "pid")
    start = time.monotonic()
    if how == "stdin":
        assert peer.close() == 0
    else:
        peer.process.send_signal(getattr(signal, how))
        status = peer.process.wait(5)
        assert status == {"SIGTERM": 143, "SIGINT": 130, "SIGKILL": -9}[how]
    assert time.monotonic() - start < 4
    assert gone(pid)
    if how != "SIGKILL":
        logs = [path for path in Path(os.environ["HOME"]).rglob("knowledge.db-wal") if path.stat().st_size]
        assert logs == [], "the write-ahead log was folded into the file"


@pytest.mark.parametrize("greeted", [False, True])
def test_it_ends_when_its_parent_is_gone_though_the_pipe_stays_open(project: Path, greeted: bool) -> None:
    reader, writer = os.pipe()
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    lines = (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    )
    if greeted:
        os.write(writer, b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    code = (
        "import subprocess, sys, time; null = subprocess.DEVNULL;"
        f"p = subprocess.Popen([{str(PROGRAM)!r}], stdin={reader}, stdout=null, stderr=null);"
        "print(p.pid); time.sleep(1)"
    )
    parent = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, pass_fds=[reader], check=True, cwd=project
    )
    assert gone(int(parent.stdout), seconds=10)
    os.close(writer)
    os.close(reader)


def test_two_servers_of_a_project_lose_nothing(project: Path) -> None:
    with ExitStack() as stack:
        servers = [stack.enter_context(Peer(project, CAPY_DB_KEY=KEY)) for _ in range(2)]
        asked = []
        for server in servers:
            server.start()
        for number in range(10):
            for name, server in zip("ab", servers, strict=True):
                arguments = {"content": f"lantern {name}{number} burns", "source": f"{name}{number}"}
                asked.append((server, server.ask("tools/call", {"name": "capy_index", "arguments": arguments})))
        for server in servers:
            waiting = {number for its, number in asked if its is server}
            while waiting:
                message = json.loads(server.lines.get(timeout=30))
                assert not message["result"]["isError"]
                waiting.discard(message["id"])
            assert server.close() == 0
        reader = stack.enter_context(Peer(project, CAPY_DB_KEY=KEY))
        reader.start()
        text, _ = reader.call("capy_search", queries=["lantern burns"], limit=50)
        assert sum(f"lantern {name}{number} burns" in text for name in "ab" for number in range(10)) == 20


def test_a_ping_is_answered_while_the_sdk_is_loaded(peer: Peer) -> None:
    peer.start()
    peer.ask("tools/list")
    numbers = [peer.ask("ping") for _ in range(3)]
    call = peer.ask("tools/call", {"name": "capy_execute", "arguments": {"language": "shell", "code": "echo x"}})
    order = [json.loads(peer.lines.get(timeout=30))["id"] for _ in range(5)]
    assert order[1:4] == numbers
    assert order[4] == call
