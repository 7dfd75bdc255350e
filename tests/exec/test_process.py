"""Processes: what ends when, that nothing is left, that no run disturbs another. Real processes, real signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from capy_core.config import ExecutorConfig
from capy_exec import process
from capy_exec.process import Cancel, Command, run_command
from capy_exec.run import Request, run_code

from .conftest import Run, processes_with, wait_until


@pytest.mark.parametrize(
    ("code", "out", "exit_code"),
    [
        ("sleep {mark} & echo hi", "hi\n", 0),
        ("(sleep {mark} &); exit 3", "", 3),
        ("setsid sleep {mark} & echo hi", "hi\n", 0),
        ("(nohup env -i setsid sleep {mark} >/dev/null 2>&1 &); echo hi", "hi\n", 0),
        ("trap '' TERM; (sleep {mark} &) ; echo hi", "hi\n", 0),
    ],
)
def test_what_is_left_running_is_ended_and_named(code: str, out: str, exit_code: int, mark: str, execute: Run) -> None:
    result = execute("shell", code.format(mark=mark), timeout=60)
    assert (result.stdout.head, result.exit_code, result.outcome) == (out, exit_code, "error" if exit_code else "ok")
    assert "ended what it left running: sleep" in result.reason
    assert not processes_with(mark)


def test_what_finishes_by_itself_in_time_is_waited_for(execute: Run) -> None:
    result = execute("shell", "echo a > >(sed s/a/b/)")
    assert (result.stdout.head, result.reason) == ("b\n", "")


@pytest.mark.parametrize(
    "code",
    [
        "echo before; sleep {mark}",
        "echo before; (sleep {mark}; echo x) & sleep {mark}",
        "echo before; trap '' TERM; sleep {mark}; sleep {mark}",
        "echo before; setsid sleep {mark} & sleep {mark}",
        "echo before; (nohup env -i setsid sleep {mark} &) ; sleep {mark}",
        "echo before; kill -STOP $$",
    ],
)
def test_timeout_keeps_the_output_and_leaves_nothing(code: str, mark: str, execute: Run) -> None:
    result = execute("shell", code.format(mark=mark), timeout=0.4)
    assert (result.outcome, result.exit_code, result.reason) == ("timeout", None, "timed out after 0.4 s")
    assert result.stdout.head == "before\n"
    assert result.record()["timed_out"] is True
    assert not processes_with(mark)


@pytest.mark.parametrize("timeout", [1e12, float("inf")])
def test_a_timeout_may_be_as_long_as_one_likes(timeout: float, execute: Run) -> None:
    assert execute("shell", "echo x", timeout=timeout).stdout.head == "x\n"


def test_timeout_holds_while_the_reader_is_blocked(project: Path, mark: str) -> None:
    """The keeper keeps the time, not the thread that passes the output on."""

    class Slow:
        def feed(self, data: memoryview) -> None:
            assert wait_until(lambda: not processes_with(mark))

    class Ignore:
        def feed(self, data: memoryview) -> None: ...

    ended = run_command(
        Command(
            [["/bin/sh", "-c", f"echo x; sleep {mark}"]], {"PATH": os.environ["PATH"]}, project, project / "scratch",
            deadline=time.monotonic() + 0.3,
        ),
        Slow(), Ignore(),
    )  # fmt: skip
    assert ended.why == "timeout"


def test_too_much_output_ends_the_run(mark: str, execute: Run) -> None:
    config = ExecutorConfig(hard_cap_bytes=1_000_000)
    result = execute("shell", f"sleep {mark} & yes endless{mark}", config=config, max_output=10_000)
    assert result.outcome == "killed"
    assert "1,000,000 bytes (executor.hard_cap_bytes)" in result.reason
    assert result.stdout_bytes == 1_000_000
    assert result.stdout.head.startswith(f"endless{mark}\n")
    assert not processes_with(mark)


def test_output_of_exactly_the_cap_is_no_reason_to_end_it(execute: Run) -> None:
    config = ExecutorConfig(hard_cap_bytes=1_000_000)
    result = execute("shell", "head -c 1000000 /dev/zero", config=config)
    assert (result.outcome, result.stdout_bytes) == ("ok", 1_000_000)


@pytest.mark.parametrize("code", ["printf 12345678901", "printf 123456; printf 78901 >&2; sleep 0.1"])
def test_one_byte_more_than_the_cap_is_never_dropped_in_silence(code: str, execute: Run) -> None:
    for _ in range(5):
        result = execute("shell", code, config=ExecutorConfig(hard_cap_bytes=10))
        assert (result.outcome, result.stdout_bytes + result.stderr_bytes) == ("killed", 10)


def test_noise_on_stderr_does_not_cost_stdout_its_place(execute: Run) -> None:
    result = execute("shell", "yes noise | head -c 18000000 >&2; echo RESULT=42; echo last >&2", max_output=1000)
    assert result.stdout.head == "RESULT=42\n"
    assert result.stderr.tail.endswith("\nlast\n")
    assert result.stderr_bytes == 18_000_005


@pytest.mark.parametrize(
    "code",
    ["read x; echo got=$x", "cat; echo got=", "python3 -c 'input()' 2>/dev/null; echo got=", "cat /dev/tty; echo got="],
)
def test_stdin_is_empty_and_there_is_no_terminal(code: str, execute: Run) -> None:
    result = execute("shell", code, timeout=20)
    assert (result.stdout.head, result.outcome) == ("got=\n", "ok")


def test_cancelled_from_another_thread(mark: str, execute: Run, project: Path) -> None:
    cancel = Cancel()
    results = []
    request = Request("shell", f"echo begun; sleep {mark}", cwd=project)
    thread = threading.Thread(target=lambda: results.append(run_code(request, ExecutorConfig(), cancel=cancel)))
    thread.start()
    assert wait_until(lambda: processes_with(mark))
    cancel.set()
    thread.join(20)
    assert (results[0].outcome, results[0].reason, results[0].stdout.head) == ("killed", "cancelled", "begun\n")
    assert not processes_with(mark)


def test_a_sink_that_fails_ends_the_run(project: Path, mark: str) -> None:
    class Broken:
        def feed(self, data: memoryview) -> None:
            raise BrokenPipeError

    command = Command([["/bin/sh", "-c", f"echo x; sleep {mark}"]], {"PATH": os.environ["PATH"]}, project, project)
    with pytest.raises(BrokenPipeError):
        run_command(command, Broken(), Broken())
    assert not processes_with(mark)


def test_many_runs_at_once_keep_apart(project: Path, mark: str) -> None:
    """Half of them leave something running; that of the others is not touched."""

    def one(number: int) -> tuple[str, str, str]:
        code = f"sleep 0.{number % 3}; (setsid sleep {mark}{number} &); echo tok{number}x; exit {number % 2}"
        result = run_code(Request("shell", code, cwd=project), ExecutorConfig())
        return result.stdout.head, result.outcome, result.reason

    with ThreadPoolExecutor(20) as pool:
        results = list(pool.map(one, range(20)))
    for number, (out, outcome, reason) in enumerate(results):
        assert out == f"tok{number}x\n"
        assert outcome == ("error" if number % 2 else "ok")
        assert reason.count("sleep") == 1
    assert not processes_with(mark)


def test_code_that_kills_its_keeper_takes_everything_with_it(mark: str, execute: Run) -> None:
    result = execute("shell", f"(env -i setsid sleep {mark} &); sleep 0.1; kill -9 $PPID; sleep {mark}", timeout=30)
    assert result.outcome == "killed"
    assert "the process that watched over it was killed" in result.reason
    assert wait_until(lambda: not processes_with(mark))
    assert execute("shell", "echo still here").stdout.head == "still here\n"


@pytest.mark.parametrize("stopped", ["$PPID", "$PPID $(ps -o ppid= -p $PPID)"])
def test_code_that_stops_its_keeper_still_times_out(stopped: str, mark: str, execute: Run) -> None:
    result = execute("shell", f"setsid sleep {mark} & kill -STOP {stopped}; sleep {mark}", timeout=0.4)
    assert (result.outcome, result.reason) == ("timeout", "timed out after 0.4 s")
    assert not processes_with(mark)


def test_code_that_stops_its_keeper_can_be_cancelled(mark: str, execute: Run, project: Path) -> None:
    cancel = Cancel()
    timer = threading.Timer(0.5, cancel.set)
    timer.start()
    request = Request("shell", f"kill -STOP $PPID; sleep {mark}", timeout=60, cwd=project)
    assert run_code(request, ExecutorConfig(), cancel=cancel).reason == "cancelled"
    timer.join()
    assert not processes_with(mark)


def test_a_failing_sink_ends_a_run_whose_keeper_is_stopped(project: Path, mark: str) -> None:
    class Broken:
        def feed(self, data: memoryview) -> None:
            raise BrokenPipeError

    code = f"kill -STOP $PPID; echo x; sleep {mark}"
    command = Command([["/bin/sh", "-c", code]], os.environ, project, project / "none", time.monotonic() + 60)
    with pytest.raises(BrokenPipeError):
        run_command(command, Broken(), Broken())
    assert not processes_with(mark)


def test_a_killed_nursery_is_replaced(execute: Run) -> None:
    execute("shell", "true")
    nursery = process._nursery
    assert nursery is not None
    os.kill(nursery.pid, signal.SIGKILL)
    os.waitid(os.P_PID, nursery.pid, os.WEXITED | os.WNOWAIT)
    assert execute("shell", "echo again").stdout.head == "again\n"


_HOST = """
import sys, threading
from pathlib import Path
from capy_core.config import ExecutorConfig
from capy_exec.run import Request, run_code
if sys.argv[2] == "threads":
    wait = threading.Event()
    threading.Thread(target=wait.wait, daemon=True).start()
mark = sys.argv[1]
code = f"(env -i setsid sleep {mark} &); (nohup sleep {mark} >/dev/null 2>&1 &); echo x; sleep {mark}"
run_code(Request("shell", code, timeout=60), ExecutorConfig())
"""


@pytest.mark.parametrize("kind", ["alone", "threads"])
def test_nothing_survives_a_host_that_is_killed(kind: str, mark: str, project: Path, tmp_path: Path) -> None:
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    host = subprocess.Popen([sys.executable, "-c", _HOST, mark, kind], env={**os.environ, "TMPDIR": str(scratch)})
    assert wait_until(lambda: sum("sleep" in line and "-c" not in line for line in processes_with(mark)) >= 3)
    assert len(list(scratch.iterdir())) == 1
    host.kill()
    host.wait()
    assert wait_until(lambda: not processes_with(mark))
    assert wait_until(lambda: not list(scratch.iterdir()))


def test_a_program_that_cannot_be_started(execute: Run) -> None:
    result = execute("shell", "true", args=("x" * 3_000_000,))
    assert (result.outcome, result.exit_code) == ("not_started", None)
    assert "Argument list too long" in result.reason


def test_the_code_finds_default_signals_and_no_foreign_descriptors(execute: Run, project: Path) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    before = signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    try:
        result = execute("shell", "ls /proc/$$/fd; grep -E 'Sig(Blk|Ign)' /proc/self/status")
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
        signal.signal(signal.SIGUSR2, before)
        os.close(reader)
        os.close(writer)
    *descriptors, blocked, ignored = result.stdout.head.splitlines()
    assert descriptors == ["0", "1", "2", "255"]  # the last is bash's own for the script
    assert [line.split()[1] for line in (blocked, ignored)] == ["0" * 16] * 2
