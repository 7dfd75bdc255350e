"""Write a file whole or leave the old one: a reader, or a crash at any instant, never meets half a file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from .errors import Unwritable


def write_file(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Replace the content of `path` by `data`, or leave `path` as it was.

    A temporary file in the same folder is written, flushed to the disk and renamed over the target. A symbolic link
    stays a link: the file it points to is replaced. Hard links part ways, as with every rename.

    Args:
        mode: permission bits of the result; None keeps those of the old file (0644 less the umask for a new one).

    Raises:
        Unwritable: the file cannot be written (permission, read-only or full disk, a missing folder).
    """
    target = Path(os.path.realpath(path))
    try:
        handle, temporary = tempfile.mkstemp(prefix=".capy-", suffix=".tmp", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fchmod(stream.fileno(), _mode_of(target) if mode is None else mode)
                os.fsync(stream.fileno())
            os.replace(temporary, target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        sync_folder(target.parent)
    except OSError as ex:
        raise Unwritable(
            f"cannot write {path}: {ex.strerror or ex}",
            "check the permissions and the space on the disk",
            path=str(path),
        ) from ex


def sync_folder(folder: Path) -> None:
    """Make a rename or a new name in a folder survive a power cut, where the system can do that."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # folders cannot be opened here; the rename is done all the same
        return
    try:
        os.fsync(handle)
    except OSError:  # some file systems cannot sync a folder
        pass
    finally:
        os.close(handle)


def _mode_of(target: Path) -> int:
    try:
        return target.stat().st_mode & 0o7777
    except FileNotFoundError:
        umask = os.umask(0o077)
        os.umask(umask)
        return 0o666 & ~umask
