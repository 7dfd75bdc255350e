"""The knowledge base: opening it, indexing by type and size, searching by size and lane."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import perf_counter

from capy_core.keys import Key, generate_raw_key
from capy_store.documents import Document
from capy_store.store import Store

from ..record import Metric
from .text import KINDS, LAYERS, documents, planted, question
from .timing import metric, percentiles, times

Progress = Callable[[str], None]


def opening(scratch: Path, rounds: int) -> Iterator[Metric]:
    """Open and close a store, by kind of key."""
    for name, key in (("raw_key", generate_raw_key()), ("passphrase", Key("a passphrase of several words"))):
        path = scratch / f"open-{name}.db"
        _open(path, key)
        yield metric("open", name, times(partial(_open, path, key), rounds))


def indexing_and_searching(
    scratch: Path, sizes: list[int], queries: int, rounds: int, progress: Progress
) -> Iterator[Metric]:
    """Index texts of each type and size into a fresh store, then ask those of logs for what is in them.

    Args:
        sizes: bytes of each store, ascending.
        queries: for each lane and size.
        rounds: how often each of the smallest stores is filled; larger ones once.
    """
    for size in sizes:
        for kind in KINDS:
            progress(f"index {size // 1_000_000} MB of {kind}")
            fills = rounds if size == sizes[0] else 1
            speeds = [_fill(scratch / f"{kind}-{size}-{fill}.db", kind, size) for fill in range(fills)]
            yield metric(f"index/{size // 1_000_000} MB", kind, speeds, unit="MB/s")
        progress(f"search {size // 1_000_000} MB")
        yield from _search(scratch / f"log-{size}-0.db", size, queries)


def _open(path: Path, key: Key) -> None:
    Store.open(path, key).close()


_KEY = generate_raw_key()  # of this process only: the stores are thrown away


def _fill(path: Path, kind: str, size: int) -> float:
    """Megabytes indexed in a second."""
    texts = list(documents(kind, size))
    with Store.open(path, _KEY) as store:
        start = perf_counter()
        for number, text in texts:
            store.index(Document(label=f"{kind} {number}", content=text, kind="durable", content_type=_TYPE[kind]))
        seconds = perf_counter() - start
    return sum(len(text.encode()) for _, text in texts) / 1e6 / seconds


_TYPE = {"log": "output", "markdown": "markdown", "json": "json"}


def _search(path: Path, size: int, queries: int) -> Iterator[Metric]:
    count = len(list(documents("log", size)))
    asked = [number * 7919 % count for number in range(queries)]
    group = f"search/{size // 1_000_000} MB"
    with Store.open(path, _KEY) as store:
        store.search(question("porter", 0))  # the first reads the vocabulary
        for layer in LAYERS:
            spent, found = [], 0
            for number in asked:
                start = perf_counter()
                result = store.search(question(layer, number), limit=10)
                spent.append((perf_counter() - start) * 1000)
                found += any(planted(number)[layer] in hit.content for hit in result.hits)
            yield from percentiles(f"{group}/{layer}", spent)
            yield metric(f"{group}/{layer}", "found", [found / len(asked)], unit="ratio")
