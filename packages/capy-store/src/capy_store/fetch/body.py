"""The bytes of an answer, decompressed, within a limit. A bomb costs no more than the limit and one step."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, Protocol

from capy_core.errors import BadInput, TooLarge

if TYPE_CHECKING:
    from .transport import Response

ACCEPTED = "gzip, deflate"
_STEP = 64 * 1024
# Content coding -> how a further member starts ("" = there is none), compressed bytes fed at a time. The latter bound
# what one step can blow up to: deflate gives at most 1,032 bytes for one, zstd a block of 128 KiB for four.
_CODINGS = {
    "gzip": (b"\x1f\x8b", 4096),
    "x-gzip": (b"\x1f\x8b", 4096),
    "deflate": (b"", 4096),
    "zstd": (b"\x28\xb5\x2f\xfd", 256),
}


class _Reader(Protocol):
    def read(self, size: int, /) -> bytes: ...


def read(response: Response, limit: int) -> bytes:
    """The whole body, decompressed.

    Raises:
        TooLarge: it has more than `limit` bytes; reading stops there.
        BadInput: its compression is damaged or unknown.
        ConnectionError: it ended early.
    """
    announced = response.stream.length
    coding = response.headers.get("Content-Encoding", "").strip().lower()
    reader: _Reader = response.stream
    if coding not in ("", "identity"):
        reader = _Decompressed(reader, coding)
    elif announced is not None and announced > limit:
        raise _too_large(limit)
    data = _read_to_limit(reader, limit)
    if response.stream.length:  # counts down to 0 as the body comes in; None when none was announced
        raise ConnectionError(f"ended {response.stream.length} bytes before the announced length")
    return data


def _read_to_limit(reader: _Reader, limit: int) -> bytes:
    pieces, size = [], 0
    while piece := reader.read(_STEP):
        size += len(piece)
        if size > limit:
            raise _too_large(limit)
        pieces.append(piece)
    return b"".join(pieces)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(
        f"the page is larger than {limit} bytes",
        "raise fetch.max_bytes in your own config.toml, or index a part of it from a file",
        limit=limit,
    )


class _Decompressed:
    """A compressed stream, read in pieces of whatever size a step gives.

    gzip may have several members in a row; other bytes after the end are ignored, as browsers do.
    """

    def __init__(self, source: _Reader, coding: str) -> None:
        if coding not in _CODINGS:
            raise BadInput(
                f"the page is compressed with {coding[:40]!r}, which was not asked for",
                "fetch it with another tool and index the file",
            )
        self._source = source
        self._coding = coding
        self._magic, self._step = _CODINGS[coding]
        self._pending = source.read(self._step)
        self._stream = self._start() if self._pending else None

    def read(self, _size: int, /) -> bytes:
        try:
            while self._stream is not None:
                piece: bytes = self._stream.decompress(self._pending)
                self._pending = (self._stream.unused_data if self._stream.eof else b"") or self._source.read(self._step)
                if self._stream.eof:
                    goes_on = self._magic and self._pending.startswith(self._magic)
                    self._stream = self._start() if goes_on else None
                elif not self._pending:
                    raise ConnectionError("ended within compressed data")
                if piece:
                    return piece
        except _errors() as ex:
            raise BadInput(f"the page's compression is damaged ({ex})", "try again") from ex
        return b""

    def _start(self) -> Any:
        if self._coding == "zstd":
            import zstandard

            # RFC 9659: a window of at most 8 MiB on the web
            return zstandard.ZstdDecompressor(max_window_size=1 << 23).decompressobj()
        if self._coding == "deflate":
            return zlib.decompressobj(zlib.MAX_WBITS if _has_zlib_header(self._pending) else -zlib.MAX_WBITS)
        return zlib.decompressobj(16 + zlib.MAX_WBITS)


def _has_zlib_header(start: bytes) -> bool:
    """RFC 9110 wants one in "deflate"; some servers leave it out."""
    return len(start) > 1 and start[0] & 0x0F == 8 and int.from_bytes(start[:2], "big") % 31 == 0


def _errors() -> tuple[type[Exception], ...]:
    import zstandard

    return (zlib.error, zstandard.ZstdError)
