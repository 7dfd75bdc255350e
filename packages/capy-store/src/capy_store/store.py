"""The facade: one open knowledge base."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO

from capy_core.config import StoreConfig, Warn
from capy_core.database import Connection, close, open_database
from capy_core.keys import Key

from .documents import Document, IndexResult
from .migrations import MIGRATIONS

if TYPE_CHECKING:
    from .documents import SearchResult
    from .indexing import Indexer, Origin


class Store:
    """An open knowledge base. Use it as a context manager, from one thread at a time."""

    def __init__(self, db: Connection, path: Path, config: StoreConfig) -> None:
        self.db, self.path, self.config = db, path, config

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
        db = open_database(path, key, MIGRATIONS, create=create, readonly=readonly, warn=warn)
        return cls(db, path, config or StoreConfig())

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
        """Search; see `search.answer.answer`."""
        from .search.answer import answer

        return answer(self.db, query, **filters)

    def _indexer(self) -> Indexer:
        from .indexing import Indexer

        return Indexer(
            self.db,
            max_source_bytes=self.config.max_source_bytes,
            trigram_max_bytes=self.config.trigram_max_bytes,
        )
