"""Run many pieces of code, several at a time, and hand out the results in the order they came in.

Never more than a few items are under way, so memory does not grow with the length of the input.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from capy_core.config import ExecutorConfig
from capy_core.errors import BadInput, CapyError
from capy_core.records import Record, parse_record

from .process import Cancel, get_ready
from .request import Request
from .run import run_code

_AHEAD = 2  # items begun or waiting, as a multiple of the jobs

_FIELDS = {
    "label": "a text", "language": "a text", "code": "a text", "command": "a text", "file": "a text", "cwd": "a text",
    "timeout": "a number", "max_output": "a whole number", "args": "a list of texts", "with": "a list of texts",
}  # fmt: skip


class ItemFailed(CapyError):
    """An item could not be run: the error, with the item's number, line and label (if it has one)."""

    def __init__(self, error: CapyError, item: int, line: int, label: str) -> None:
        where = {"item": item, "line": line} | ({"label": label} if label else {})
        super().__init__(error.message, error.hint, **error.details | where)
        self.code, self.exit_code = error.code, error.exit_code


Outcome = Record | ItemFailed
Outcomes = Generator[Outcome, None, None]
Check = Callable[[Request], None]


def run_batch(
    lines: Iterable[tuple[int, bytes]], config: ExecutorConfig, *, jobs: int, cwd: Path, check: Check | None = None
) -> Outcomes:
    """Run the items on the lines of an NDJSON stream.

    An item has `code`, or `command` for shell code, and may have `language` (default shell), `label`, `timeout`
    (seconds), `file`, `args`, `with`, `cwd` and `max_output`; its other fields come back in the result. Equal default
    labels are told apart by "#2", "#3", ...

    Closing the iterator (Ctrl-C included) ends what is running and leaves out the rest.

    Args:
        lines: line numbers and lines, as `capy_core.records.read_lines` gives them.
        jobs: how many items run at the same time.
        cwd: the working folder of items that name none.
        check: called with each request before it runs; what it raises is the item's error.

    Yields:
        For each item, in input order, its `capy.exec.result/1` record with `item` (from 1), or why there is none.
    """
    get_ready()
    places = threading.Semaphore(_AHEAD * jobs)
    waiting: SimpleQueue[Future[Outcome] | BaseException | None] = SimpleQueue()
    stop, stopped = Cancel(), threading.Event()
    pool = ThreadPoolExecutor(jobs)

    def feed() -> None:
        labels: dict[str, int] = {}
        try:
            for item, (number, line) in enumerate(lines, 1):
                places.acquire()
                if stopped.is_set():
                    return
                waiting.put(pool.submit(_read_item(item, number, line, cwd, labels).run, config, stop, check))
        except BaseException as ex:  # reading failed: told after the results of what was read
            waiting.put(ex)
        waiting.put(None)

    # A daemon: reading the input may block for ever
    threading.Thread(target=feed, daemon=True).start()
    try:
        while (next_one := waiting.get()) is not None:
            if isinstance(next_one, BaseException):
                raise next_one
            yield next_one.result()
            places.release()
    finally:
        stopped.set()
        stop.set()
        places.release()
        pool.shutdown(cancel_futures=True)


class _Item:
    """One line of the input."""

    def __init__(self, number: int, line: int, request: Request | CapyError, extra: Record) -> None:
        self.number, self.line, self.request, self.extra = number, line, request, extra

    def run(self, config: ExecutorConfig, stop: Cancel, check: Check | None) -> Outcome:
        """Its result, or why there is none."""
        if isinstance(self.request, CapyError):
            return ItemFailed(self.request, self.number, self.line, str(self.extra.get("label", "")))
        try:
            if check is not None:
                check(self.request)
            return {**self.extra, **run_code(self.request, config, cancel=stop).record(), "item": self.number}
        except CapyError as ex:
            return ItemFailed(ex, self.number, self.line, self.request.shown_label)
        except OSError as ex:  # no more processes, files or space: the next item may fare better
            error = CapyError(f"the item could not be run: {ex.strerror or ex}")
            return ItemFailed(error, self.number, self.line, self.request.shown_label)


def _read_item(item: int, number: int, line: bytes, cwd: Path, labels: dict[str, int]) -> _Item:
    fields: Record = {}
    try:
        fields = parse_record(line, number)
        request = _request(fields, cwd)
        if not request.label:
            label = request.shown_label
            labels[label] = labels.get(label, 0) + 1
            request = request._replace(label=label if labels[label] == 1 else f"{label}#{labels[label]}")
    except CapyError as ex:
        return _Item(item, number, ex, {"label": fields.get("label", "")})
    return _Item(item, number, request, {name: value for name, value in fields.items() if name not in _FIELDS})


def _request(fields: Record, cwd: Path) -> Request:
    given = {name: value for name, value in fields.items() if name in _FIELDS and value is not None}
    for name, value in given.items():
        if not _is(_FIELDS[name], value):
            raise BadInput(f"{name} must be {_FIELDS[name]}, not {value!r:.60}", "correct the item")
    if ("code" in given) == ("command" in given):
        raise BadInput(
            f"an item needs code or command{', not both' if 'code' in given else ''}", 'e.g. {"command": "make test"}'
        )
    if "command" in given and given.get("language", "shell") not in ("shell", "sh", "bash"):
        raise BadInput(f"command is for shell, not for {given['language']}", "name it code")
    return Request(
        language=given.get("language", "shell"),
        code=given.get("code", given.get("command", "")),
        label=given.get("label", ""),
        file=Path(given["file"]) if "file" in given else None,
        args=tuple(given.get("args", ())),
        packages=tuple(given.get("with", ())),
        timeout=given.get("timeout"),
        cwd=Path(given["cwd"]) if "cwd" in given else cwd,
        max_output=given.get("max_output"),
    )


def _is(kind: str, value: Any) -> bool:
    if kind == "a text":
        return isinstance(value, str) and "\0" not in value
    if kind == "a list of texts":
        return isinstance(value, list) and all(isinstance(entry, str) for entry in value)
    if isinstance(value, bool):
        return False
    return isinstance(value, int) and value >= 0 if kind == "a whole number" else isinstance(value, int | float)
