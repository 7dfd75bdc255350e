"""Chunks -> the parameters of the insert statements: compressed, tokenizable, packed for one statement a slice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from .documents import Chunk

if TYPE_CHECKING:
    import zstandard

ZSTD_LEVEL = 3


@dataclass(frozen=True)
class Slice:
    """Some chunks of a source, ready to be written: see queries.INSERT_CHUNKS and INSERT_FTS."""

    rows: bytes
    bodies: bytes
    places: bytes
    text: bytes
    count: int
    code_count: int


def pack(chunks: Iterable[Chunk]) -> Slice:
    """Compress the bodies and make the four FTS columns of each chunk."""
    import orjson

    from capy_core.fts import blank_cjk, cjk_bigrams, identifier_parts

    compress = _compressor().compress
    rows, bodies, places, texts = [], [], [], []
    body_at, text_at, code = 1, 1, 0
    for chunk in chunks:
        title, body = chunk.title, chunk.body
        packed = compress(body.encode("utf-8", "replace"))
        rows.append((title, chunk.line_start, chunk.line_end, int(chunk.is_code), body_at, len(packed)))
        bodies.append(packed)
        body_at += len(packed)
        code += chunk.is_code
        place: list[int] = []
        for column in (blank_cjk(title), blank_cjk(body), identifier_parts(body), cjk_bigrams(f"{title}\n{body}")):
            data = column.encode("utf-8", "replace")
            if b"\x00" in data:
                data = data.replace(b"\x00", b" ")
            place += (text_at, len(data))
            text_at += len(data)
            texts.append(data)
        places.append(place)
    return Slice(orjson.dumps(rows), b"".join(bodies), orjson.dumps(places), b"".join(texts), len(rows), code)


def unpack(body: bytes) -> str:
    """The text of a stored chunk."""
    import zstandard

    return zstandard.decompress(body).decode("utf-8")


@lru_cache(1)
def _compressor() -> zstandard.ZstdCompressor:
    import zstandard

    return zstandard.ZstdCompressor(level=ZSTD_LEVEL)
