"""A knowledge base to measure with: encrypted under a key of its own, in a folder that is gone afterwards."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from capy_core.database import write
from capy_core.keys import Key

if TYPE_CHECKING:
    from collections.abc import Callable

    from capy_store.documents import Document
    from capy_store.store import Store

    Tick = Callable[[int], None]  # told how many steps were done

Item = TypeVar("Item")


@contextmanager
def scratch_store(documents: Iterable[Document]) -> Iterator[Store]:
    """A store that holds the documents, open for reading: to be asked leaves no trace in it."""
    from capy_store.store import Store

    key = Key(f"x'{secrets.token_hex(32)}'")
    with tempfile.TemporaryDirectory(prefix="capy-bench-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "knowledge.db"
        with Store.open(path, key) as store:
            for document in documents:
                store.index(document)
            with write(store.db):  # equal scores go by this time: which second a text fell into must decide nothing
                store.db.execute("UPDATE sources SET indexed_at = (SELECT max(indexed_at) FROM sources)")
        with Store.open(path, key, readonly=True) as store:
            yield store


def shuffled(items: Iterable[Item], name: Callable[[Item], str], seed: int) -> list[Item]:
    """The items in an order that depends on the seed and their names alone, not on the order they came in."""
    return sorted(items, key=lambda item: sha256(f"{seed}\0{name(item)}".encode("utf-8", "replace")).digest())


def no_tick(_steps: int) -> None:
    """Where nobody watches."""
