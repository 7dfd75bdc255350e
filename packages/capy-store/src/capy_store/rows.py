"""Chunks -> the parameters of the insert statements: compressed, tokenizable, packed for one statement a slice."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from .documents import Chunk
from .schema import TRIGRAM_GROUP

if TYPE_CHECKING:
    from .queries import ChunkRow

ZSTD_LEVEL = 3


class Texts(NamedTuple):
    """What the full-text indexes get of some chunks: see queries.INSERT_FTS and INSERT_TRIGRAM."""

    places: str
    bodies: str
    text: bytes


class Slice(NamedTuple):
    """Some chunks of a source, ready to be written: see queries.INSERT_CHUNKS."""

    rows: str
    bodies: bytes
    texts: Texts
    chunks: int
    code_chunks: int


def pack(chunks: list[Chunk]) -> Slice:
    """Compress the bodies and make the columns of the full-text indexes."""
    import orjson
    import zstandard

    compress = zstandard.ZstdCompressor(level=ZSTD_LEVEL).compress  # a compressor is for one thread
    rows, bodies = [], []
    at = 1
    for chunk in chunks:
        body = compress(chunk.body.encode())
        rows.append((chunk.title, chunk.line_start, chunk.line_end, int(chunk.is_code), at, len(body)))
        bodies.append(body)
        at += len(body)
    return Slice(
        rows=orjson.dumps(rows).decode(),
        bodies=b"".join(bodies),
        texts=index_texts((chunk.title, chunk.body) for chunk in chunks),
        chunks=len(chunks),
        code_chunks=sum(chunk.is_code for chunk in chunks),
    )


def index_texts(chunks: Iterable[tuple[str, str]]) -> Texts:
    """The four columns of `chunks_fts` for each title and body, in order."""
    import orjson

    from capy_core.fts import blank_cjk, cjk_bigrams, identifier_parts

    chunks = list(chunks)
    bodies = [_indexable(blank_cjk(body)) for _, body in chunks]
    texts = list(bodies)  # side by side: a group's bodies are one piece of `text`
    places: list[list[int]] = []
    ends = list(accumulate(map(len, bodies), initial=1))
    at = ends[-1]
    for number, (title, body) in enumerate(chunks):
        place: list[int] = []
        for column in (blank_cjk(title), identifier_parts(body), cjk_bigrams(f"{title}\n{body}")):
            data = _indexable(column)
            place += (at, len(data))
            at += len(data)
            texts.append(data)
        places.append([*place[:2], ends[number], len(bodies[number]), *place[2:]])
    groups = [
        (ends[start], ends[min(start + TRIGRAM_GROUP, len(bodies))] - ends[start])
        for start in range(0, len(bodies), TRIGRAM_GROUP)
    ]
    return Texts(orjson.dumps(places).decode(), orjson.dumps(groups).decode(), b"".join(texts))


def _indexable(text: str) -> bytes:
    data = text.encode()
    return data.replace(b"\0", b" ") if b"\0" in data else data


def unpack(body: bytes) -> str:
    """The text of a stored chunk.

    Raises:
        Corrupt: it cannot be read back.
    """
    import zstandard

    try:
        return zstandard.decompress(body).decode()
    except (zstandard.ZstdError, UnicodeDecodeError) as ex:
        from capy_core.errors import Corrupt

        raise Corrupt(f"a stored text cannot be read: {ex}", "run: capy-store doctor") from ex


def chunk_of(row: ChunkRow) -> Chunk:
    """A stored chunk with its text."""
    return Chunk(row.title, unpack(row.body), row.line_start, row.line_end, bool(row.is_code))
