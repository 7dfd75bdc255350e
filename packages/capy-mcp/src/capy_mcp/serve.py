"""The server behind the front: the SDK's `Server`, our wire, and an end that always comes."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
from anyio.abc import TaskGroup
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage

from . import __version__
from .call import Call, perform
from .context import Context
from .front import Front
from .tools.schemas import INSTRUCTIONS, NAME, TOOLS
from .wire import Wire

CALLS_AT_ONCE = 32  # tools run in threads of their own, so that none of them holds up the answer to a ping
CLOSING_S = 1.5
_PARENT_S = 1.0  # how often the parent is looked at
_TICK_S = 2.0  # between two notes of progress
_SWITCH_S = 0.001  # a thread that computes gives way this often: pings are answered meanwhile
_STOPPED = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
_INVALID_PARAMS = -32602


def prepare() -> Context:
    """What can be done before the first call: see `Context.get_ready`."""
    sys.setswitchinterval(_SWITCH_S)
    context = Context.of_environment()
    context.get_ready()
    return context


def serve(front: Front, context: Context) -> int:
    """Serve one client until it is gone, or a signal comes, or the parent is gone.

    Returns:
        The exit status: 0, or 128 and the signal's number.
    """
    return anyio.run(_main, front, context)


async def _main(front: Front, context: Context) -> int:
    wire, ended = Wire(front), [0]
    server = _server(context)
    to_server, for_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_client, for_client = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_end_at_signal, tasks, ended)
        tasks.start_soon(_end_with_parent, tasks, front.parent)
        tasks.start_soon(wire.read, to_server, to_client.clone())
        tasks.start_soon(wire.write, for_client, tasks.cancel_scope)
        await server.run(for_server, to_client, server.create_initialization_options())
        tasks.cancel_scope.cancel()
    return ended[0]


def _server(context: Context) -> Server[Context]:
    server: Server[Context] = Server(
        NAME,
        version=__version__,
        instructions=INSTRUCTIONS,
        lifespan=partial(_lifespan, context),
        on_list_tools=_list_tools,
        on_call_tool=_call_tool,
    )
    server.middleware.clear()  # OpenTelemetry: nothing leaves the machine
    return server


@asynccontextmanager
async def _lifespan(context: Context, _server: Server[Context]) -> AsyncIterator[Context]:
    try:
        yield context
    finally:
        with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSING_S):
            await anyio.to_thread.run_sync(context.close, abandon_on_cancel=True)


async def _list_tools(_ctx: Any, _params: Any) -> Any:  # dicts as on the wire: the SDK takes them as they are
    return {"tools": TOOLS, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


async def _call_tool(ctx: Any, params: Any) -> Any:
    tool = next((tool for tool in TOOLS if tool["name"] == params.name), None)
    if tool is None:
        names = ", ".join(tool["name"] for tool in TOOLS)
        raise MCPError(code=_INVALID_PARAMS, message=f"Unknown tool: {params.name}; there are {names}")
    context: Context = ctx.lifespan_context
    call = Call(tool, dict(params.arguments or {}))
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_tell_progress, ctx, call)
            reply = await anyio.to_thread.run_sync(
                perform, context, call, abandon_on_cancel=True, limiter=_limiter(context)
            )
            tasks.cancel_scope.cancel()
    finally:
        call.stop()
    text = reply.text.encode("utf-8", "replace").decode()
    return {"content": [{"type": "text", "text": text}], "isError": reply.is_error, "resultType": "complete"}


def _limiter(context: Context) -> anyio.CapacityLimiter:
    if context.limiter is None:
        context.limiter = anyio.CapacityLimiter(CALLS_AT_ONCE)
    limiter: anyio.CapacityLimiter = context.limiter
    return limiter


async def _tell_progress(ctx: Any, call: Call) -> None:
    """Say every other second that a long call goes on, and with what. The SDK drops it where the client did not ask."""
    seconds = 0.0
    while True:
        await anyio.sleep(_TICK_S)
        seconds += _TICK_S
        await ctx.session.report_progress(seconds, None, call.doing)


async def _end_at_signal(tasks: TaskGroup, ended: list[int]) -> None:
    with anyio.open_signal_receiver(*_STOPPED) as signals:
        async for number in signals:
            ended[0] = _STOPPED[number]
            tasks.cancel_scope.cancel()
            return


async def _end_with_parent(tasks: TaskGroup, parent: int) -> None:
    """End when the parent changes: it died, though another process may hold its end of the pipe open."""
    while os.getppid() == parent:
        await anyio.sleep(_PARENT_S)
    tasks.cancel_scope.cancel()
