from __future__ import annotations

import json
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from capy_core.errors import BadInput, NotFound
from capy_core.keys import Key
from capy_store import queries, transfer
from capy_store.documents import Chunk, Document, Part
from capy_store.store import Store

KEY = Key("x'" + "5a" * 32 + "'")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "kb.db", KEY) as store:
        store.index(Document("notes.md", "# A\n\nzebra\n\n# B\n\n" + "words " * 900, title="T", meta={"a": 1}))
        store.index(Document("run", parts=[Part("make", "out\n"), Part("make, stderr", "err\n")], kind="ephemeral"))
        store.index(
            Document("session:1", chunks=[Chunk("t", "hi\n", 1, 1), Chunk("t2", "hi\nho\n", 1, 2)], kind="session")
        )
        store.index(Document("empty", "", url="https://x.test"))
        store.db.execute("UPDATE sources SET indexed_at = 1000, created_at = 900, accessed_at = 1100, access_count = 7")
        yield store


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "other.db", KEY) as other:
        yield other


def through_a_pipe(store: Store) -> list[dict[str, object]]:
    return [json.loads(json.dumps(record)) for record in store.export()]


def test_what_was_exported_and_imported_is_the_same(store: Store, other: Store) -> None:
    records = through_a_pipe(store)
    assert [other.restore(record, 1).status for record in records] == ["indexed"] * 4
    assert through_a_pipe(other) == records
    for label in ("notes.md", "run", "session:1", "empty"):
        assert list(other.chunks(label)) == [
            {**chunk, "chunk": mine["chunk"]}
            for chunk, mine in zip(store.chunks(label), other.chunks(label), strict=True)
        ]
    assert other.db.execute("SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH 'zebra'").fetchone() == (1,)


def test_times_and_use_come_along(store: Store, other: Store) -> None:
    for record in store.export():
        other.restore(record)
    for row in queries.all_sources(other.db):
        assert (row.created_at, row.indexed_at, row.accessed_at, row.access_count) == (900, 1000, 1100, 7)


def test_the_same_text_indexed_after_an_import_is_unchanged(store: Store, other: Store) -> None:
    for record in store.export():
        other.restore(record)
    text = "# A\n\nzebra\n\n# B\n\n" + "words " * 900
    assert other.index(Document("notes.md", text, title="T", meta={"a": 1})).status == "unchanged"


def test_the_hash_of_a_text_that_held_a_secret_stays_at_home(store: Store, other: Store) -> None:
    text = "password = 'hunter2-of-old'\n"
    store.index(Document("login", text))
    record = next(store.export(["login"]))
    assert record["store"]["redactions"] == 1
    assert "raw_hash" not in record["store"] and sha256(text.encode()).hexdigest() not in str(record)
    assert "raw_hash" in next(store.export(["run"]))["store"]
    other.restore(record)
    assert other.index(Document("login", text)).status == "unchanged"


def test_the_newer_text_wins(store: Store, other: Store) -> None:
    other.index(Document("notes.md", "newer\n"))
    record = next(store.export(["notes.md"]))
    assert other.restore(record).status == "unchanged"
    assert other.document("notes.md")["content"] == "newer\n"
    assert other.restore(record, replace=True).status == "replaced"
    assert "zebra" in other.document("notes.md")["content"]
    record["store"]["indexed_at"] = "2099-01-01T00:00:00Z"
    record["chunks"][0]["content"] = "from the future\n"
    del record["store"]["hash"], record["store"]["raw_hash"]
    assert other.restore(record).status == "replaced"


def test_a_plain_document_can_be_imported(other: Store) -> None:
    assert other.restore({"schema": "capy.document/1", "label": "x", "content": "zebra\n"}).status == "indexed"
    row = queries.source_by_label(other.db, "x")
    assert row is not None and abs(row.indexed_at - time.time()) < 60


def test_named_sources_alone_are_exported_and_a_missing_one_is_told_first(store: Store) -> None:
    assert [record["label"] for record in store.export(["run", "empty"])] == ["run", "empty"]
    with pytest.raises(NotFound, match="nope"):
        store.export(["run", "nope"])


@pytest.mark.parametrize(
    "facts",
    [[], {"indexed_at": 5}, {"indexed_at": "soon"}, {"hash": "xyz"}, {"access_count": -1}, {"access_count": "7"}, "x"],
)
def test_facts_that_are_not_as_export_writes_them_are_refused(other: Store, facts: object) -> None:
    with pytest.raises(BadInput, match="line 3"):
        other.restore({"schema": "capy.document/1", "label": "x", "content": "y", "store": facts}, 3)


def test_times_are_written_and_read_as_utc() -> None:
    assert transfer.timestamp(0) == "1970-01-01T00:00:00Z"
    assert transfer.seconds("1970-01-01T00:01:00Z") == transfer.seconds("1970-01-01T00:01:00") == 60
    assert transfer.seconds("1970-01-01T02:00:00+01:00") == 3600
