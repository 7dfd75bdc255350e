"""Output that is kept in the knowledge base: short output at once, long output while the agent reads on."""

from __future__ import annotations

import sys
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Condition, Thread
from time import monotonic
from typing import TYPE_CHECKING

from capy_core.errors import CapyError

if TYPE_CHECKING:
    from capy_store.documents import Document

    from .context import Context

AT_ONCE = 512 * 1024  # characters; about a fifth of a second


class Keeper:
    """Indexes documents, one after the other. What waits at the server's end is still written if time allows."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._waiting: SimpleQueue[Document] = SimpleQueue()
        self._busy = Condition()
        self._open = 0
        self._thread: Thread | None = None

    def keep(self, documents: list[Document]) -> str:
        """Index documents of one call.

        Returns:
            "" when they are, or soon will be, in the knowledge base; else why they are not and what to do.
        """
        try:
            self._context.database_key()
            if sum(len(document.content) for document in documents) <= AT_ONCE:
                with self._context.store() as store:
                    for document in documents:
                        store.index(document)
                return ""
        except CapyError as ex:
            return f"not indexed: {ex}; {ex.hint}" if ex.hint else f"not indexed: {ex}"
        with self._busy:
            self._open += len(documents)
        for document in documents:
            self._waiting.put(document)
        self._start()
        return ""

    def wait(self, seconds: float) -> bool:
        """Wait until nothing is left to index; False when the time was too short."""
        end = monotonic() + seconds
        with self._busy:
            while self._open and (left := end - monotonic()) > 0:
                self._busy.wait(left)
            return not self._open

    def _start(self) -> None:
        with self._busy:
            if self._thread is None or not self._thread.is_alive():
                self._thread = Thread(target=self._work, daemon=True)
                self._thread.start()

    def _work(self) -> None:
        while True:
            try:
                document = self._waiting.get(timeout=30)
            except Empty:
                return
            self._attempt(lambda document=document: self._index(document))  # type: ignore[misc]
            with self._busy:
                self._open -= 1
                self._busy.notify_all()

    def _index(self, document: Document) -> None:
        with self._context.store() as store:
            store.index(document)

    def _attempt(self, action: Callable[[], None]) -> None:
        try:
            action()
        except CapyError as ex:
            print(f"capy-mcp: an output was not indexed: {ex}", file=sys.stderr, flush=True)
