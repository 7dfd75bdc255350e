"""Run a command under a keeper: hand its output on as it comes, stop it when asked or when it writes too much.

May be called from several threads at once. See keeper.py for who does what.
"""

from __future__ import annotations

import atexit
import errno
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from . import keeper
from .proctable import descendants

if TYPE_CHECKING:
    from subprocess import Popen

_BUFFER = 1 << 20
_PATIENCE_S = 0.3  # for a keeper whose run is over: longer than it needs to end what obeys SIGTERM, or is killed


class Sink(Protocol):
    """Where a stream of output goes."""

    def feed(self, data: memoryview) -> None:
        """Take the next bytes; the memory is reused after the call."""


class Cancel:
    """A switch that ends the runs it was given to; may be set from any thread and from a signal handler."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()

    def set(self) -> None:
        """End the runs, and those that begin later. To be called once."""
        os.write(self._writer, b"x")

    def fileno(self) -> int:
        """What to poll: readable once it is set."""
        return self._reader

    def __del__(self) -> None:
        os.close(self._reader)
        os.close(self._writer)


class Command(NamedTuple):
    """What to run.

    Args:
        steps: argument vectors with absolute programs, run one after the other while each exits with 0.
        env: the whole environment.
        cwd: the working folder.
        scratch: a folder that is removed if this process dies before the command does.
        deadline: the `time.monotonic()` at which the run is ended; None for never.
        hard_cap: bytes of stdout and stderr together after which it is ended; None for no limit.
    """

    steps: Sequence[Sequence[str]]
    env: Mapping[str, str]
    cwd: Path
    scratch: Path
    deadline: float | None = None
    hard_cap: int | None = None


class Ended(NamedTuple):
    """How a command ended.

    Args:
        why: "exited", "timeout", "cap" (it wrote too much), "cancelled", "not_started", "abandoned" (its keeper was
            told to end) or "lost" (its keeper was killed).
        step: the number of the step that ran last.
        status: its wait status (`os.WIFEXITED` and friends); None when it has none.
        errno: why it could not be started.
        leftovers: names of processes that the command left running and that were ended.
        survivors: names of processes that could not be ended.
    """

    why: str
    step: int = 0
    status: int | None = None
    errno: int = 0
    leftovers: tuple[str, ...] = ()
    survivors: tuple[str, ...] = ()


def run_command(
    command: Command,
    stdout: Sink,
    stderr: Sink,
    cancel: Cancel | None = None,
    meanwhile: Callable[[], object] | None = None,
) -> Ended:
    """Run a command to its end; when this returns or raises, nothing of it is running any more.

    Args:
        command: what to run. Its stdin is the null device.
        stdout: gets the bytes of stdout.
        stderr: gets the bytes of stderr.
        cancel: once set, the run is ended.
        meanwhile: called while the command is starting.

    Raises:
        Whatever a sink raises (a broken pipe, Ctrl-C), after the run was ended.
    """
    with _Channel(command) as channel:
        if meanwhile:
            meanwhile()
        return channel.drain(stdout, stderr, cancel)


def get_ready() -> None:
    """Start what runs need ahead of the first one; for programs that will run many. Returns at once."""
    _nursery_of_this_process(many_runs=True)


class _Channel:
    """The four pipes of one run, seen from the host."""

    def __init__(self, command: Command) -> None:
        self.command = command
        self.reported = False
        self.stopped = ""  # why the keeper was told to end the run
        self.left = sys.maxsize if command.hard_cap is None else command.hard_cap
        self.buffer = memoryview(bytearray(_BUFFER))
        self.overdue = float("inf") if command.deadline is None else command.deadline + _PATIENCE_S
        """The `time.monotonic()` at which a keeper that has not reported is woken: the code may have stopped it."""

    def __enter__(self) -> _Channel:
        pipes = [os.pipe() for _ in range(4)]
        (self.stdout, out), (self.stderr, err), (commands, self.commands), (self.reports, reports) = pipes
        theirs = [out, err, commands, reports]
        _widen(self.stdout)
        _widen(self.stderr)
        try:
            _nursery_of_this_process().send(theirs)
        finally:
            for fd in theirs:
                os.close(fd)
        command = self.command
        request = {
            "steps": [[os.fsencode(word) for word in step] for step in command.steps],
            "env": {os.fsencode(name): os.fsencode(value) for name, value in command.env.items()},
            "cwd": os.fsencode(command.cwd),
            "scratch": os.fsencode(command.scratch),
            "deadline": command.deadline,
        }
        with suppress(BrokenPipeError):  # killed at once: the missing report tells
            keeper.send(self.commands, request)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.commands)  # a keeper that has not reported yet takes this as the end of its host
        for fd in (self.stdout, self.stderr):
            os.close(fd)
        poll = select.poll()
        poll.register(self.reports, select.POLLIN)
        while not self.reported:  # until it has ended everything and gone
            if not poll.poll(_PATIENCE_S * 1000):
                _wake_keepers()
            elif not os.read(self.reports, 4096):
                break
        os.close(self.reports)

    def drain(self, stdout: Sink, stderr: Sink, cancel: Cancel | None) -> Ended:
        """Move output to the sinks until the keeper reports."""
        sinks = {self.stdout: stdout, self.stderr: stderr}
        poll = select.poll()
        for fd in (*sinks, self.reports, *([cancel.fileno()] if cancel else [])):
            poll.register(fd, select.POLLIN)
        ready: set[int] = set()
        while self.reports not in ready:
            # In hours at most: poll(2) counts milliseconds in an int
            ready = {fd for fd, _ in poll.poll(1000 * max(0.0, min(self.overdue - time.monotonic(), 3600)))}
            if time.monotonic() >= self.overdue and self.reports not in ready:
                _wake_keepers()
                self.overdue = time.monotonic() + _PATIENCE_S
            for fd in ready & sinks.keys():
                if not self._move(fd, sinks[fd]):
                    poll.unregister(fd)
                    del sinks[fd]
            if cancel and cancel.fileno() in ready:
                poll.unregister(cancel.fileno())
                self._stop("cancelled")
        report = keeper.receive(self.reports)
        self.reported = report is not None
        for fd, sink in sinks.items():  # what is still in the pipes; never wait for more
            os.set_blocking(fd, False)
            with suppress(BlockingIOError):
                while self._move(fd, sink):
                    pass
        return _ended(report, self.stopped)

    def _move(self, fd: int, sink: Sink) -> bool:
        """Read once from a stream; False when it has ended or what it says is no longer wanted."""
        size = os.readv(fd, [self.buffer[: max(1, min(self.left, _BUFFER))]])
        if size and self.left > 0:
            self.left -= size
            sink.feed(self.buffer[:size])
            return True
        if size:
            self._stop("cap")
        return False

    def _stop(self, why: str) -> None:
        self.stopped = self.stopped or why
        self.overdue = min(self.overdue, time.monotonic() + _PATIENCE_S)
        with suppress(BrokenPipeError):
            os.write(self.commands, keeper.STOP)


def _ended(report: dict[str, Any] | None, stopped: str) -> Ended:
    if report is None:
        return Ended("lost")
    if report["why"] == "bug":
        raise RuntimeError(f"the keeper failed: {report['error']}")
    why = stopped or report["why"]
    return Ended(
        why, report["step"], report["status"], report["error"],
        tuple(report["leftovers"]), tuple(report["survivors"]),
    )  # fmt: skip


class _Nursery:
    """This process's end of its nursery."""

    def __init__(self, many_runs: bool) -> None:
        self.host = os.getpid()
        self._lock = threading.Lock()
        self._many_runs = many_runs
        self._start()

    def send(self, fds: list[int]) -> None:
        """Have a keeper forked that holds these descriptors; a nursery that was killed is replaced once."""
        with self._lock:
            try:
                keeper.send_fds(self.socket, fds)
            except OSError as ex:
                if ex.errno not in (errno.EPIPE, errno.ECONNRESET):
                    raise
                self.close()
                self._start()
                keeper.send_fds(self.socket, fds)

    def _start(self) -> None:
        self.socket, theirs = keeper.socket_pair()
        self._process: Popen[bytes] | None = None
        # Forking ourselves costs a tenth of a new interpreter, but each run forks twice more, and forks of a small
        # process are cheaper. And it is safe only without other threads, native ones included.
        if not self._many_runs and _only_one_thread():
            self.pid = os.fork()
            if self.pid == 0:
                keeper.serve(theirs.detach())
        else:
            self._process = _spawn_nursery(theirs.fileno())
            self.pid = self._process.pid
        theirs.close()

    def close(self) -> None:
        """Let it end and collect it; a forked copy of the host leaves it alone."""
        self.socket.close()
        if self.host != os.getpid():
            return
        if self._process:
            self._process.wait()
        else:
            with suppress(ChildProcessError):
                os.waitpid(self.pid, 0)


_nursery: _Nursery | None = None
_nursery_lock = threading.Lock()


def _nursery_of_this_process(*, many_runs: bool = False) -> _Nursery:
    global _nursery
    with _nursery_lock:
        if _nursery is None or _nursery.host != os.getpid():
            _nursery = _Nursery(many_runs)
            atexit.register(_nursery.close)
        return _nursery


def _wake_keepers() -> None:
    """Let what was stopped (SIGSTOP) below this process's nursery go on, so that it can end."""
    if _nursery is not None:
        for pid in (_nursery.pid, *(process.pid for process in descendants(_nursery.pid))):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGCONT)


def _only_one_thread() -> bool:
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


def _spawn_nursery(channel: int) -> Popen[bytes]:
    """Start a fresh interpreter as the nursery, with next to nothing of our environment in it."""
    from subprocess import Popen

    code = "import sys; sys.path.insert(0, sys.argv[1]); from capy_exec.keeper import serve; serve(int(sys.argv[2]))"
    argv = [sys.executable, "-I", "-S", "-c", code, str(Path(__file__).parent.parent), str(channel)]
    # An interpreter may need these to find its own libraries
    env = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH") if name in os.environ}
    return Popen(argv, env=env, pass_fds=[channel])


def _widen(fd: int) -> None:
    """Let the child write a megabyte before it has to wait for us, where the system allows it."""
    if sys.platform == "linux":
        import fcntl

        with suppress(OSError):
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, _BUFFER)
