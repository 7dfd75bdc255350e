"""Documents, files and streams -> rows of the store.

A text of up to 2 MB is one transaction. A longer one is written batch by batch under a staging label that no reader
sees; a last transaction gives it its name and removes what had the name before. A killed writer leaves staging rows
only, and the next writer removes them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from capy_core.database import Connection, write
from capy_core.errors import BadInput, TooLarge
from capy_core.secrets import RULES_VERSION, redact

from . import intake, queries, staging
from .documents import CONTENT_TYPES, KINDS, Chunk, Document, IndexResult, Part
from .pipeline import BLOCK, Reading, TextPart
from .queries import SourceRow

if TYPE_CHECKING:
    from .rows import Slice

CHUNKING_VERSION = 1  # raise it when the same text gives other chunks
PIPE_BUFFER = 12 << 20  # a pipe's text up to this is known whole before anything is written
SMALL = 2 << 20  # a text up to this is written in one transaction
BATCH = 1000  # chunks in one transaction of a larger text

T = TypeVar("T")


@dataclass(frozen=True)
class Origin:
    """What is known of a source beside its text."""

    label: str
    kind: str = "durable"
    content_type: str = ""
    title: str = ""
    path: str | None = None
    url: str | None = None
    file_size: int | None = None
    file_mtime_ns: int | None = None
    file_ctime_ns: int | None = None
    meta: dict[str, Any] = field(default_factory=dict)


@dataclass
class _Job:
    """One document on its way into the store. `size`: of the raw text, None while it is not known."""

    origin: Origin
    reading: Reading
    raw_hash: Callable[[], bytes]
    size: int | None
    restored: dict[str, Any] = field(default_factory=dict)
    keep_newer: bool = False
    trigram: bool = False
    chunks: int = 0
    code_chunks: int = 0


class Indexer:
    """Writes into one open database."""

    def __init__(self, db: Connection, *, max_source_bytes: int, trigram_max_bytes: int) -> None:
        self._db = db
        self._max = max_source_bytes
        self._trigram_max = trigram_max_bytes

    def index(
        self, document: Document, *, restored: dict[str, Any] | None = None, keep_newer: bool = False
    ) -> IndexResult:
        """Index one document that is in memory.

        Args:
            restored: fields of `sources` that an export brings along (times, use, hashes).
            keep_newer: leave a stored source alone that was indexed after `restored["indexed_at"]`.

        Raises:
            BadInput: no label, an unknown kind or content type, or a blank text in the place of a durable one.
            TooLarge: the text is longer than `max_source_bytes`; nothing of it is stored.
            Busy: another process held the database.
        """
        origin = _checked(Origin(document.label, document.kind, document.content_type, document.title, document.path,
                                 document.url, meta=document.meta))  # fmt: skip
        raw, size = _digest(document)
        if size > self._max:
            raise _too_large(origin.label, size, self._max)
        known = None if restored else self._unchanged(origin, raw)
        if known:
            return known
        if origin.kind == "durable" and origin.path is None and not _says_something(document):
            self._refuse_emptying(origin.label)
        return self._write(_Job(origin, _reading(origin, document), lambda: raw, size, restored or {}, keep_newer))

    def index_stream(self, origin: Origin, stream: BinaryIO) -> IndexResult:
        """Index the bytes of a file or pipe, in flat memory.

        Raises:
            BadInput: it is not text; also no label, an unknown kind or content type.
            TooLarge: it is longer than `max_source_bytes`; nothing of it stays.
            Busy: another process held the database.
        """
        origin = _checked(origin)
        source = _RawBytes(stream, self._max, origin.label)
        if source.whole_hash is not None:
            known = self._unchanged(origin, source.whole_hash)
            if known:
                return known
        text = intake.text_blocks(source, origin.label)
        reading = Reading([TextPart(_title(origin), origin.content_type, text)], name=_name(origin))
        return self._write(_Job(origin, reading, source.digest, source.whole_size))

    def _unchanged(self, origin: Origin, raw: bytes) -> IndexResult | None:
        row = queries.source_by_label(self._db, origin.label)
        if row is None or row.raw_hash != raw or row.recipe != _recipe(origin):
            return None
        with write(self._db):
            return self._refresh(_facts(origin), row)

    def _refuse_emptying(self, label: str) -> None:
        old = queries.source_by_label(self._db, label)
        if old is not None and old.chunk_count:
            raise BadInput(
                f"the new text of {label!r} is blank, and the stored one is not",
                f"to empty it, delete it: capy-store delete {label!r}", label=label,
            )  # fmt: skip

    def _write(self, job: _Job) -> IndexResult:
        job.trigram = job.size is not None and job.size <= self._trigram_max
        slices = job.reading.slices()
        if job.size is not None and job.size <= SMALL:
            first = list(islice(slices, 1))  # all of most documents, before the lock is taken
            return self._write_whole(job, chain(first, slices))
        batches = _batches(slices)
        batch, more = next(batches, []), next(batches, None)
        if more is None:
            return self._write_whole(job, batch)
        return self._write_staged(job, chain((batch, more), batches))

    def _write_whole(self, job: _Job, slices: Iterable[Slice]) -> IndexResult:
        """In one transaction, in which the next slice is made while SQLite writes the last one."""
        with write(self._db):
            source_id = self._stage(job)
            _one_behind(partial(self._add, job, source_id), slices)
            return self._finish(job, source_id)

    def _write_staged(self, job: _Job, batches: Iterable[list[Slice]]) -> IndexResult:
        """In a transaction a batch. What was written goes away again when the text turns out to be unusable."""
        with write(self._db):
            source_id = self._stage(job)
        try:
            _one_behind(partial(self._add_batch, job, source_id), batches)
            with write(self._db):
                return self._finish(job, source_id)
        except BaseException:
            with write(self._db):
                queries.delete_source(self._db, source_id)
            raise

    def _stage(self, job: _Job) -> int:
        """A source that nobody sees yet."""
        staging.sweep(self._db)
        values = {**_values(job, None), "label": staging.new_label(), "complete": 0}
        return queries.insert_source(self._db, values)

    def _add(self, job: _Job, source_id: int, rows: Slice) -> None:
        queries.insert_slice(self._db, source_id, rows, trigram=job.trigram)
        job.chunks += rows.count
        job.code_chunks += rows.code_count

    def _add_batch(self, job: _Job, source_id: int, batch: list[Slice]) -> None:
        with write(self._db):
            for rows in batch:
                self._add(job, source_id, rows)

    def _finish(self, job: _Job, source_id: int) -> IndexResult:
        """Give the staged source its name, unless the one that has it holds the same text already."""
        old = queries.source_by_label(self._db, job.origin.label)
        values = _values(job, old)
        if old is not None and job.keep_newer and old.indexed_at > values["indexed_at"]:
            queries.delete_source(self._db, source_id)
            return _result(old, "unchanged")
        if old is not None and _same_chunks(old, values):
            queries.delete_source(self._db, source_id)
            return self._refresh(
                {**_facts(job.origin), "raw_hash": values["raw_hash"], "recipe": values["recipe"]}, old
            )
        if old is not None:
            queries.delete_source(self._db, old.id)
        queries.update_source(self._db, source_id, values)
        return _result(SourceRow(source_id, **values), "replaced" if old else "indexed")

    def _refresh(self, changes: dict[str, Any], row: SourceRow) -> IndexResult:
        values = {**changes, "indexed_at": int(time.time())}
        queries.update_source(self._db, row.id, values)
        return _result(replace(row, **values), "unchanged")


def _batches(slices: Iterator[Slice]) -> Iterator[list[Slice]]:
    """Slices for one transaction each: about `BATCH` chunks."""
    batch: list[Slice] = []
    for rows in slices:
        batch.append(rows)
        if sum(rows.count for rows in batch) >= BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _one_behind(put: Callable[[T], None], items: Iterable[T]) -> None:
    """Put each item in a thread of its own while the next one is made here; SQLite lets the interpreter go meanwhile.

    One item alone is put without a thread. The thread has ended when this returns or raises.
    """
    source = iter(items)
    first, second = next(source, None), next(source, None)
    if second is None:
        if first is not None:
            put(first)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        assert first is not None
        pending = pool.submit(put, first)
        for item in chain((second,), source):
            pending.result()
            pending = pool.submit(put, item)
        pending.result()


class _RawBytes:
    """The blocks of a stream, hashed and counted as they pass.

    `whole_hash` and `whole_size` are known beforehand when the stream can be read twice or fits the buffer.
    """

    def __init__(self, stream: BinaryIO, limit: int, label: str) -> None:
        self._stream, self._limit, self._label = stream, limit, label
        self._head = b""
        self._hash = sha256()
        self.whole_hash: bytes | None = None
        self.whole_size: int | None = None
        if stream.seekable():
            start = stream.tell()
            for block in self._read():
                self._hash.update(block)
            self._finish(stream.tell() - start)
            stream.seek(start)
        else:
            self._head = _read_up_to(stream, PIPE_BUFFER)
            if len(self._head) < PIPE_BUFFER:
                self._hash.update(self._head)
                self._finish(len(self._head))

    def digest(self) -> bytes:
        """SHA-256 of all that was read."""
        return self._hash.digest()

    def __iter__(self) -> Iterator[bytes]:
        self._hash = sha256()
        for block in self._read():
            self._hash.update(block)
            yield block

    def _finish(self, size: int) -> None:
        self.whole_hash, self.whole_size = self._hash.digest(), size

    def _read(self) -> Iterator[bytes]:
        total = 0
        head = (self._head[at : at + BLOCK] for at in range(0, len(self._head), BLOCK))
        for block in chain(head, iter(lambda: self._stream.read(BLOCK), b"")):
            total += len(block)
            if total > self._limit:
                raise _too_large(self._label, total, self._limit)
            yield block


def _read_up_to(stream: BinaryIO, size: int) -> bytes:
    parts = []
    while size and (block := stream.read(min(size, BLOCK))):
        parts.append(block)
        size -= len(block)
    return b"".join(parts)


def _checked(origin: Origin) -> Origin:
    """The origin with everything that is stored of it redacted."""
    if not origin.label.strip():
        raise BadInput("a document needs a label", "name it, for instance with --label")
    for name, value, known in (("kind", origin.kind, KINDS), ("content type", origin.content_type, CONTENT_TYPES)):
        if value not in known and (value or name == "kind"):
            raise BadInput(f"unknown {name} {value!r} for {origin.label!r}", f"use one of {', '.join(known)}")
    return replace(
        origin,
        label=_clean_line(origin.label),
        title=_clean_line(origin.title),
        url=_clean_line(origin.url) if origin.url else None,
        meta=_redacted(origin.meta),
    )


def _clean_line(text: str) -> str:
    return redact(_whole(text)).replace("\x00", " ").strip()


def _redacted(value: Any) -> Any:
    if isinstance(value, str):
        return redact(_whole(value))
    if isinstance(value, list):
        return [_redacted(item) for item in value]
    if isinstance(value, dict):
        return {_redacted(key): _redacted(item) for key, item in value.items()}
    return value


def _whole(text: str) -> str:
    """The text with lone surrogates as U+FFFD, so that it can be encoded."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _reading(origin: Origin, document: Document) -> Reading:
    if document.chunks is not None:
        return Reading(chunks=map(_whole_chunk, document.chunks), content_type=origin.content_type or "transcript")
    parts = document.parts or [Part(_title(origin), document.content, origin.content_type)]
    texts = [TextPart(redact(part.title), part.content_type, _blocks(part.content)) for part in parts]
    return Reading(texts, name=_name(origin), content_type=origin.content_type)


def _says_something(document: Document) -> bool:
    if document.chunks is not None:
        return any(chunk.body.strip() for chunk in document.chunks)
    return any(part.content.strip() for part in document.parts or [Part("", document.content)])


def _digest(document: Document) -> tuple[bytes, int]:
    """SHA-256 of the text as it came, titles included where it has several, and the text's length in bytes of UTF-8."""
    if document.chunks is not None:
        texts = [(chunk.title, chunk.body) for chunk in document.chunks]
    elif document.parts is not None:
        texts = [(part.title, part.content) for part in document.parts]
    else:
        data = _whole(document.content).encode()
        return sha256(data).digest(), len(data)
    digest, size = sha256(), 0
    for title, text in texts:
        data = _whole(text).encode()
        digest.update(b"%d %s %d " % (len(title), _whole(title).encode(), len(data)) + data)
        size += len(data)
    return digest.digest(), size


def _blocks(content: str) -> Iterator[str]:
    content = _whole(content)
    return (content[at : at + BLOCK] for at in range(0, len(content), BLOCK))


def _whole_chunk(chunk: Chunk) -> Chunk:
    return replace(chunk, title=_whole(chunk.title), body=_whole(chunk.body))


def _name(origin: Origin) -> str:
    return origin.path or origin.label


def _title(origin: Origin) -> str:
    return origin.title or origin.label


def _recipe(origin: Origin) -> str:
    """What the rows depend on beside the raw text: our versions, the type asked for, the titles."""
    rest = sha256("\0".join((origin.content_type, _title(origin), origin.path or "")).encode()).hexdigest()[:16]
    return f"{RULES_VERSION}.{CHUNKING_VERSION}.{rest}"


def _same_chunks(old: SourceRow, values: dict[str, Any]) -> bool:
    return bool(old.hash == values["hash"] and old.recipe.partition(".")[2] == values["recipe"].partition(".")[2])


def _facts(origin: Origin) -> dict[str, Any]:
    """The fields that a re-index of the same text renews."""
    import json

    return {
        "kind": origin.kind,
        "path": origin.path,
        "url": origin.url,
        "file_size": origin.file_size,
        "file_mtime_ns": origin.file_mtime_ns,
        "file_ctime_ns": origin.file_ctime_ns,
        "meta": json.dumps(origin.meta, ensure_ascii=False) if origin.meta else "{}",
    }


def _values(job: _Job, old: SourceRow | None) -> dict[str, Any]:
    now = int(time.time())
    reading = job.reading
    return {
        **_facts(job.origin),
        "label": job.origin.label,
        "content_type": reading.content_type,
        "title": job.origin.title,
        "hash": reading.hash,
        "raw_hash": job.raw_hash(),
        "recipe": _recipe(job.origin),
        "bytes": reading.bytes,
        "lines": reading.lines,
        "redactions": reading.redactions,
        "chunk_count": job.chunks,
        "code_chunk_count": job.code_chunks,
        "trigram": int(job.trigram),
        "complete": 1,
        "created_at": old.created_at if old else now,
        "indexed_at": now,
        "accessed_at": old.accessed_at if old else now,
        "access_count": old.access_count if old else 0,
        **job.restored,
    }


def _result(row: SourceRow, status: str) -> IndexResult:
    return IndexResult(
        source=row.label,
        source_id=row.id,
        status=status,
        kind=row.kind,
        content_type=row.content_type,
        chunks=row.chunk_count,
        code_chunks=row.code_chunk_count,
        bytes=row.bytes,
        lines=row.lines,
        redactions=row.redactions,
        trigram=bool(row.trigram),
    )


def _too_large(label: str, size: int, limit: int) -> TooLarge:
    return TooLarge(
        f"{label!r} has {size} bytes or more, and store.max_source_bytes is {limit}",
        "raise store.max_source_bytes, or split the text; nothing of it was stored",
        label=label, size=size, limit=limit, setting="store.max_source_bytes",
    )  # fmt: skip
