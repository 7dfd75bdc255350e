"""The facade: one open knowledge base."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO

from capy_core.config import StoreConfig, Warn
from capy_core.database import Connection, checkpoint, close, open_database, write
from capy_core.errors import Busy
from capy_core.keys import Key
from capy_core.records import Record

from . import queries
from .documents import Document, IndexResult
from .migrations import MIGRATIONS

if TYPE_CHECKING:
    from .documents import SearchResult
    from .indexing import Indexer
    from .origin import Origin
    from .retention import Cleanup


class Store:
    """An open knowledge base. Use it as a context manager, from one thread at a time."""

    def __init__(self, db: Connection, path: Path, config: StoreConfig, *, readonly: bool = False) -> None:
        self.db, self.path, self.config, self.readonly = db, path, config, readonly

    @classmethod
    def open(
        cls,
        path: Path,
        key: Key,
        config: StoreConfig | None = None,
        *,
        create: bool = True,
        readonly: bool = False,
        warn: Warn | None = None,
    ) -> Store:
        """Open a knowledge base, and create it where there is none.

        Args:
            readonly: for reading alone; never waits for a writer.

        Raises:
            NotFound: there is none and `create` is false.
            DatabaseError: the key does not open it, or it is damaged, unencrypted or newer than this program.
        """
        store = cls(
            open_database(path, key, MIGRATIONS, create=create, readonly=readonly, warn=warn),
            path,
            config or StoreConfig(),
            readonly=readonly,
        )
        if store.config.auto_prune and not readonly:
            store._prune()
        return store

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the last one of all processes folds the write-ahead log into the file."""
        close(self.db)

    def index(self, document: Document) -> IndexResult:
        """Index a document; see `indexing.Indexer.index`."""
        return self._indexer().index(document)

    def index_stream(self, origin: Origin, stream: BinaryIO) -> IndexResult:
        """Index the bytes of a file or pipe; see `indexing.Indexer.index_stream`."""
        return self._indexer().index_stream(origin, stream)

    def search(self, query: str, **filters: Any) -> SearchResult:
        """Search; see `search.answer.answer`. Each source in the hits counts one use, unless the store is readonly."""
        from .search.answer import answer

        result = answer(self.db, query, **filters)
        if result.hits and not self.readonly:
            self._note_uses({hit.source_id for hit in result.hits})
        return result

    def sources(self, *, prefix: str = "", kind: str = "", stale: bool = False) -> Iterator[Record]:
        """A capy.source/1 record for each source; see `overview.sources`."""
        from . import overview

        return overview.sources(self.db, self.config, prefix=prefix, kind=kind, stale=stale)

    def document(self, label: str) -> Record:
        """A capy.document/1 record with the stored text of a source; see `overview.document`."""
        from . import overview

        return overview.document(self.db, label)

    def chunks(self, label: str) -> Iterator[Record]:
        """A capy.chunk/1 record for each chunk of a source; see `overview.chunks`."""
        from . import overview

        return overview.chunks(self.db, label)

    def delete(self, label: str) -> Record:
        """Remove a source: what it says is no longer found. `cleanup` takes the last of it out of the file.

        Returns:
            Its capy.source/1 record.

        Raises:
            NotFound: there is no such source.
        """
        from . import overview
        from .naming import source_named

        with write(self.db):
            row = source_named(self.db, label)
            queries.delete_source(self.db, row.id)
        return overview.describe(row, self.config, time.time())

    def cleanup(
        self, *, purge: str = "", label: str | None = None, dry_run: bool = False, vacuum: bool = False
    ) -> Cleanup:
        """Remove what is past its time or not worth keeping; see `retention.clean`."""
        from .retention import clean

        return clean(self.db, self.config, purge=purge, label=label, dry_run=dry_run, vacuum=vacuum)

    def stats(self) -> Record:
        """A capy.stats/1 record; see `overview.stats`."""
        from . import overview

        return overview.stats(self.db, self.config)

    def sizes(self) -> Record:
        """A capy.dbsize/1 record; see `overview.sizes`."""
        from . import overview

        return overview.sizes(self.db)

    def export(self, labels: list[str] | None = None) -> Iterator[Record]:
        """A capy.document/1 record for each source, with all that `restore` needs; see `transfer.exported`."""
        from .transfer import exported

        return exported(self.db, labels)

    def restore(self, record: Record, line: int = 0, *, replace: bool = False) -> IndexResult:
        """Store an exported record; see `transfer.imported`."""
        from .transfer import imported

        return imported(self._indexer(), record, line, replace=replace)

    def checkpoint(self) -> bool:
        """Fold the write-ahead log into the file; True when another process kept it from being emptied."""
        return checkpoint(self.db)

    def _note_uses(self, source_ids: set[int]) -> None:
        """Count a use of these sources; an answer never waits for that."""
        from .retention import note_uses

        with suppress(Busy), write(self.db, wait_s=0.05):
            note_uses(self.db, source_ids)

    def _prune(self) -> None:
        """Remove what is past its time, if that was not done within the hour; another time when the store is busy."""
        if not queries.prune_is_due(self.db, time.time()):
            return
        from .retention import prune

        try:
            prune(self.db, self.config, wait_s=0.1)
        except Busy:  # the next writer prunes
            pass
        except BaseException:
            self.db.close()
            raise

    def _indexer(self) -> Indexer:
        from .indexing import Indexer

        return Indexer(
            self.db,
            max_source_bytes=self.config.max_source_bytes,
            trigram_max_bytes=self.config.trigram_max_bytes,
        )
