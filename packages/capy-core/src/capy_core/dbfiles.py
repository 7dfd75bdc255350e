"""The files of a database, handled without opening them (see `database` for why)."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISREG

from .errors import Busy, Unwritable


@contextmanager
def folder_lock(folder: Path, *, wait_s: float = 30.0) -> Iterator[None]:
    """Hold a folder's lock against other processes and threads: for creating a database and for replacing it.

    Two that key an empty file at once would each make up a salt, and one of them would then find the other's file
    unreadable. The lock is on the folder itself (flock), so no lock file stays behind.

    Raises:
        Busy: another held it for longer than `wait_s`.
    """
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        deadline = time.monotonic() + wait_s
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as ex:
                if time.monotonic() > deadline:
                    message = f"another process has been preparing a database in {folder} for {wait_s:.0f} s"
                    raise Busy(message, "try again, or end that process") from ex
                time.sleep(random.uniform(0.002, 0.02))
            except OSError:  # a file system without locks: SQLite's own are all there is
                break
        yield
    finally:
        os.close(handle)


def move_aside(path: Path, word: str) -> Path:
    """Rename a database and its sidecars to `<name>.<word>.<UTC time>`, and give the new path. Overwrites nothing."""
    target = free_name(path, word)
    for suffix in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            Path(f"{path}{suffix}").rename(f"{target}{suffix}")
    return target


def free_name(path: Path, word: str) -> Path:
    """`<name>.<word>.<UTC time>` beside `path`, with a number where that name is taken."""
    name = f"{path.name}.{word}.{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}"
    number, target = 1, path.with_name(name)
    while target.exists():
        number += 1
        target = path.with_name(f"{name}-{number}")
    return target


def file_size(path: Path) -> int:
    """The file's size in bytes; 0 when there is none.

    Raises:
        Unwritable: it is not a regular file, or its folder cannot be read.
    """
    with file_errors(path):
        try:
            facts = path.stat()
        except FileNotFoundError:
            return 0
    if not S_ISREG(facts.st_mode):
        raise Unwritable(f"{path} is not a regular file", "choose another place for the database", path=str(path))
    return facts.st_size


def identity(path: Path) -> tuple[int, int] | None:
    """Device and inode; None when there is no such file."""
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


@contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Turn an OSError inside the block into Unwritable."""
    try:
        yield
    except OSError as ex:
        raise Unwritable(
            f"cannot use {path}: {ex.strerror or ex}", "check the permissions and the space on the disk", path=str(path)
        ) from ex
