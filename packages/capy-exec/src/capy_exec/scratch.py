"""Private folders of runs: made, locked while their owner lives, removed at the next start when it died.

A folder is locked by flock(2) on the folder itself, which the kernel releases however its owner ends. A lock also
tells dead from alive across containers that share /tmp, where process ids do not.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "capy-exec-"

_swept: set[str] = set()


@contextmanager
def scratch_folder(*, executable: bool) -> Iterator[Path]:
    """A new folder, readable by its owner only, with an empty `tmp` inside; removed at the end.

    The first call of a process in a base folder also removes what dead runs left there.

    Args:
        executable: programs in it must be able to run, so a file system mounted noexec will not do.

    Raises:
        NotFound: no usable base folder; the message names each with its reason.
    """
    folder, lock = _make(executable)
    try:
        os.mkdir(folder / "tmp", 0o700)
        yield folder
    finally:
        remove(folder)
        os.close(lock)


def remove(folder: Path | str | bytes) -> None:
    """Remove a folder with all that is in it, folders without write permission (Go's module cache) included."""
    path = os.fsdecode(folder)
    with suppress(FileNotFoundError):
        try:
            shutil.rmtree(path)
        except OSError:
            for place, _, _ in os.walk(path):
                with suppress(OSError):
                    os.chmod(place, 0o700)
            shutil.rmtree(path, ignore_errors=True)


def _make(executable: bool) -> tuple[Path, int]:
    refusals = []
    for base in _bases():
        if executable and _is_noexec(base):
            refusals.append(f"{base} (mounted noexec)")
            continue
        try:
            _sweep(base)
            while True:
                folder = os.path.join(base, PREFIX + os.urandom(6).hex())
                os.mkdir(folder, 0o700)
                lock = _lock(folder, wait=True)
                if lock is not None:
                    return Path(folder), lock
        except OSError as ex:
            refusals.append(f"{base} ({ex.strerror})")
    from capy_core.errors import NotFound  # not at the top: a keeper that removes a folder has only this package

    purpose = "run compiled programs" if executable else "write temporary files"
    raise NotFound(
        f"no folder to {purpose} in: {', '.join(refusals)}",
        "set TMPDIR to a folder on a disk that you may write to and that is not mounted noexec",
    )


def _bases() -> list[str]:
    home = os.path.expanduser("~")
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    wanted = [os.environ.get("TMPDIR", ""), "/tmp", "/var/tmp", cache]
    return list(dict.fromkeys(os.path.abspath(path) for path in wanted if path and os.path.isdir(path)))


def _is_noexec(base: str) -> bool:
    try:
        return bool(os.statvfs(base).f_flag & getattr(os, "ST_NOEXEC", 0))
    except OSError:
        return False


def _lock(folder: str, *, wait: bool) -> int | None:
    """Lock a folder; None when another process holds it, or removed it meanwhile."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        # between mkdir and flock another process's sweep may have taken the folder for a dead one
        if os.path.exists(folder) and os.path.samestat(os.fstat(fd), os.stat(folder)):
            return fd
    except BlockingIOError:
        pass
    os.close(fd)
    return None


def _sweep(base: str) -> None:
    """Remove the folders of runs whose owner has died."""
    if base in _swept:
        return
    _swept.add(base)
    with os.scandir(base) as entries:
        names = [entry.path for entry in entries if entry.name.startswith(PREFIX)]
    for folder in names:
        with suppress(OSError):
            if os.lstat(folder).st_uid == os.getuid() and (lock := _lock(folder, wait=False)) is not None:
                remove(folder)
                os.close(lock)
