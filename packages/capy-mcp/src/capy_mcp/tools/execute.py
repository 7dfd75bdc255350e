"""capy_execute and capy_execute_file: run code, and answer with what of its output matters."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capy_core.errors import NotFound
from capy_exec.request import Request, Result

from .. import reply
from ..arguments import BadArgument
from ..call import Call, Reply
from ..context import Context, here
from .rules import check

if TYPE_CHECKING:
    from capy_store.documents import Document

WITH_INTENT = 5_000  # bytes: longer output is answered by the lines that matter, if a question was given,
WITHOUT = 16_000  # and longer than this also without one
DEFAULT_S = 30.0
MOST_S = 86_400
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
    """Run a request that the user's rules let pass.

    Raises:
        Refused: they do not. What `run_code` raises.
    """
    from capy_exec.run import run_code

    check(context, request)
    call.doing = f"running {request.language}"
    return run_code(request, context.config().executor, cancel=call.cancel)


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


def seconds(arguments: dict[str, Any], default: float) -> float:
    """The `timeout` of a call, which comes in milliseconds.

    Raises:
        BadArgument: it is no time.
    """
    value = arguments.get("timeout", default * 1000) / 1000
    if not 0 < value <= MOST_S:  # NaN included
        raise BadArgument(f"`timeout` must be milliseconds, more than 0 and at most {MOST_S * 1000:,}")
    return float(value)


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
    timeout = seconds(arguments, DEFAULT_S)
    return Request(arguments["language"], arguments["code"], timeout=timeout, cwd=context.project)


def _in_background(context: Context, request: Request, call: Call) -> Reply:
    """Start code that stays; show what it prints until it ends, or until the timeout, when it is left running."""
    from capy_exec.background import end_job, is_alive, start_job

    check(context, request)
    job = start_job(request._replace(timeout=None), context.config().executor, lifeline=context.lifeline)
    pid, log = job.pid or 0, Path(job.log or "")
    end = time.monotonic() + (request.timeout or DEFAULT_S)
    call.doing = f"watching {log}"
    while (alive := is_alive(log)) and time.monotonic() < end and not call.stopped:
        time.sleep(_POLL_S)
    if alive and call.stopped:
        with suppress(NotFound):  # it has ended just now
            end_job(pid)
    state = f"running, pid {pid}, until this session ends or: capy-exec kill {pid}" if alive else _how(pid)
    return Reply(f"{_beginning_and_end(log).rstrip()}\n[{state}; all output is in {log}]".lstrip())


def _how(pid: int) -> str:
    """How a job ended."""
    from capy_exec.background import list_jobs

    record = next((job for job in list_jobs(ended=True) if job["pid"] == pid), {})
    reason = record.get("reason") or (f"exit {record['exit_code']}" if record.get("exit_code") is not None else "")
    return f"ended: {reason}" if reason else "ended"


def _beginning_and_end(log: Path) -> str:
    """What a log begins and ends with; it may be large."""
    from capy_core.text import cut_head, cut_tail

    with log.open("rb") as stream:
        head = stream.read(_SHOWN_OF_LOG + 1)
        if len(head) <= _SHOWN_OF_LOG:
            return head.decode("utf-8", "replace")
        size = stream.seek(0, os.SEEK_END)
        stream.seek(size - _SHOWN_OF_LOG // 2 - 1)  # one more than is kept, so that the cut is at a line
        first, last = cut_head(head, _SHOWN_OF_LOG // 2).head, cut_tail(stream.read(), _SHOWN_OF_LOG // 2).tail
    left_out = f"\n[{size - len(first) - len(last):,} bytes left out]\n"
    return first.decode("utf-8", "replace").rstrip() + left_out + last.decode("utf-8", "replace")
