"""A server as a process, seen by its client."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any

PROGRAM = Path(sys.executable).with_name("capy-mcp")
KEY = "x'" + "5a" * 32 + "'"
Message = dict[str, Any]


class Peer:
    """A server and the lines that it wrote."""

    def __init__(self, project: Path, **environment: str) -> None:
        env = {**os.environ, "CLAUDE_PROJECT_DIR": str(project), **environment}
        self.process = subprocess.Popen(
            [str(PROGRAM)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=project, env=env,
        )  # fmt: skip
        self.lines: Queue[bytes] = Queue()
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()
        self._number = 0
        self.methods: set[str] = set()  # of the notifications that came

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)

    def send(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: Message | None = None) -> int:
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params or {}}
        self.send(json.dumps(message).encode())
        return self._number

    def answer(self, number: int, seconds: float = 30) -> Message:
        """The answer to a request; notifications before it are passed over. Every line must be JSON-RPC."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            message: Message = json.loads(self.lines.get(timeout=left))
            assert message["jsonrpc"] == "2.0"
            if message.get("id") == number:
                return message
            self.methods.add(message.get("method", ""))
        raise Empty

    def start(self, version: str = "2025-06-18") -> Message:
        client = {"name": "test", "version": "1"}
        number = self.ask("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": client})
        result: Message = self.answer(number)["result"]
        self.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        return result

    def call(self, tool: str, **arguments: Any) -> tuple[str, bool]:
        result = self.answer(self.ask("tools/call", {"name": tool, "arguments": arguments}))["result"]
        return result["content"][0]["text"], result["isError"]

    def close(self, seconds: float = 5) -> int:
        """The exit status after stdin was closed."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(seconds)

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self._reader.join()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            with suppress(BrokenPipeError):
                stream.close()
        self.process.wait()


def wait_for(file: Path) -> int:
    end = time.monotonic() + 20
    while time.monotonic() < end:
        if file.exists() and file.read_text().strip():
            return int(file.read_text())
        time.sleep(0.02)
    raise AssertionError(f"{file} did not appear")


def gone(pid: int, seconds: float = 5) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (ProcessLookupError, FileNotFoundError):
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False
