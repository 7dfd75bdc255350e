"""capy_batch_execute: several commands, then several questions over what they printed, in one call."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from capy_core.errors import CapyError
from capy_exec.request import Request, Result

from .. import reply
from ..arguments import BadArgument
from ..call import Call, Reply
from ..context import Context
from .execute import document, run, seconds, texts
from .rules import check

DEFAULT_S = 60.0
MOST_AT_ONCE = 8


def batch_execute(context: Context, arguments: dict[str, Any], call: Call) -> Reply:
    """Run commands, index their output, answer questions: first from that output, then from all that is known."""
    requests = _requests(context, arguments["commands"])
    questions = [question for question in arguments["queries"] if question.strip()]
    if not requests:
        raise BadArgument("`commands` holds no command")
    if not questions:
        raise BadArgument("`queries` is empty: ask what you want to know of the output")
    for request in requests:
        check(context, request)  # one that is denied: nothing runs
    results = _run(context, requests, arguments, call)
    return _answer(context, results, questions, call)


def _requests(context: Context, commands: list[dict[str, Any]]) -> list[Request]:
    requests: list[Request] = []
    seen: dict[str, int] = {}
    for number, item in enumerate(commands, 1):
        if not str(item["command"]).strip():
            continue
        label = str(item.get("label") or f"cmd_{number}")
        seen[label] = seen.get(label, 0) + 1
        if seen[label] > 1:
            label = f"{label}#{seen[label]}"
        requests.append(Request("shell", item["command"], label=label, cwd=context.project))
    return requests


def _run(context: Context, requests: list[Request], arguments: dict[str, Any], call: Call) -> list[Result]:
    """The results in the order of the commands. What is not begun when the time is over is not run."""
    end = time.monotonic() + seconds(arguments, DEFAULT_S)
    jobs = max(1, min(MOST_AT_ONCE, arguments.get("concurrency", 1)))

    def one(request: Request) -> Result:
        left = end - time.monotonic()
        if left <= 0 or call.stopped:
            return _not_run(request, "skipped: the time of the batch was over")
        try:
            return run(context, request._replace(timeout=left), call)
        except CapyError as ex:
            return _not_run(request, f"not run: {ex}")

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one, requests))


def _not_run(request: Request, reason: str) -> Result:
    return Result(request.label, "shell", request.code, "not_started", reason, "", str(request.cwd))


def _answer(context: Context, results: list[Result], questions: list[str], call: Call) -> Reply:
    from capy_store.evidence import find

    printed = [texts(result) for result in results]
    stored = [_label(result) for result in results]
    documents = [
        document(label, out, err, result)
        for label, (out, err), result in zip(stored, printed, results, strict=True)
        if out.strip() or err.strip()
    ]
    call.doing = "indexing"
    problem = context.keeper.keep(documents)
    found = [
        find(out, questions, failed=not result.succeeded) for (out, _), result in zip(printed, results, strict=True)
    ]
    errors = [
        find(err, questions, budget=reply.STDERR_BUDGET, failed=not result.succeeded) if err.strip() else None
        for (_, err), result in zip(printed, results, strict=True)
    ]
    text = reply.batch(results, found, [] if problem else stored, errors=errors)
    rest = [question for question in questions if all(question in one.unanswered for one in found)]
    if rest and not problem and (known := _from_elsewhere(context, rest, stored)):
        text = f"{text}\n{known}"
    size = sum(result.stdout_bytes + result.stderr_bytes for result in results)
    failed = all(not result.succeeded for result in results)
    return Reply(f"{text}\n[{problem}]" if problem else text, failed, size)


def _label(result: Result) -> str:
    """Under which the output is kept: the command is part of it, so that equal labels of other batches stay."""
    from hashlib import sha256

    return f"batch:{result.label}:{sha256(result.code.encode('utf-8', 'replace')).hexdigest()[:8]}"


def _from_elsewhere(context: Context, questions: list[str], own: list[str]) -> str:
    """What the knowledge base says to questions that the output has no word of."""
    with context.store() as store:
        answers = [store.search(question, limit=3) for question in questions]
    answers = [answer for answer in answers if answer.hits and answer.hits[0].label not in own]
    return "[from earlier:]\n" + reply.search(answers, budget=reply.SEARCH_BUDGET // 2) if answers else ""
