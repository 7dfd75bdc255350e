"""Which processes there are and who started them: /proc on Linux, `ps` elsewhere."""

from __future__ import annotations

import os
from typing import NamedTuple


class Process(NamedTuple):
    """One row of the process table."""

    pid: int
    parent: int
    name: str  # of the program, at most 15 bytes on Linux
    zombie: bool  # ended, but not yet collected by its parent


def snapshot() -> list[Process]:
    """All processes that can be seen, zombies included."""
    if os.path.exists("/proc/self/stat"):
        return [row for name in os.listdir("/proc") if name.isdigit() and (row := _from_proc(name))]
    return _from_ps()


def descendants(root: int) -> list[Process]:
    """The living processes below `root`, itself not included, parents before their children."""
    by_parent: dict[int, list[Process]] = {}
    for process in snapshot():
        by_parent.setdefault(process.parent, []).append(process)
    found = list(by_parent.get(root, ()))
    for process in found:  # grows while it is walked
        found.extend(by_parent.get(process.pid, ()))
    return [process for process in found if not process.zombie]


def _from_proc(pid: str) -> Process | None:
    """A row of /proc/PID/stat (proc(5)): `pid (name) state ppid ...`; the name may hold spaces and brackets."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:  # noqa: PTH123 - hundreds of small files, read while killing
            text = stream.read().decode("utf-8", "replace")
    except OSError:  # it has just ended
        return None
    before, _, after = text.rpartition(")")
    state, parent = after.split()[:2]
    return Process(int(pid), int(parent), before.partition("(")[2], state in "ZX")


def _from_ps() -> list[Process]:
    import subprocess

    listing = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,state=,comm="], capture_output=True, stdin=subprocess.DEVNULL, text=True
    ).stdout
    rows = [line.split(None, 3) for line in listing.splitlines()]
    return [
        Process(int(row[0]), int(row[1]), os.path.basename(row[3]), row[2].startswith("Z"))
        for row in rows
        if len(row) == 4
    ]
