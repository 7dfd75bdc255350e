"""One call of a tool: its arguments checked, the tool run, every error turned into words for the agent."""

from __future__ import annotations

import sys
import traceback
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from capy_exec.process import Cancel

from .arguments import BadArgument, coerce

if TYPE_CHECKING:
    from .context import Context

# tool -> "module:function" of capy_mcp.tools; each takes the context, the checked arguments and the call
_TOOLS = {
    "capy_execute": "execute:execute",
    "capy_execute_file": "execute:execute_file",
    "capy_batch_execute": "batch:batch_execute",
    "capy_index": "knowledge:index",
    "capy_search": "knowledge:search",
    "capy_fetch_and_index": "knowledge:fetch_and_index",
    "capy_stats": "upkeep:stats",
    "capy_doctor": "upkeep:doctor",
    "capy_cleanup": "upkeep:cleanup",
}


class Reply(NamedTuple):
    """What a call gives back.

    Attributes:
        text: for the agent, redacted.
        is_error: the agent should do something else.
        raw_bytes: of what the reply stands for and would otherwise have entered the context; 0: nothing was kept out.
    """

    text: str
    is_error: bool = False
    raw_bytes: int = 0


class Call:
    """A call that runs.

    Attributes:
        tool: as in `tools.schemas`.
        arguments: as the client sent them.
        cancel: ends code that runs for it, see `stop`.
        stopped: nobody waits for the answer any more.
        doing: what it does now, for notes of progress.
    """

    def __init__(self, tool: dict[str, Any], arguments: dict[str, Any]) -> None:
        self.tool, self.arguments = tool, arguments
        self.cancel = Cancel()
        self.stopped = False
        self.doing = ""

    def stop(self) -> None:
        """Nobody waits for the answer any more: end what runs for it. To be called once."""
        self.stopped = True
        self.cancel.set()

    @property
    def name(self) -> str:
        name: str = self.tool["name"]
        return name


def perform(context: Context, call: Call) -> Reply:
    """Run a call to its end. Never raises: what goes wrong is the reply."""
    from capy_core.errors import CapyError

    try:
        arguments = coerce(call.arguments, call.tool["inputSchema"])
        module, function = _TOOLS[call.name].split(":")
        reply: Reply = getattr(import_module(f"{__package__}.tools.{module}"), function)(context, arguments, call)
    except BadArgument as ex:
        return Reply(f"{call.name}: {ex}", is_error=True)
    except CapyError as ex:
        return Reply(_worded(ex), is_error=True)
    except (Exception, SystemExit) as ex:
        traceback.print_exc(file=sys.stderr)
        return Reply(f"{call.name} failed: {type(ex).__name__}: {ex}; this is a bug in capy", is_error=True)
    context.stats.count(call.name, reply)
    return reply


def _worded(error: Exception) -> str:
    from capy_core.secrets import redact

    hint = getattr(error, "hint", "")
    return redact(f"{error}; {hint}" if hint else str(error))
