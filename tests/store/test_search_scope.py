"""Filters are literal, and work inside the search: what they leave out uses up no cap."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from capy_core.errors import UsageError
from capy_core.keys import Key
from capy_store.documents import Document
from capy_store.search import lanes
from capy_store.store import Store

KEY = Key("x'" + "5a" * 32 + "'")
LABELS = ("https://docs.example.test/my_page", "https://docs.example.test/my-page", "https://docs.example.test/100%25/x",
          "dir\\file", "kk:one", "kk:two", "xkk:three")  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "kb.db", KEY) as store:
        yield store


def found(store: Store, query: str = "needle", **filters: object) -> set[str]:
    return {hit.label for hit in store.search(query, **filters).hits}


@pytest.mark.parametrize(
    ("source", "labels"),
    [
        ("my_page", {LABELS[0]}),
        ("100%25", {LABELS[2]}),
        ("dir\\file", {"dir\\file"}),
        ("kk:", {"kk:one", "kk:two"}),  # begins with it, so parts are not looked at
        ("KK:TH", {"xkk:three"}),
        ("kk:one", {"kk:one"}),
        ("%", {LABELS[2]}),
        ("_", {LABELS[0]}),
    ],
)
def test_a_source_is_a_label_a_beginning_or_a_part_of_one(store: Store, source: str, labels: set[str]) -> None:
    for label in LABELS:
        store.index(Document(label, f"a needle in {label!r}"))
    assert found(store, sources=[source]) == labels


def test_several_sources_are_searched_together(store: Store) -> None:
    for label in LABELS:
        store.index(Document(label, "a needle"))
    assert found(store, sources=["kk:one", "dir"]) == {"kk:one", "dir\\file"}
    assert found(store, sources=["nowhere"]) == set()


def test_kind_type_and_time(store: Store) -> None:
    store.index(Document("a", "a needle", kind="durable", content_type="text"))
    store.index(Document("b", "a needle", kind="ephemeral", content_type="output"))
    store.index(Document("c", "a needle", kind="session", content_type="markdown"))
    store.db.execute("UPDATE sources SET indexed_at = CASE label WHEN 'a' THEN 100 WHEN 'b' THEN 200 ELSE 300 END")
    assert found(store) == {"a", "b", "c"}
    assert found(store, kinds=["ephemeral"]) == {"b"}
    assert found(store, kinds=["durable", "session"]) == {"a", "c"}
    assert found(store, content_types=["text", "markdown"]) == {"a", "c"}
    assert found(store, since=200) == {"b", "c"}
    assert found(store, until=200) == {"a", "b"}
    assert found(store, since=200, until=200, kinds=["ephemeral"], sources=["b"]) == {"b"}
    with pytest.raises(UsageError, match="scratch"):
        store.search("needle", kinds=["scratch"])


@pytest.mark.parametrize("filters", [{"kinds": ["durable"]}, {"sources": ["old"]}, {"until": 100}])
def test_a_filter_reaches_past_the_budget(
    store: Store, monkeypatch: pytest.MonkeyPatch, filters: dict[str, object]
) -> None:
    """Only the newest BUDGET matches are compared, but of those that pass the filter."""
    monkeypatch.setattr(lanes, "BUDGET", 5)
    store.index(Document("old", "the needle"))
    store.db.execute("UPDATE sources SET indexed_at = 100")
    for number in range(20):
        store.index(Document(f"new {number}", "the needle again", kind="ephemeral"))
    assert "old" not in found(store)
    assert found(store, **filters) == {"old"}


def test_the_share_of_a_scope_changes_how_it_is_searched_but_not_what_is_found(store: Store) -> None:
    for number in range(20):
        store.index(Document(f"s{number:02}", f"common needle {number} of many words"))
    for count in (1, 3, 8, 20):
        labels = [f"s{number:02}" for number in range(count)]
        assert found(store, sources=labels, limit=20) == set(labels)
        assert found(store, "needle 0", sources=labels) >= {"s00"}


def test_a_source_that_is_still_being_written_is_never_shown(store: Store) -> None:
    store.index(Document("half", "a needle"))
    store.db.execute("UPDATE sources SET complete = 0")
    assert found(store) == set()
    assert found(store, sources=["half"]) == set()
    assert found(store, kinds=["durable"]) == set()
