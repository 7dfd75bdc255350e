"""Documents, files and streams into the store. What is there already is told by its hash, before anything is done."""

from __future__ import annotations

import time
from collections.abc import Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, Any, BinaryIO

from capy_core.database import Connection, write
from capy_core.errors import BadInput

from . import queries
from .documents import Document, IndexResult, Part
from .origin import Origin, redacted, validate, whole
from .queries import SourceRow
from .raw import BLOCK, RawBytes, too_large

if TYPE_CHECKING:
    from .pipeline import Reading


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
        origin = Origin(
            document.label, document.kind, document.content_type, document.title, document.path, document.url,
            meta=document.meta,
        )  # fmt: skip
        validate(origin)
        raw, size = _digest(document)
        if size > self._max:
            raise too_large(origin.label, size, self._max)
        origin, known = (redacted(origin), None) if restored else self._known(origin, raw)
        if known:
            return known
        if origin.kind == "durable" and origin.path is None and not _says_something(document):
            self._refuse_emptying(origin.label)
        from .writing import Job, Writer

        job = Job(origin, _reading(origin, document), lambda: raw, size, restored or {}, keep_newer)
        return Writer(self._db, self._trigram_max).put(job)

    def index_stream(self, origin: Origin, stream: BinaryIO) -> IndexResult:
        """Index the bytes of a file or pipe, in flat memory.

        Raises:
            BadInput: it is not text; also no label, an unknown kind or content type.
            TooLarge: it is longer than `max_source_bytes`; nothing of it stays.
            Busy: another process held the database.
        """
        validate(origin)
        source = RawBytes(stream, self._max, origin.label)
        if source.whole_hash is None:
            origin = redacted(origin)
        else:
            origin, known = self._known(origin, source.whole_hash)
            if known:
                return known
        from .intake import text_blocks
        from .pipeline import Reading, TextPart
        from .writing import Job, Writer

        text = TextPart(origin.chunk_title, origin.content_type, text_blocks(source, origin.label))
        job = Job(origin, Reading([text], name=origin.name), source.digest, source.whole_size)
        return Writer(self._db, self._trigram_max).put(job)

    def _known(self, origin: Origin, raw: bytes) -> tuple[Origin, IndexResult | None]:
        """The redacted origin, and the result for a text that is there already.

        What is stored of an origin is redacted, so a label that is there as it stands holds no secret. Such a text is
        told without the redaction rules, which take longer to load than all the rest.
        """
        result = self._unchanged(origin, raw)
        if result is None:
            clean = redacted(origin)
            result = self._unchanged(clean, raw) if clean != origin else None
            origin = clean
        return origin, result

    def _unchanged(self, origin: Origin, raw: bytes) -> IndexResult | None:
        row = queries.source_by_label(self._db, origin.label)
        if row is None or row.raw_hash != raw or row.recipe != origin.recipe:
            return None
        facts = origin.facts()
        if (row.url, row.meta) != (facts["url"], facts["meta"]):
            facts = redacted(origin).facts()
        with write(self._db):
            return refresh(self._db, row, facts)

    def _refuse_emptying(self, label: str) -> None:
        old = queries.source_by_label(self._db, label)
        if old is not None and old.chunk_count:
            hint = f"to empty it, delete it: capy-store delete {label!r}"
            raise BadInput(f"the new text of {label!r} is blank, and the stored one is not", hint, label=label)


def refresh(db: Connection, row: SourceRow, changes: dict[str, Any]) -> IndexResult:
    """Note that a source was indexed again with the same text, inside a transaction."""
    values = {**changes, "indexed_at": int(time.time())}
    queries.update_source(db, row.id, values)
    return result_of(row._replace(**values), "unchanged")


def result_of(row: SourceRow, status: str) -> IndexResult:
    """What indexing did, by the row that came of it."""
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


def _digest(document: Document) -> tuple[bytes, int]:
    """SHA-256 of the text as it came, titles included where it has several, and its length in bytes of UTF-8."""
    if document.chunks is not None:
        texts = [(chunk.title, chunk.body) for chunk in document.chunks]
    elif document.parts is not None:
        texts = [(part.title, part.content) for part in document.parts]
    else:
        data = whole(document.content).encode()
        return sha256(data).digest(), len(data)
    digest, size = sha256(), 0
    for title, text in texts:
        data = whole(text).encode()
        digest.update(b"%d %s %d " % (len(title), whole(title).encode(), len(data)) + data)
        size += len(data)
    return digest.digest(), size


def _reading(origin: Origin, document: Document) -> Reading:
    from capy_core.secrets import redact

    from .pipeline import Reading, TextPart

    if document.chunks is not None:
        chunks = (chunk._replace(title=whole(chunk.title), body=whole(chunk.body)) for chunk in document.chunks)
        return Reading(chunks=chunks, content_type=origin.content_type or "transcript")
    parts = document.parts or [Part(origin.chunk_title, document.content, origin.content_type)]
    texts = [TextPart(redact(part.title), part.content_type, _blocks(part.content)) for part in parts]
    return Reading(texts, name=origin.name, content_type=origin.content_type)


def _blocks(content: str) -> Iterator[str]:
    content = whole(content)
    return (content[at : at + BLOCK] for at in range(0, len(content), BLOCK))


def _says_something(document: Document) -> bool:
    if document.chunks is not None:
        return any(chunk.body.strip() for chunk in document.chunks)
    return any(part.content.strip() for part in document.parts or [Part("", document.content)])
