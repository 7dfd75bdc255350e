"""The processes between us and the code we run, so that nothing of a run outlives it.

    host (capy-exec, capy-mcp)
      nursery        one per host: a small single-threaded process that forks keepers on request
        keeper       one per run: starts the code, keeps its time, ends all that descends from it, reports
          the code   in a session of its own

On Linux the keeper is a "child subreaper" (prctl(2)): whatever the code starts, however it detaches itself, stays below
the keeper, so "all processes of this run" is an exact set, and it is empty when wait(2) says that there is no child.
Whoever is killed with SIGKILL, the rest ends: the host's end closes the keeper's command pipe; the keeper's end kills
the code (parent death signal) and hands the remaining descendants to the nursery, which kills them. Elsewhere the
code's process group stands in for the set.

A separate process is needed because a host with threads can neither fork safely nor wait for children that are not its
own, and because time is kept here even while the host is blocked on writing.

Messages are `marshal` values behind their length (8 bytes, little endian): both ends are the same Python.
"""

from __future__ import annotations

import _socket
import gc
import marshal
import os
import select
import signal
import struct
import sys
import time
from contextlib import suppress
from functools import cache
from typing import Any, NoReturn

from .proctable import descendants

Socket = _socket.socket

TERM_GRACE_S = 0.2  # from SIGTERM to SIGKILL: short, so that a timeout stays well within half a second
LEFTOVER_GRACE_S = 0.1  # what the code started may finish by itself for this long, e.g. `cmd > >(sort)`
KILL_PATIENCE_S = 1.0  # then what cannot be killed (another user's, stuck in the kernel) is reported, not waited for

STOP = b"s"  # host to keeper: end the run now
STDOUT, STDERR, COMMANDS, REPORTS = range(4)  # the order in which the descriptors of a run are sent

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 1, 4, 36


def send(fd: int, value: Any) -> None:
    """Write one message to a pipe."""
    data = marshal.dumps(value)
    view = memoryview(len(data).to_bytes(8, "little") + data)
    while view:
        view = view[os.write(fd, view) :]


def receive(fd: int) -> Any:
    """Read one message from a pipe; None when the other end has gone."""
    size = _read(fd, 8)
    data = _read(fd, int.from_bytes(size, "little")) if len(size) == 8 else b""
    return marshal.loads(data) if data else None


def socket_pair() -> tuple[Socket, Socket]:
    """Two connected sockets. `_socket` is the C half of `socket`; the other half takes as long to import as a run."""
    return _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)


def send_fds(channel: Socket, fds: list[int]) -> None:
    """Hand descriptors to the process at the other end (unix(7), SCM_RIGHTS)."""
    channel.sendmsg([b"k"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, struct.pack("4i", *fds))])


def serve(channel: int) -> NoReturn:
    """Be the nursery: fork a keeper for every set of descriptors that comes in; end when the host does."""
    try:
        _serve(Socket(fileno=channel))
    finally:
        os._exit(0)


def _serve(channel: Socket) -> None:
    _settle_down(keep={channel.fileno()})
    wake = _wake_on(signal.SIGCHLD)
    keepers: set[int] = set()
    poll = select.poll()
    poll.register(channel, select.POLLIN)
    poll.register(wake, select.POLLIN)
    while True:
        ready = {fd for fd, _ in poll.poll()}
        if wake in ready:
            os.read(wake, 4096)
            _collect(keepers)
        if channel.fileno() in ready:
            fds = _receive_fds(channel)
            if not fds:
                break
            pid = os.fork()
            if pid == 0:
                channel.close()
                keep(fds)
            keepers.add(pid)
            for fd in fds:
                os.close(fd)
    for pid in keepers:
        os.kill(pid, signal.SIGTERM)
    while keepers:
        select.select([wake], [], [])
        os.read(wake, 4096)
        _collect(keepers)


def _receive_fds(channel: Socket) -> list[int]:
    """The descriptors that were sent; none at the end."""
    _, sent, _, _ = channel.recvmsg(1, _socket.CMSG_LEN(struct.calcsize("4i")))
    fds = [fd for _, _, data in sent for fd in struct.unpack("4i", data)]
    for fd in fds:
        os.set_inheritable(fd, False)
    return fds


def _collect(keepers: set[int]) -> None:
    """Wait for keepers that ended; kill what a keeper left behind that was itself killed."""
    strays = False
    try:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            strays |= pid not in keepers or status != 0
            keepers.discard(pid)
    except ChildProcessError:
        return
    if strays:
        below = descendants(os.getpid())
        kept = keepers | {process.pid for keeper in keepers for process in descendants(keeper)}
        for process in below:
            if process.pid not in kept:
                _kill(process.pid, signal.SIGKILL)


def keep(fds: list[int]) -> NoReturn:
    """Be the keeper of one run, whose request comes over the command pipe. Never returns."""
    try:
        request = receive(fds[COMMANDS])
        if request is not None:
            run = _Run(fds, request)
            report = run.run()
            try:
                send(fds[REPORTS], report)
            except BrokenPipeError:  # the host has gone meanwhile
                report["why"] = "abandoned"
            if report["why"] == "abandoned":
                from .scratch import remove

                remove(request["scratch"])
                with suppress(OSError):  # other runs may still have theirs there
                    os.rmdir(os.path.dirname(request["scratch"]))
    except BaseException:
        import traceback

        send(fds[REPORTS], {"why": "bug", "error": traceback.format_exc()})
    finally:
        os._exit(0)


class _Run:
    """One run, from the first step to the end of the last descendant.

    Args:
        fds: the write ends of stdout and stderr, the read end of the commands, the write end of the reports.
        request: `steps` (argument vectors, run one after the other while each exits with 0), `env`, `cwd`, `scratch`
            (all bytes), `deadline` (of time.monotonic, or None).
    """

    def __init__(self, fds: list[int], request: dict[str, Any]) -> None:
        self.fds, self.request = fds, request
        self.main = 0  # the running step
        self.status: int | None = None  # how it ended
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        self.wake = _wake_on(signal.SIGCHLD, signal.SIGTERM)
        self.poll = select.poll()
        self.poll.register(self.wake, select.POLLIN)
        self.poll.register(fds[COMMANDS], select.POLLIN)

    def run(self) -> dict[str, Any]:
        """Returns `why` (exited, timeout, stopped, abandoned or not_started), `step`, the wait `status` (None without
        one), `leftovers` (names of what had to be ended after the code itself), `survivors`, `error` (an errno)."""
        why, error, step = "exited", 0, -1
        for argv in self.request["steps"]:
            step, self.status = step + 1, None
            error = self._start(argv)
            why = "not_started" if error else self._wait(self.request["deadline"], lambda: self.status is not None)
            if why != "exited" or self.status != 0:
                break
        os.close(self.fds[STDOUT])
        os.close(self.fds[STDERR])
        leftovers: list[str] = []
        if why in ("exited", "not_started"):
            leftovers = self._end_leftovers()
        else:
            self._end_all(0 if why == "abandoned" else TERM_GRACE_S)
        survivors = [] if self._alone() else [process.name for process in descendants(os.getpid())]
        return {
            "why": why, "step": step, "status": self.status, "error": error,
            "leftovers": leftovers, "survivors": survivors,
        }  # fmt: skip

    def _start(self, argv: list[bytes]) -> int:
        """Start a step in a session of its own; returns an errno, 0 when the program is running."""
        failed, tell = os.pipe()
        keeper = os.getpid()
        self.main = os.fork()
        if self.main == 0:
            try:
                os.setsid()
                _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
                if os.getppid() != keeper:  # it died before the line above took effect
                    os._exit(1)
                signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # exec resets the handlers, not what is ignored
                os.dup2(self.fds[STDOUT], 1)
                os.dup2(self.fds[STDERR], 2)
                os.chdir(self.request["cwd"])
                os.execve(argv[0], argv, self.request["env"])
            except OSError as ex:
                os.write(tell, str(ex.errno).encode())
            finally:
                os._exit(127)
        os.close(tell)
        error = os.read(failed, 16)  # closed without a word by a successful exec
        os.close(failed)
        return int(error or 0)

    def _wait(self, until: float | None, done: Any) -> str:
        """Wait for `done()`, a time, or the host's word: "exited", "timeout", "stopped" or "abandoned"."""
        while True:
            self._alone()
            if done():
                return "exited"
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                return "timeout"
            # In hours at most: poll(2) counts milliseconds in an int
            ready = {fd for fd, _ in self.poll.poll(None if left is None else min(left, 3600) * 1000)}
            if self.wake in ready and signal.SIGTERM in os.read(self.wake, 4096):
                return "abandoned"
            if self.fds[COMMANDS] in ready:
                return "stopped" if os.read(self.fds[COMMANDS], 1) else "abandoned"

    def _alone(self) -> bool:
        """Collect what ended; True when no process of this run is left."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return False
                if pid == self.main:
                    self.status = status
        except ChildProcessError:
            return not _group_exists(self.main)

    def _end_leftovers(self) -> list[str]:
        """End what the code left running; returns the names of what did not end by itself."""
        if self._wait(time.monotonic() + LEFTOVER_GRACE_S, self._alone) == "exited":
            return []
        names = [process.name for process in descendants(os.getpid())] or ["a process of its group"]
        self._end_all(TERM_GRACE_S)
        return names

    def _end_all(self, grace: float) -> None:
        """SIGTERM, a little time, then SIGKILL until nothing is left."""
        if grace:
            self._signal_all(signal.SIGTERM)
            if self._wait(time.monotonic() + grace, self._alone) == "exited":
                return
        patience = time.monotonic() + KILL_PATIENCE_S
        while not self._alone() and time.monotonic() < patience:
            self._signal_all(signal.SIGKILL)  # again and again: they may fork while they are counted
            select.select([self.wake], [], [], 0.01)

    def _signal_all(self, number: int) -> None:
        if sys.platform != "linux":
            _kill(-self.main, number)
        for process in descendants(os.getpid()):
            _kill(process.pid, number)


def _settle_down(keep: set[int]) -> None:
    """Make a fresh or a forked process a quiet one: no host's files, signals or terminal."""
    gc.disable()  # short-lived and small: collecting would only copy pages
    for name in os.listdir("/dev/fd"):
        fd = int(name)
        if fd > 2 and fd not in keep:
            with suppress(OSError):  # the one that listed them is gone
                os.close(fd)
    os.chdir("/")
    null = os.open(os.devnull, os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    os.close(null)
    if os.getpid() != os.getsid(0):
        os.setsid()  # Ctrl-C is the host's to handle
    _default_signals()
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _prctl(_PR_SET_DUMPABLE, 0)  # the code runs as the same user: it shall not read what we hold in memory


def _default_signals() -> None:
    """Undo what this Python, or the host, set: the code shall find the signals as a shell would leave them."""
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        if signal.getsignal(number) not in (signal.SIG_DFL, None):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _wake_on(*numbers: int) -> int:
    """A descriptor that becomes readable, with the signal's number as a byte, when one of these arrives."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    for number in numbers:
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    return reader


def _kill(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _group_exists(leader: int) -> bool:
    try:
        os.killpg(leader, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        _libc().prctl(option, value, 0, 0, 0)


@cache
def _libc() -> Any:
    import ctypes

    return ctypes.CDLL(None)


def _read(fd: int, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size and (data := os.read(fd, size - len(parts))):
        parts += data
    return bytes(parts)
