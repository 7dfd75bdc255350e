"""Private folders of runs, in one folder of this process, which the next start removes when the process died.

One folder a process, because making and removing folders straight in /tmp can cost milliseconds (measured on ext4: 3 to
8, against 0.1 in a folder below). It is locked by flock(2) on the folder itself, which the kernel releases however its
owner ends. A lock also tells dead from alive across containers that share /tmp, where process ids do not.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import NamedTuple

PREFIX = "capy-exec-"

_numbers = count(1)


@contextmanager
def scratch_folder(*, executable: bool) -> Iterator[Path]:
    """A new folder, readable by its owner only, with an empty `tmp` inside; removed at the end.

    The first call of a process in a temporary folder also removes what dead processes left there.

    Args:
        executable: programs in it must be able to run, so a file system mounted noexec will not do.

    Raises:
        NotFound: no usable temporary folder; the message names each with its reason.
    """
    folder = _make(executable)
    try:
        os.mkdir(f"{folder}/tmp", 0o700)
        yield Path(folder)
    finally:
        remove(folder)


def remove(folder: str | bytes) -> None:
    """Remove a folder with all that is in it, following no link. Never raises: what is left, the next start finds."""
    path = os.fsdecode(folder)
    try:
        _remove_tree(path)
    except FileNotFoundError:  # gone already, which is what is wanted
        pass
    except OSError:  # folders without write permission (Go's module cache), or deeper than a path may be long
        import subprocess

        for command in (["chmod", "-R", "u+rwx", path], ["rm", "-rf", path]):
            with suppress(OSError):
                subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)


def _remove_tree(path: str) -> None:
    folders = [path]
    for folder in folders:  # grows while it is walked
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                else:
                    os.unlink(entry.path)
    for folder in reversed(folders):
        os.rmdir(folder)


def _make(executable: bool) -> str:
    refusals = []
    # Scripts prefer such a place too: they may compile something and run it
    for base in sorted(_bases(), key=_is_noexec):
        if executable and _is_noexec(base):
            refusals.append(f"{base} (mounted noexec)")
            continue
        try:
            return _folder_in(base)
        except OSError as ex:
            refusals.append(f"{base} ({ex.strerror})")
    from capy_core.errors import NotFound  # not at the top: a keeper that removes a folder has only this package

    purpose = "run compiled programs" if executable else "write temporary files"
    raise NotFound(
        f"no folder to {purpose} in: {', '.join(refusals)}",
        "set TMPDIR to a folder on a disk that you may write to and that is not mounted noexec",
    )


def _folder_in(base: str) -> str:
    for last_try in (False, True):
        folder = f"{_home_in(base)}/{next(_numbers)}"
        try:
            os.mkdir(folder, 0o700)
        except FileNotFoundError:  # somebody cleaned up the temporary folder
            if last_try:
                raise
            _homes.pop(base, None)
        else:
            break
    return folder


def _bases() -> list[str]:
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    wanted = [os.environ.get("TMPDIR", ""), "/tmp", "/var/tmp", cache]
    return list(dict.fromkeys(os.path.abspath(path) for path in wanted if path and os.path.isdir(path)))


def _is_noexec(base: str) -> bool:
    try:
        return bool(os.statvfs(base).f_flag & getattr(os, "ST_NOEXEC", 0))
    except OSError:
        return False


class _Home(NamedTuple):
    """A process's own folder in a temporary folder."""

    owner: int  # a forked copy of this process needs one of its own
    path: str
    lock: int  # a descriptor


_homes: dict[str, _Home] = {}
_homes_lock = threading.Lock()


def _home_in(base: str) -> str:
    """This process's folder in a temporary folder, made when it is first asked for."""
    with _homes_lock:
        home = _homes.get(base)
        if home is None or home.owner != os.getpid():
            if not _homes:
                atexit.register(_remove_homes)
            _sweep(base)
            home = _homes[base] = _new_home(base)
        return home.path


def _new_home(base: str) -> _Home:
    while True:
        path = os.path.join(base, PREFIX + os.urandom(6).hex())
        os.mkdir(path, 0o700)
        lock = _lock(path, wait=True)
        if lock is not None:
            return _Home(os.getpid(), path, lock)


def _remove_homes() -> None:
    for home in _homes.values():
        if home.owner == os.getpid():
            remove(home.path)


def _lock(folder: str, *, wait: bool) -> int | None:
    """Lock a folder; None when another process holds it, or removed it meanwhile."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Between mkdir and flock another process's sweep may have taken the folder for a dead one
        if os.path.exists(folder) and os.path.samestat(os.fstat(fd), os.stat(folder)):
            return fd
    except BlockingIOError:  # its owner is alive
        pass
    os.close(fd)
    return None


def _sweep(base: str) -> None:
    """Remove the folders of processes that have died."""
    with os.scandir(base) as entries:
        names = [entry.path for entry in entries if entry.name.startswith(PREFIX)]
    for folder in names:
        with suppress(OSError):
            if os.lstat(folder).st_uid == os.getuid() and (lock := _lock(folder, wait=False)) is not None:
                remove(folder)
                os.close(lock)
