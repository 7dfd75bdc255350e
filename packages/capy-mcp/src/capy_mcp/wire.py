"""The SDK's two message streams over a pair of file descriptors. Its own `stdio_server` reads in a thread that a signal
cannot stop, ends at text with half a surrogate pair, and cancels calls whose client has only closed its end.
"""

from __future__ import annotations

import json
import os
from functools import partial
from typing import Any

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from .front import Front

GRACE_S = 1.5  # at the end of input: for calls that run, before they are cancelled
_CHUNK = 1 << 16
_PIPE_BUF = 4096  # a write of so much to a pipe that is ready cannot block

Incoming = MemoryObjectSendStream[SessionMessage | Exception]
Outgoing = MemoryObjectReceiveStream[SessionMessage]


class Wire:
    """The connection as the front left it."""

    def __init__(self, front: Front) -> None:
        self._incoming, self._outgoing = front.incoming, front.outgoing
        self._rest, self._replay, self._answered = front.rest, list(front.replay), front.answered
        self._open: set[Any] = set()  # ids of requests without an answer
        self._idle = anyio.Event()

    async def read(self, to_server: Incoming, replies: MemoryObjectSendStream[SessionMessage]) -> None:
        """Pass each message on to the server, until the end of input; then wait a little for calls that run."""
        async with to_server:
            while (line := await self._line()) is not None:
                if not line.strip():
                    continue
                try:
                    message = parse(line)
                except ValueError:
                    await replies.send(SessionMessage(_unreadable()))
                    continue
                self._note(message)
                await to_server.send(SessionMessage(message))
            with anyio.move_on_after(GRACE_S):
                while self._open:
                    self._idle = anyio.Event()
                    await self._idle.wait()

    async def write(self, from_server: Outgoing, scope: anyio.CancelScope) -> None:
        """Write each message as a line. A client that reads no more ends the server."""
        async with from_server:
            async for item in from_server:
                message = item.message
                number = getattr(message, "id", None)
                if self._answered is not None and number == self._answered:  # the front has said it
                    self._answered = None
                else:
                    try:
                        await self._send(dump(message) + b"\n")
                    except OSError:
                        scope.cancel()
                        return
                if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
                    self._open.discard(number)
                    self._idle.set()

    def _note(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCRequest):
            self._open.add(message.id)
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._open.discard((message.params or {}).get("requestId"))

    async def _line(self) -> bytes | None:
        if self._replay:
            return self._replay.pop(0)
        seen = 0
        while (end := self._rest.find(b"\n", seen)) < 0:
            seen = len(self._rest)
            await _ready(anyio.wait_readable, self._incoming)
            chunk = os.read(self._incoming, _CHUNK)
            if not chunk:
                line = bytes(self._rest)
                self._rest.clear()
                return line or None
            self._rest += chunk
        line = bytes(self._rest[:end])
        del self._rest[: end + 1]
        return line

    async def _send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            await _ready(anyio.wait_writable, self._outgoing)
            view = view[os.write(self._outgoing, view[:_PIPE_BUF]) :]


def parse(line: bytes) -> types.JSONRPCMessage:
    """A message. Bytes that are not UTF-8 and lone surrogates in it become U+FFFD.

    Raises:
        ValueError: it is not JSON, or no message of JSON-RPC.
    """
    check = partial(types.jsonrpc_message_adapter.validate_json, by_name=False)
    try:
        return check(line)
    except ValueError:
        try:
            value = json.loads(line.decode("utf-8", "replace"))
        except RecursionError as ex:
            raise ValueError("nested too deeply") from ex
        return check(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def dump(message: types.JSONRPCMessage) -> bytes:
    """A message as JSON in UTF-8, whatever its texts hold."""
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode()
    except ValueError:  # a lone surrogate: as an escape it is JSON
        return json.dumps(message.model_dump(by_alias=True, exclude_unset=True)).encode()


def _unreadable() -> types.JSONRPCError:
    return types.JSONRPCError(
        jsonrpc="2.0", id=None, error=types.ErrorData(code=types.PARSE_ERROR, message="Parse error")
    )


async def _ready(wait: Any, fd: int) -> None:
    try:
        await wait(fd)
    except PermissionError:  # a regular file is always ready, and epoll does not take it
        return
