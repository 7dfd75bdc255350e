from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from capy_core.keys import Key
from capy_store import freshness, queries
from capy_store.documents import Document
from capy_store.freshness import file_state
from capy_store.origin import Origin
from capy_store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "kb.db", Key("x'" + "5a" * 32 + "'")) as store:
        yield store


def state(store: Store, path: Path) -> str:
    row = queries.source_by_label(store.db, "conf")
    assert row is not None and row.path == str(path)
    return file_state(row)


def put(store: Store, path: Path) -> None:
    with path.open("rb") as stream:
        store.index_stream(freshness.with_file(Origin("conf"), path, stream.fileno()), stream)


def test_a_file_as_it_was_is_fresh(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "conf.txt"
    path.write_text("timeout=30\n")
    put(store, path)
    assert state(store, path) == ""


def test_new_text_of_the_same_size_and_time_is_noticed_at_once(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "conf.txt"
    path.write_text("timeout=30\n")
    put(store, path)
    facts = path.stat()
    path.write_text("timeout=90\n")
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert state(store, path) == "changed"
    put(store, path)
    assert state(store, path) == ""


def test_a_new_time_on_the_old_text_is_no_change(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "conf.txt"
    path.write_text("timeout=30\n")
    put(store, path)
    os.utime(path, ns=(1, 1))
    assert state(store, path) == ""


def test_a_large_file_is_told_by_its_times(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "big.log"
    path.write_text("line of a log\n" * 100_000)
    put(store, path)
    assert state(store, path) == ""
    os.utime(path, ns=(1, 1))
    assert state(store, path) == "changed"


def test_another_size_and_a_missing_file_are_noticed(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "conf.txt"
    path.write_text("timeout=30\n")
    put(store, path)
    path.write_text("timeout=300\n")
    assert state(store, path) == "changed"
    path.unlink()
    assert state(store, path) == "missing"
    assert [record["stale"] for record in store.sources(stale=True)] == ["missing"]


def test_a_source_without_a_file_is_never_stale(store: Store) -> None:
    store.index(Document("x", "text", path="/not/read/by/us"))
    row = queries.source_by_label(store.db, "x")
    assert row is not None and file_state(row) == ""
    assert list(store.sources(stale=True)) == []


def test_a_change_while_it_was_indexed_is_noticed_later(store: Store, tmp_path: Path) -> None:
    """The stored times are those of before the text was read, and a file as young as that is looked into."""
    path = tmp_path / "conf.txt"
    path.write_text("timeout=30\n")
    put(store, path)
    row = queries.source_by_label(store.db, "conf")
    assert row is not None and row.file_ctime_ns is not None
    assert row.file_ctime_ns > row.indexed_at * 10**9 - 2 * 10**9  # so young that its content decides
    assert row.indexed_at <= time.time()
