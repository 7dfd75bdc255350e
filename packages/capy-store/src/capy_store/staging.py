"""Labels under which a bulk source waits until it is whole. They name the process that writes, so that the rows of a
killed writer can be told from those of a living one.
"""

from __future__ import annotations

import os
import socket
from functools import lru_cache
from pathlib import Path
from time import time

from capy_core.database import Connection

from . import queries

_MARK = "\x01staging"
_FOREIGN_S = 24 * 3600  # rows of another machine are left alone this long


def new_label() -> str:
    """A staging label of this process."""
    pid = os.getpid()
    return "\x01".join((_MARK, _host(), str(pid), _started(pid), os.urandom(8).hex()))


def sweep(db: Connection) -> int:
    """Remove the staging rows of dead writers, inside a write transaction; how many sources that were."""
    dead = [row for row in queries.incomplete_sources(db) if _is_dead(row.label, row.indexed_at)]
    for row in dead:
        queries.delete_source(db, row.id)
    return len(dead)


def _is_dead(label: str, indexed_at: int) -> bool:
    _, mark, host, pid, started, *_ = [*label.split("\x01"), "", "", "", "", ""]
    if f"\x01{mark}" != _MARK or not pid.isdigit():
        return True
    if host != _host():
        return time() - indexed_at > _FOREIGN_S
    return not _is_alive(int(pid)) or _started(int(pid)) != started


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's
        return True
    return True


def _started(pid: int) -> str:
    """When a process started, in clock ticks since boot; "" where the system does not tell (then the pid must do)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return ""
    return stat.rpartition(b")")[2].split()[19].decode()


@lru_cache(1)
def _host() -> str:
    return socket.gethostname()
