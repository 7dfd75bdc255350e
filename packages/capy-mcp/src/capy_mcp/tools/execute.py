"""capy_execute and capy_execute_file: run code, and answer with what of its output matters."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capy_core.errors import NotFound
from capy_exec.request import Request, Result

from .. import reply
from ..call import Call, Reply
from ..context import Context, here

if TYPE_CHECKING:
    from capy_store.documents import Document

WITH_INTENT = 5_000  # bytes: longer output is answered by the lines that matter, if a question was given,
WITHOUT = 16_000  # and longer than this also without one
DEFAULT_S = 30.0
_POLL_S = 0.05
_SHOWN_OF_LOG = 4_000


def execute(context: Context, arguments: dict[str, Any], call: Call) -> Reply:
    """Run code in the project's folder."""
    request = _request(context, arguments)
    if arguments.get("background"):
        return _in_background(context, request, call)
    return answer(context, run(context, request, call), arguments.get("intent", ""))


def execute_file(context: Context, arguments: dict[str, Any], call: Call) -> Reply:
    """Run code over a file of the project."""
    file = here(arguments["path"], context.project)
    if not file.exists():
        raise NotFound(f"there is no file {arguments['path']}", f"paths are relative to {context.project}")
    request = _request(context, arguments)._replace(file=file)
    return answer(context, run(context, request, call), arguments.get("intent", ""))


def run(context: Context, request: Request, call: Call) -> Result:
    """Run a request that the user's rules do not deny.

    Raises:
        Refused: they deny it. What `run_code` raises.
    """
    from capy_exec.run import run_code

    check(context, request)
    call.doing = f"running {request.language}"
    return run_code(request, context.config().executor, cancel=call.cancel)


def check(context: Context, request: Request) -> None:
    """Raise Refused for what the user's rules deny; see `capy_exec.policy.enforce`."""
    from capy_exec.policy.enforce import require

    if rules := context.rules():
        require(request, rules)


def answer(context: Context, result: Result, intent: str) -> Reply:
    """The reply to a run: all of a short output, the lines that matter of a long one, which is indexed whole."""
    out, err = texts(result)
    size = result.stdout_bytes + result.stderr_bytes
    failed = not result.succeeded
    if size <= (WITH_INTENT if intent else WITHOUT):
        return Reply(reply.raw(result) or "(no output)", failed)
    from capy_store.evidence import find

    problem = context.keeper.keep([document(result.label, out, err, result)])
    evidence = find(out, intent, failed=failed)
    errors = find(err, intent, budget=reply.STDERR_BUDGET, failed=failed) if err.strip() else None
    text = reply.intent(result, evidence, "" if problem else result.label, errors=errors)
    return Reply(f"{text}\n[{problem}]" if problem else text, failed, size)


def texts(result: Result) -> tuple[str, str]:
    """stdout and stderr of a run, as far as they were kept."""
    record = result.record()
    return str(record["stdout"]), str(record["stderr"])


def document(label: str, out: str, err: str, result: Result) -> Document:
    """What a run printed, to be indexed."""
    from capy_store.documents import Document

    content = f"{out.rstrip()}\n\nstderr:\n{err}" if err.strip() else out
    return Document(
        label=label,
        content=content,
        kind="ephemeral",
        content_type="" if out.lstrip()[:1] in ("{", "[") and not err.strip() else "output",
        meta={"language": result.language, "exit_code": result.exit_code, "code": result.code},
    )


def _request(context: Context, arguments: dict[str, Any]) -> Request:
    milliseconds = arguments.get("timeout", DEFAULT_S * 1000)
    return Request(arguments["language"], arguments["code"], timeout=milliseconds / 1000, cwd=context.project)


def _in_background(context: Context, request: Request, call: Call) -> Reply:
    """Start code that stays; show what it prints until it ends, or until the timeout, when it is left running."""
    from capy_exec.background import is_alive, start_job

    check(context, request)
    job = start_job(request._replace(timeout=None), context.config().executor)
    log = Path(job.log or "")
    end = time.monotonic() + (request.timeout or DEFAULT_S)
    call.doing = f"watching {log}"
    while (alive := is_alive(log)) and time.monotonic() < end and not call.stopped:
        time.sleep(_POLL_S)
    output = _beginning_and_end(log)
    state = f"running, pid {job.pid}; end it with: capy-exec kill {job.pid}" if alive else "ended"
    return Reply(f"{output}\n[{state}; output goes to {log}]".lstrip())


def _beginning_and_end(log: Path) -> str:
    from capy_core.text import cut_middle

    text = log.read_bytes().decode("utf-8", "replace")
    cut = cut_middle(text, _SHOWN_OF_LOG)
    return f"{cut.head}\n[{cut.cut_lines:,} lines left out]\n{cut.tail}" if cut.cut_bytes else text
