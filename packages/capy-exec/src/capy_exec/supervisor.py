"""The process that stays with a background job: runs it, redacts its output into the log, notes how it ended.

Started by background.py as `python -m capy_exec.supervisor` with a pickled request on stdin; answers on stdout with one
JSON line once the job is noted.
"""

from __future__ import annotations

import fcntl
import os
import pickle
import signal
import sys
import threading
from datetime import datetime
from pathlib import Path
from typing import Any

from capy_core import records
from capy_core.atomic import write_file
from capy_core.config import ExecutorConfig

from .plan import Prepared
from .process import Cancel
from .run import execute, live_output


class Log:
    """A job's output file, locked while it is open, with at most `limit` bytes."""

    def __init__(self, path: Path, limit: int) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        self._left = limit

    def write(self, data: bytes) -> None:
        """Add to the log; beyond the limit the job goes on, but nothing more is kept."""
        if self._left <= 0:
            return
        self._put(data[: self._left])
        self._left -= len(data)
        if self._left <= 0:
            self._put(b"\n[capy: the log is full (executor.hard_cap_bytes); what follows is not kept]\n")

    def _put(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._fd, view) :]


def main() -> None:
    """Take a job from stdin, detach, see it through."""
    prepared, config, described, folder, lifeline = pickle.load(sys.stdin.buffer)
    if os.fork():
        os._exit(0)  # the host waits for this half only
    stop = Cancel()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: stop.set())
    os.umask(0o077)
    os.chdir("/")
    started = datetime.fromisoformat(described["started_at"])
    log_file: Path = folder / f"{started:%Y%m%dT%H%M%S}-{os.getpid()}.log"
    log = Log(log_file, config.hard_cap_bytes)
    job = {"schema": "capy.exec.job/1", "pid": os.getpid(), **described, "log": str(log_file)}
    job["timeout_s"] = prepared.request.timeout
    _note(job)
    sys.stdout.buffer.write(records.dumps(job))
    sys.stdout.flush()
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    if lifeline is not None:
        threading.Thread(target=_end_with_owner, args=(lifeline,), daemon=True).start()
    _note(job | _run(prepared, config, log, stop))


def _end_with_owner(lifeline: int) -> None:
    """Wait for the end of the process that wanted this job, then end it as a signal would."""
    while os.read(lifeline, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _run(prepared: Prepared, config: ExecutorConfig, log: Log, stop: Cancel) -> dict[str, Any]:
    """See the job through; returns how it ended."""
    output = live_output(log.write, log.write, None, prepared.request.shown_label)
    result = execute(
        prepared, config, timeout=prepared.request.timeout, hard_cap=None, cancel=stop, output=output
    ).record()
    return {name: result[name] for name in ("outcome", "reason", "exit_code", "signal", "duration_ms")}


def _note(job: dict[str, Any]) -> None:
    write_file(Path(job["log"]).with_suffix(".json"), records.dumps(job), mode=0o600)


if __name__ == "__main__":
    main()
