"""A session file's bytes, plain or compressed with zstd."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from ..errors import BadInput, NotFound, SystemFailure

_BLOCK = 1 << 20
_WINDOW = 1 << 27  # bytes that a frame may ask to keep in memory; what the zstd program allows by default
_BITE = 512  # compressed bytes a step: 4 bytes can make 128 KiB, so that a step makes 16 MiB at most


class Damaged(BadInput):
    """Compressed data that breaks off or makes no sense; what came before it was fine."""

    code = "damaged"


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """A file's content, `.zst` decompressed on the way, in memory that does not depend on its size.

    Reading from it may raise Damaged.

    Raises:
        NotFound: no such file. SystemFailure: it cannot be read.
        BadInput: it is compressed and the module zstandard is missing.
    """
    try:
        with path.open("rb", buffering=_BLOCK) as file:
            yield file if path.suffix != ".zst" else cast(BinaryIO, io.BufferedReader(_Zstd(file, path), _BLOCK))
    except FileNotFoundError as ex:
        raise NotFound(f"there is no session file {path}", "its host may have removed it", path=str(path)) from ex
    except OSError as ex:
        raise SystemFailure(f"cannot read {path}: {ex.strerror or ex}", "fix it and run again", path=str(path)) from ex


class _Zstd(io.RawIOBase):
    """Frames one after another. The library's own reader ends a cut-off file without a word; this one says so."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        try:
            import zstandard
        except ModuleNotFoundError as ex:
            message = f"{path} is compressed with zstd, and the Python module zstandard is not installed"
            raise BadInput(message, "install capy-core[zstd]", path=str(path)) from ex
        self._file, self._error = file, zstandard.ZstdError
        self._frames = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
        self._frame: Any = None
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            bite = (self._frame.unused_data if self._frame and self._frame.eof else b"") or self._file.read(_BITE)
            if not bite:
                if self._frame and not self._frame.eof:
                    raise Damaged("the compressed data breaks off")
                return 0
            if self._frame is None or self._frame.eof:
                self._frame = self._frames.decompressobj()
            try:
                self._ready = memoryview(self._frame.decompress(bite))
            except self._error as ex:
                raise Damaged(f"damaged compressed data: {ex}") from ex
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size
