from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from capy_core.config import StoreConfig
from capy_core.database import write
from capy_core.errors import NotFound, TooNew, WrongKey
from capy_core.keys import Key
from capy_store.documents import Document
from capy_store.store import Store

KEY = Key("x'" + "5a" * 32 + "'")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "kb.db", KEY) as store:
        yield store


def test_a_store_is_made_with_its_folders_and_keeps_its_text(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "kb.db"
    with Store.open(path, KEY) as store:
        store.index(Document("x", "zebra\n"))
    with Store.open(path, KEY) as store:
        assert store.document("x")["content"] == "zebra\n"
    assert path.read_bytes()[:15] != b"SQLite format 3"
    assert b"zebra" not in path.read_bytes()
    assert not path.with_name("kb.db-wal").exists()


def test_no_store_is_made_when_that_was_not_wanted(tmp_path: Path) -> None:
    for readonly in (False, True):
        with pytest.raises(NotFound):
            Store.open(tmp_path / "kb.db", KEY, create=False, readonly=readonly)
    assert list(tmp_path.iterdir()) == []


def test_another_key_opens_nothing_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    with Store.open(path, Key("p'a\"s;--")) as store:
        store.index(Document("x", "zebra\n"))
    before = path.read_bytes()
    with pytest.raises(WrongKey):
        Store.open(path, Key("another"))
    assert path.read_bytes() == before
    with Store.open(path, Key("p'a\"s;--"), readonly=True) as store:
        assert store.document("x")["content"] == "zebra\n"


def test_a_newer_store_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    with Store.open(path, KEY) as store:
        store.db.execute("PRAGMA user_version = 999")
    with pytest.raises(TooNew, match="999"):
        Store.open(path, KEY)


def test_listing_filters_by_literal_prefix_and_kind(store: Store) -> None:
    for label in ("https://docs.test/my_page", "https://docs.test/my-page", "https://docs.test/100%25/x", "dir\\file"):
        store.index(Document(label, "text\n", kind="ephemeral" if label == "dir\\file" else "durable"))
    assert [record["label"] for record in store.sources(prefix="https://docs.test/my_")] == [
        "https://docs.test/my_page"
    ]
    assert [record["label"] for record in store.sources(prefix="https://docs.test/100%2")] == [
        "https://docs.test/100%25/x"
    ]
    assert [record["label"] for record in store.sources(kind="ephemeral")] == ["dir\\file"]
    assert len(list(store.sources(prefix="http"))) == 3


def test_a_listed_source_says_what_is_known_of_it(store: Store) -> None:
    store.index(Document("x", "a\nb\n", kind="session", title="T", url="https://x.test", meta={"a": [1]}))
    (record,) = store.sources()
    wanted = {"label": "x", "kind": "session", "title": "T", "url": "https://x.test", "meta": {"a": [1]}}
    wanted |= {"lines": 2, "bytes": 4, "chunks": 1}
    assert {name: record[name] for name in wanted} == wanted
    assert (record["tier"], record["uses"]) == ("fresh", 0)
    assert record["indexed_at"].startswith(time.strftime("%Y-%m-%dT", time.gmtime()))


def test_a_missing_label_is_named_with_the_nearest_one(store: Store) -> None:
    store.index(Document("readme.md", "text\n"))
    for ask in (store.document, store.delete, lambda label: list(store.chunks(label))):
        with pytest.raises(NotFound, match=r"readme\.mb") as caught:
            ask("readme.mb")
        assert "readme.md" in caught.value.hint


def test_a_label_is_one_line_without_secrets_and_is_found_as_it_was_given(store: Store) -> None:
    given = "run\n\x01staging token=ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8\t"
    label = store.index(Document(given, "text\n")).source
    assert label.startswith("run staging token=") and "ghp_" not in label
    assert store.document(given)["label"] == store.document(label)["label"] == label
    assert next(store.export([given]))["label"] == label
    assert store.cleanup(label=given, dry_run=True).evicted[0].label == label
    assert store.delete(given)["label"] == label


def test_stats_and_sizes_agree_with_the_sources(store: Store) -> None:
    store.index(Document("a", "words\n" * 1000))
    store.index(Document("b", "# x\n", content_type="markdown", kind="ephemeral"))
    stats, sizes, sources = store.stats(), store.sizes(), list(store.sources())
    assert stats["sources"] == 2
    assert stats["chunks"] == sum(record["chunks"] for record in sources)
    assert stats["bytes"] == sum(record["bytes"] for record in sources) == sum(sizes["kinds"].values())
    assert stats["kinds"]["durable"]["sources"] == stats["kinds"]["ephemeral"]["sources"] == 1
    assert sum(stats["tiers"].values()) == 2
    assert [row["label"] for row in sizes["largest"]] == ["a", "b"]
    assert sizes["file_bytes"] == sizes["pages"] * sizes["page_size"]
    assert all(count > 0 for count in sizes["tables"].values())


def test_an_empty_store_answers_everything(store: Store) -> None:
    assert (list(store.sources()), list(store.export()), store.stats()["sources"]) == ([], [], 0)
    assert store.cleanup().evicted == []
    assert store.sizes()["largest"] == []


def test_substrings_are_found_in_every_chunk_of_a_group(store: Store) -> None:
    """A row of the substring lane stands for several chunks; search has to look into all of them."""
    lines = [f"line {n} about nothing in particular, to fill a chunk of output\n" for n in range(600)]
    for at, mark in ((5, "xqalphaq"), (200, "xqbetaq"), (400, "xqgammaq"), (599, "xqdeltaq")):
        lines[at] = f"prefix{mark}suffix\n"
    store.index(Document("log", "".join(lines), content_type="output"))
    for mark in ("xqalphaq", "xqbetaq", "xqgammaq", "xqdeltaq"):
        assert any(mark in hit.content for hit in store.search(mark).hits), mark


def test_an_answer_counts_one_use_of_each_source_in_it(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    with Store.open(path, KEY) as store:
        store.index(Document("a", "zebra stripes\n" * 900))
        store.index(Document("b", "giraffe\n"))
        assert len({hit.source_id for hit in store.search("zebra").hits}) == 1
        store.search("zebra")
        assert {record["label"]: record["uses"] for record in store.sources()} == {"a": 2, "b": 0}
    with Store.open(path, KEY, readonly=True) as store:
        assert store.search("zebra").hits
        assert {record["label"]: record["uses"] for record in store.sources()} == {"a": 2, "b": 0}


def test_an_answer_does_not_wait_for_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    with Store.open(path, KEY) as store, Store.open(path, KEY) as writer:
        store.index(Document("a", "zebra\n"))
        with write(writer.db):
            assert store.search("zebra").hits
        assert [record["uses"] for record in store.sources()] == [0]


def test_settings_have_defaults(tmp_path: Path) -> None:
    with Store.open(tmp_path / "kb.db", KEY) as store:
        assert store.config == StoreConfig()
