"""Is the file behind a source still the one that was indexed?"""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .origin import Origin
    from .queries import SourceRow

_HASHED = 1 << 20  # a doubtful file up to this size is read and compared
_RACY_NS = 2_000_000_000  # a change this close before the indexing may bear the same times


def with_file(origin: Origin, path: Path, descriptor: int) -> Origin:
    """The origin with the path, size and times of an open file; as it was for what is no regular file."""
    facts = os.fstat(descriptor)
    if not S_ISREG(facts.st_mode):
        return origin
    return origin._replace(
        path=str(path),
        file_size=facts.st_size,
        file_mtime_ns=facts.st_mtime_ns,
        file_ctime_ns=facts.st_ctime_ns,
    )


def file_state(row: SourceRow) -> str:
    """ "" when the file is as it was indexed (or the source has none), else "changed" or "missing".

    A file of the same size and times is taken for unchanged, unless it changed so shortly before it was indexed that
    a later change could bear the same times. One with other times alone, up to 1 MiB, is compared by its content.
    """
    if row.path is None or row.file_size is None:
        return ""
    try:
        facts = os.stat(row.path)
    except (FileNotFoundError, NotADirectoryError):
        return "missing"
    except OSError:  # it cannot be looked at, which says nothing about it
        return ""
    if facts.st_size != row.file_size:
        return "changed"
    same_times = facts.st_mtime_ns == row.file_mtime_ns and facts.st_ctime_ns == row.file_ctime_ns
    racy = facts.st_ctime_ns > row.indexed_at * 1_000_000_000 - _RACY_NS
    if same_times and not (racy and facts.st_size <= _HASHED):
        return ""
    if facts.st_size > _HASHED:
        return "changed"
    try:
        return "" if sha256(Path(row.path).read_bytes()).digest() == row.raw_hash else "changed"
    except OSError:
        return ""
