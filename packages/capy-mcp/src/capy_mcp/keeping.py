"""Output that is kept in the knowledge base: short output at once, long output while the agent reads on."""

from __future__ import annotations

import sys
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
        self._problems: list[str] = []
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

    def problems(self) -> list[str]:
        """What could not be indexed after its reply was given; each is told once."""
        with self._busy:
            problems, self._problems = self._problems, []
        return problems

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
            problem = self._index(document)
            with self._busy:
                self._problems += [problem] if problem else []
                self._open -= 1
                self._busy.notify_all()

    def _index(self, document: Document) -> str:
        """Index one; "" or what went wrong. The thread must live on, whatever it was: others wait in line."""
        try:
            with self._context.store() as store:
                store.index(document)
        except Exception as ex:
            print(f"capy-mcp: {document.label} was not indexed: {ex}", file=sys.stderr, flush=True)
            return f"{document.label}: {ex}"
        return ""
