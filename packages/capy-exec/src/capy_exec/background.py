"""Jobs that go on after the command that started them: start, list, end.

A job is a supervisor process (supervisor.py) with its code below it. Its files lie in $XDG_STATE_HOME/capy/jobs:
`<id>.log`, the redacted output, which the supervisor keeps locked (flock) as long as it lives; and `<id>.json`, its
`capy.exec.job/1` record. The lock says whether a job is alive, so a process that got an old job's id by chance is never
taken for it.
"""

from __future__ import annotations

import fcntl
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from capy_core import records
from capy_core.config import ExecutorConfig
from capy_core.errors import NotFound
from capy_core.paths import make_private, state_dir

from . import outcome
from .environment import is_our_key
from .errors import NotStarted
from .plan import prepare
from .request import Request, Result
from .run import describe

_KEPT_S = 24 * 3600
_PATIENCE_S = 3.0


def start_job(request: Request, config: ExecutorConfig, *, lifeline: int | None = None) -> Result:
    """Start code in the background.

    It runs until it ends, the request's timeout (if any) is over, or `end_job` is called.

    Args:
        lifeline: the reading end of a pipe; when its writing end is closed, by whatever end of its owner, the job ends.

    Returns:
        A result with outcome "background", the job's `pid`, and the path of its `log`.

    Raises:
        What `run.run_code` raises before it starts anything; NotStarted: no supervisor came up.
    """
    prepared = prepare(request)
    folder = jobs_folder()
    make_private(folder)
    _prune(folder)
    started = datetime.now(UTC)
    described = describe(prepared, started)
    env = {name: value for name, value in os.environ.items() if not is_our_key(name)}
    # -P: nothing is imported from the current folder
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "capy_exec.supervisor"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True, env=env,
        pass_fds=() if lifeline is None else (lifeline,),
    ) as process:  # fmt: skip
        answer, _ = process.communicate(pickle.dumps((prepared, config, described, folder, lifeline)))
    if not answer:
        raise NotStarted("the background job could not be started", f"check that {folder} can be written to")
    job = records.loads(answer)
    return Result(**described, outcome=outcome.BACKGROUND, reason="", pid=job["pid"], log=job["log"])


def list_jobs(*, ended: bool = False) -> Iterator[dict[str, Any]]:
    """The `capy.exec.job/1` records of the jobs that are alive, oldest first.

    Args:
        ended: also those that ended during the last day.
    """
    folder = jobs_folder()
    _prune(folder)
    for file in sorted(folder.glob("*.json")):
        job = _job(file)
        if job is not None and (ended or job["status"] == "running"):
            yield job


def end_job(pid: int) -> dict[str, Any]:
    """End a job with all its processes.

    Returns:
        Its record after that.

    Raises:
        NotFound: no living job has this pid.
    """
    found = next((job for job in list_jobs() if job["pid"] == pid), None)
    if found is None:
        raise NotFound(f"no background job has the pid {pid}", "capy-exec ps lists those that are alive", pid=pid)
    for number in (signal.SIGTERM, signal.SIGKILL):  # after the second one its keeper ends the rest
        with suppress(ProcessLookupError):
            os.kill(pid, number)
        patience = time.monotonic() + _PATIENCE_S
        while is_alive(Path(found["log"])) and time.monotonic() < patience:
            time.sleep(0.01)
    return _job(Path(found["log"]).with_suffix(".json")) or found


def jobs_folder() -> Path:
    """Where jobs are noted."""
    return state_dir() / "jobs"


def is_alive(log: Path) -> bool:
    """True while a job's supervisor holds the lock on its log."""
    try:
        fd = os.open(log, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def _job(file: Path) -> dict[str, Any] | None:
    """A job's record with what changes: status, age, size of the log. None for a file that is none of ours."""
    try:
        job = records.loads(file.read_bytes())
        log = file.with_suffix(".log")
        size = log.stat().st_size
        age = datetime.now(UTC) - datetime.fromisoformat(job["started_at"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    status = "running" if is_alive(log) else "ended" if job.get("outcome") else "lost"
    return {**job, "status": status, "age_s": round(age.total_seconds(), 1), "bytes": size}


def _prune(folder: Path) -> None:
    """Remove what is left of jobs that ended more than a day ago."""
    for log in folder.glob("*.log"):
        with suppress(OSError):
            if time.time() - log.stat().st_mtime > _KEPT_S and not is_alive(log):
                log.unlink()
                log.with_suffix(".json").unlink()
