"""Run a piece of code in one of the eleven languages: `run_code(request, config) -> Result`.

May be called from several threads at once. Whether code may run at all is for the caller to decide beforehand, from
the request's language, code and file.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

from capy_core.config import ExecutorConfig

from . import outcome
from .environment import child_environment
from .errors import NotStarted
from .packages import failure_of
from .plan import Prepared, lay_out, prepare
from .process import Cancel, Command, Ended, run_command
from .request import Request, Result
from .scratch import scratch_folder
from .stream import NOTHING, HeadTail, Live, Shown, capture, marker, show

__all__ = ["Output", "Request", "Result", "describe", "execute", "live_output", "run_code"]

_CODE_SHOWN = 2_000
_KILLED = {
    "cancelled": "cancelled",
    "abandoned": "ended: the process that watched over it was told to end",
    "lost": "ended: the process that watched over it was killed",
}


class Output(NamedTuple):
    """Where the streams go when they are not wanted in the result."""

    stdout: Live
    stderr: Live


def run_code(
    request: Request, config: ExecutorConfig, *, cancel: Cancel | None = None, output: Output | None = None
) -> Result:
    """Run code to its end.

    Args:
        cancel: ends the run when it is set.
        output: passes the streams on as they come; the result then holds none of their text.

    Raises:
        UsageError: no such language; packages for another language than Python.
        NotFound: no runtime, folder or file.
        BadInput: the file is no regular file, or cannot be read.
        NotStarted: the script cannot be written.
    """
    prepared = prepare(request)
    timeout = request.timeout if request.timeout is not None else config.timeout_s
    return execute(prepared, config, timeout=timeout, hard_cap=config.hard_cap_bytes, cancel=cancel, output=output)


def execute(
    prepared: Prepared,
    config: ExecutorConfig,
    *,
    timeout: float | None,
    hard_cap: int | None,
    cancel: Cancel | None = None,
    output: Output | None = None,
) -> Result:
    """Run what was prepared.

    Args:
        timeout: seconds; None for no limit.
        hard_cap: bytes of output that end the run; None for no limit.
    """
    started, clock = datetime.now(UTC), time.monotonic()
    request = prepared.request
    budget = _budget(request.max_output, config)
    out: HeadTail | Live = output.stdout if output else capture(budget)
    err: HeadTail | Live = output.stderr if output else capture(budget)
    with scratch_folder(executable=bool(prepared.runtime.candidate.build)) as scratch:
        try:
            steps, more_env = lay_out(prepared, scratch)
        except OSError as ex:
            raise NotStarted(f"cannot write into {scratch}: {ex.strerror}", "free some space, or set TMPDIR") from ex
        command = Command(
            steps=steps,
            env=child_environment(config, scratch=scratch, cwd=prepared.cwd) | more_env,
            cwd=prepared.cwd,
            scratch=scratch,
            deadline=None if timeout is None else clock + timeout,
            hard_cap=hard_cap,
        )
        ended = run_command(command, out, err, cancel, meanwhile=_load_redaction)
    duration = time.monotonic() - clock
    if isinstance(out, Live) and isinstance(err, Live):
        out.finish()
        err.finish()
        shown_out = shown_err = NOTHING
    else:
        assert isinstance(out, HeadTail) and isinstance(err, HeadTail)
        shown_out, shown_err = show(out, budget), show(err, budget)
    judged = _judge(prepared, ended, timeout, config, shown_err, stderr_is_empty=not err.total)
    exit_code, signal = (None, None) if judged.outcome == outcome.NOT_STARTED else _exit(ended)
    return Result(
        exit_code=exit_code,
        signal=signal,
        outcome=judged.outcome,
        reason=judged.reason,
        stdout=shown_out,
        stderr=shown_err,
        stdout_bytes=out.total,
        stderr_bytes=err.total,
        duration_ms=round(duration * 1000),
        **describe(prepared, started),
    )


def describe(prepared: Prepared, started: datetime) -> dict[str, Any]:
    """The fields of a result that are known before anything ran."""
    from capy_core.secrets import BLOCK, redact

    return {
        "label": prepared.request.shown_label,
        "language": prepared.language.name,
        "code": redact(prepared.request.code[: _CODE_SHOWN + BLOCK])[:_CODE_SHOWN],
        "started_at": started.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "cwd": str(prepared.cwd),
    }


def live_output(
    stdout: Callable[[bytes], object], stderr: Callable[[bytes], object], budget: int | None, label: str
) -> Output:
    """Pass both streams on to writers, each within a budget."""
    make_marker = partial(marker, label=label)
    return Output(Live(stdout, budget, make_marker), Live(stderr, budget, make_marker))


def _budget(asked: int | None, config: ExecutorConfig) -> int | None:
    if asked is None:
        return config.max_record_bytes
    return asked or None


def _load_redaction() -> None:
    """Have the redaction rules ready by the time they are needed; the code starts up meanwhile."""
    from capy_core.secrets import redact

    redact("")


def _judge(
    prepared: Prepared, ended: Ended, timeout: float | None, config: ExecutorConfig, stderr: Shown, *,
    stderr_is_empty: bool,
) -> outcome.Judged:  # fmt: skip
    name, code = prepared.language.name, prepared.request.code
    early = ended.why == "exited" and ended.status != 0 and ended.step == 0
    if early and prepared.needs:
        judged = outcome.Judged(outcome.NOT_STARTED, f"uv could not provide the libraries: {failure_of(stderr.head)}")
    elif early and prepared.runtime.candidate.build:
        judged = outcome.Judged(outcome.ERROR, f"{prepared.runtime.candidate.program} could not compile it")
    elif ended.why == "exited" and ended.status is not None:
        judged = outcome.judge(name, code, ended.status, stderr_is_empty=stderr_is_empty)
    elif ended.why == "timeout":
        judged = outcome.Judged(outcome.TIMEOUT, f"timed out after {timeout:g} s{_during(prepared, ended)}")
    elif ended.why == "cap":
        size = f"{config.hard_cap_bytes:,}"
        judged = outcome.Judged(outcome.KILLED, f"ended: it wrote more than {size} bytes (executor.hard_cap_bytes)")
    elif ended.why == "not_started":
        judged = outcome.Judged(outcome.NOT_STARTED, f"could not be started: {os.strerror(ended.errno)}")
    else:
        judged = outcome.Judged(outcome.KILLED, _KILLED[ended.why])
    notes = [judged.reason] if judged.reason else []
    if ended.leftovers:
        notes.append(f"ended what it left running: {_names(ended.leftovers)} (--background keeps a program running)")
    if ended.survivors:
        notes.append(f"could not end: {_names(ended.survivors)}")
    return outcome.Judged(judged.outcome, "; ".join(notes))


def _during(prepared: Prepared, ended: Ended) -> str:
    if ended.step == 0 and prepared.needs:
        return ", while uv was providing the libraries"
    return ", while it was compiled" if ended.step == 0 and prepared.runtime.candidate.build else ""


def _names(names: tuple[str, ...]) -> str:
    unique = list(dict.fromkeys(names))
    return ", ".join(unique[:5]) + (f" and {len(unique) - 5} more" if len(unique) > 5 else "")


def _exit(ended: Ended) -> tuple[int | None, str | None]:
    if ended.status is None:
        return None, None
    if os.WIFSIGNALED(ended.status):
        return None, outcome.signal_name(os.WTERMSIG(ended.status))
    return (os.WEXITSTATUS(ended.status) if ended.why == "exited" else None), None
