"""How far a long indexing is, for people at a terminal; on stderr, gone when it is done."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from capy_core.cli import App

_LONG = 8_000_000  # bytes; less is done before one could read it


@contextmanager
def watched(app: App, stream: BinaryIO, what: str, size: int | None) -> Iterator[BinaryIO]:
    """The stream, with a bar that follows its reading when that may take long. `size`: its bytes, None if unknown."""
    if not sys.stderr.isatty() or app.format == "json" or (size is not None and size < _LONG):
        yield stream
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    from capy_core.display import harmless

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(harmless(what), total=size)
        yield cast("BinaryIO", _Watched(stream, lambda at: progress.update(task, completed=at)))


class _Watched:
    """A stream that tells how far it was read."""

    def __init__(self, stream: BinaryIO, tell: Callable[[int], None]) -> None:
        self._stream, self._tell, self._at = stream, tell, 0

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self._at += len(data)
        self._tell(self._at)
        return data

    def seek(self, at: int, whence: int = 0) -> int:
        self._at = self._stream.seek(at, whence)
        return self._at

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
