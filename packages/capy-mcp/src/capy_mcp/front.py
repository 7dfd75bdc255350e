"""The server's door: answers `initialize`, `tools/list` and `ping` by itself; all else is the MCP SDK's.

Importing the SDK takes twenty times as long as these answers, and a host waits for them with each start. So it is
imported in a thread once they are given, while the model thinks. They hold what the SDK would say: tests/mcp compares
them for each protocol version. Standard library only.
"""

from __future__ import annotations

import fcntl
import os
import select
import sys

from capy_core.barejson import decode, encode

from . import __version__
from .tools.schemas import INSTRUCTIONS, NAME, TOOLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from threading import Thread
    from typing import Any

# with a handshake; an unknown or newer version is answered with the newest of these, as the SDK does
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
_HANDSHAKE = {"protocolVersion", "capabilities", "clientInfo"}
_CHUNK = 1 << 16
_PATIENCE_MS = 1000  # how often the parent is looked at


class Front:
    """One connection before the SDK has it.

    Attributes:
        incoming, outgoing: the file descriptors of the wire.
        rest: bytes that were read and not yet used.
        replay: lines that the SDK must see, in order.
        answered: the id of the `initialize` that is answered already: the SDK's own answer is dropped. None before.
        parent: the process that started us.
    """

    def __init__(self, incoming: int, outgoing: int) -> None:
        self.incoming, self.outgoing = incoming, outgoing
        self.rest = bytearray()
        self.replay: list[bytes] = []
        self.answered: int | str | None = None
        self.parent = os.getppid()
        self.server: Any = None  # the module and its context, once `_load` has them
        self._loader: Thread | None = None
        self._ready = select.poll()
        self._ready.register(incoming, select.POLLIN)

    def run(self) -> bool:
        """Answer until something comes that is for the SDK.

        Returns:
            False at the end of input: the client is gone.
        """
        while (line := self._line()) is not None:
            if line.strip() and self._leave(line):
                return True
        return False

    def _leave(self, line: bytes) -> bool:
        """Answer a line; True when the SDK is to go on, from the lines in `replay`."""
        method, number, params = _parts(line)
        if self.answered is None:
            if method == "server/discover" and number is not None:
                # a client of 2026-07-28 asks first whether we can do without a handshake; answered by the SDK, it would
                # refuse the `initialize` with which such clients go on
                self._say(number, "error", {"code": -32601, "message": "Method not found"})
                return False
            if method == "initialize" and number is not None and params.keys() >= _HANDSHAKE:
                self.answered = number
                self.replay.append(line)
                self._say(number, "result", welcome(params["protocolVersion"]))
                return False
        elif method == "notifications/initialized":
            self.replay.append(line)
            return False
        elif method == "tools/list" and number is not None:
            self._say(number, "result", {"tools": TOOLS})
            self._load_meanwhile()
            return False
        elif method == "ping" and number is not None:
            self._say(number, "result", {})
            return False
        self.replay.append(line)
        return True

    def serve(self) -> int:
        """Hand the connection to the SDK; returns the exit status."""
        if self._loader:
            self._loader.join()
        if self.server is None:  # nobody has asked for the tools, or loading failed: then it says why
            self._load()
        module, context = self.server
        return int(module.serve(self, context))

    def _load_meanwhile(self) -> None:
        if self._loader is None:
            from threading import Thread

            self._loader = Thread(target=self._load, daemon=True)
            self._loader.start()

    def _load(self) -> None:
        import gc
        from importlib import import_module

        gc.disable()  # the SDK makes half a million objects that live on
        module = import_module(f"{__package__}.serve")
        context = module.prepare()
        gc.freeze()
        gc.enable()
        self.server = module, context

    def _line(self) -> bytes | None:
        """The next line without its end; None at the end of input, and when the parent is gone."""
        seen = 0
        while (end := self.rest.find(b"\n", seen)) < 0:
            seen = len(self.rest)
            while not self._ready.poll(_PATIENCE_MS):
                if os.getppid() != self.parent:  # it died, though another process may hold its end of the pipe open
                    return None
            chunk = os.read(self.incoming, _CHUNK)
            if not chunk:
                return None
            self.rest += chunk
        line = bytes(self.rest[:end])
        del self.rest[: end + 1]
        return line

    def _say(self, number: int | str, kind: str, body: dict[str, Any]) -> None:
        data = memoryview(encode({"jsonrpc": "2.0", "id": number, kind: body}) + b"\n")
        while data:
            data = data[os.write(self.outgoing, data) :]


def welcome(version: object) -> dict[str, Any]:
    """The result of `initialize` for the version that a client asks for."""
    return {
        "protocolVersion": version if version in VERSIONS else VERSIONS[-1],
        "capabilities": {"tools": {"listChanged": False}},
        "serverInfo": {"name": NAME, "version": __version__},
        "instructions": INSTRUCTIONS,
    }


def main() -> None:
    """Entry point of `capy-mcp`: serve one client over stdin and stdout, until it is gone."""
    if len(sys.argv) > 1:
        from .cli import main as people

        people()
        return
    incoming, outgoing = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3) for fd in (0, 1))
    # whatever a library or a child prints goes to stderr, and none of them reads the client's lines
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    front = Front(incoming, outgoing)
    try:
        if not front.run():
            os._exit(0)
    except BrokenPipeError:
        os._exit(0)
    except KeyboardInterrupt:
        os._exit(130)
    code = front.serve()
    sys.stderr.flush()
    os._exit(code)  # not sys.exit: a thread that hangs in a tool must not keep the process


def _parts(line: bytes) -> tuple[str, int | str | None, dict[str, Any]]:
    """Method, id and params of a message; "" for what is no request or notification: the SDK judges it."""
    try:
        message = decode(line)
        method, number, params = message["method"], message.get("id"), message.get("params") or {}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return "", None, {}
    if not isinstance(method, str) or not isinstance(params, dict) or isinstance(number, bool):
        return "", None, {}
    return method, number if isinstance(number, int | str) else None, params
