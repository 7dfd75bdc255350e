from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from capy_core.config import StoreConfig
from capy_core.database import _prepare, connect, write
from capy_core.errors import BadInput, NotFound
from capy_core.keys import Key
from capy_store import queries, retention
from capy_store.documents import Document
from capy_store.migrations import MIGRATIONS
from capy_store.queries import SourceRow
from capy_store.retention import DAY
from capy_store.store import Store

KEY = Key("x'" + "5a" * 32 + "'")
CONFIG = StoreConfig(ephemeral_ttl_hours=24, session_ttl_days=60, max_source_bytes=100_000)
NOW = 1_800_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "kb.db", KEY, replace(CONFIG, auto_prune=False)) as store:
        yield store


def row(
    *, age: float = 0, uses: int = 0, used: float | None = None, code: str = "none", kind: str = "durable"
) -> SourceRow:
    """A source that was indexed `age` days ago and last answered `used` days ago."""
    at = int(NOW - age * DAY)
    return SourceRow(
        id=1, label="x", kind=kind, content_type="text", title="", hash=b"", raw_hash=b"", recipe="", bytes=10, lines=1,
        redactions=0, chunk_count=4, code_chunk_count={"none": 0, "some": 1, "all": 4}[code], trigram=0, complete=1,
        created_at=at, indexed_at=at, accessed_at=int(NOW - used * DAY) if used is not None else at, access_count=uses,
        path=None, file_size=None, file_mtime_ns=None, file_ctime_ns=None, url=None, meta="{}",
    )  # fmt: skip


def put(
    store: Store, label: str, *, days: float = 0, kind: str = "durable", uses: int = 0, text: str = "words\n"
) -> None:
    """Index a source as if it were `days` ago, never or `uses` times answered since."""
    store.index(Document(label, f"{label} {text}", kind=kind))
    at = int(time.time() - days * DAY)
    store.db.execute(
        "UPDATE sources SET indexed_at = ?, accessed_at = ?, access_count = ? WHERE label = ?", (at, at, uses, label)
    )


def labels(store: Store) -> list[str]:
    return [record["label"] for record in store.sources()]


@pytest.mark.parametrize(
    ("source", "tier"),
    [
        (row(code="all"), "hot"),
        (row(code="all", age=7), "warm"),
        (row(code="all", age=30), "cold"),
        (row(age=20), "cold"),
        (row(age=40), "evictable"),
        (row(code="all", age=60, uses=10, used=1), "cold"),
        (row(code="all", age=30, uses=10, used=0), "warm"),
        (row(age=90), "evictable"),
        (row(kind="ephemeral", age=0.9), "fresh"),
        (row(kind="ephemeral", age=1.1), "stale"),
        (row(kind="session", age=59), "fresh"),
        (row(kind="session", age=61, uses=50, used=0), "stale"),
        (row(age=-5), "warm"),
    ],
)
def test_age_and_use_make_the_tier(source: SourceRow, tier: str) -> None:
    assert retention.tier(source, CONFIG, NOW) == tier


def test_code_scores_above_mixed_above_prose() -> None:
    scores = [retention.score(row(code=code, age=3), NOW) for code in ("all", "some", "none")]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > scores[1] > scores[2]
    assert retention.score(row(code="all"), NOW) == pytest.approx(0.7)


def test_one_answer_keeps_a_source_for_a_month_and_not_for_ever() -> None:
    assert retention.tier(row(age=200, uses=1, used=29), CONFIG, NOW) == "cold"
    assert retention.tier(row(age=200, uses=1, used=31), CONFIG, NOW) == "evictable"
    assert retention.tier(row(age=400, uses=10, used=120), CONFIG, NOW) == "cold"
    assert retention.tier(row(age=400, uses=10, used=140), CONFIG, NOW) == "evictable"


def test_uses_are_counted_over_what_is_left_of_the_earlier_ones(store: Store) -> None:
    put(store, "x")
    source = queries.source_by_label(store.db, "x")
    assert source is not None
    for after, left in ((0, 1), (0, 2), (0, 3), (30, 3), (600, 1)):
        source = queries.source_by_label(store.db, "x")
        assert source is not None
        now = source.accessed_at + after * DAY
        with write(store.db):
            retention.note_uses(store.db, [source.id], now=now)
        changed = queries.source_by_label(store.db, "x")
        assert changed is not None and (changed.access_count, changed.accessed_at) == (left, now)


def test_cleanup_removes_by_all_four_ways_and_the_dry_run_says_exactly_that(store: Store) -> None:
    put(store, "keep")
    put(store, "old", days=90)
    put(store, "old but used", days=90, uses=40)
    put(store, "output", days=2, kind="ephemeral", uses=9)
    put(store, "fresh output", days=0.5, kind="ephemeral")
    put(store, "session", days=61, kind="session")
    put(store, "new session", days=59, kind="session")
    store.index(Document("large", "x" * 90_000))
    store.config = replace(store.config, max_source_bytes=80_000)
    planned = store.cleanup(dry_run=True)
    assert planned.dry_run and len(labels(store)) == 8
    assert [(e.label, e.reason) for e in planned.evicted] == [
        ("old", "retention"), ("output", "ttl"), ("session", "ttl"), ("large", "oversized"),
    ]  # fmt: skip
    done = store.cleanup()
    assert [e.label for e in done.evicted] == [e.label for e in planned.evicted]
    assert labels(store) == ["keep", "old but used", "fresh output", "new session"]
    assert store.cleanup().evicted == []


def test_a_source_that_was_accepted_at_the_limit_is_not_oversized(store: Store) -> None:
    store.index(Document("x", "é" * 50_000))
    assert store.cleanup(dry_run=True).evicted == []


@pytest.mark.parametrize("kind", ["ephemeral", "session"])
def test_a_purge_takes_one_kind_whole_and_nothing_else(store: Store, kind: str) -> None:
    for each in ("durable", "ephemeral", "session"):
        put(store, each, kind=each, days=300 if each == "durable" else 0)
    done = store.cleanup(purge=kind)
    assert [(e.label, e.reason) for e in done.evicted] == [(kind, "purge")]
    assert kind not in labels(store) and len(labels(store)) == 2


def test_one_source_goes_by_its_label_alone(store: Store) -> None:
    put(store, "a_b")
    put(store, "a%b", uses=100)
    put(store, "axb")
    assert [(e.label, e.reason) for e in store.cleanup(label="a_b").evicted] == [("a_b", "manual")]
    assert labels(store) == ["a%b", "axb"]
    with pytest.raises(NotFound):
        store.cleanup(label="a_b")


def test_purges_that_make_no_sense_are_refused(store: Store) -> None:
    with pytest.raises(BadInput):
        store.cleanup(purge="durable")
    with pytest.raises(BadInput):
        store.cleanup(purge="session", label="x")


def test_nothing_of_what_went_is_found_or_counted(store: Store) -> None:
    for number in range(20):
        put(store, f"s{number}", days=90 if number < 5 else 0, kind="ephemeral" if 5 <= number < 10 else "durable")
    store.cleanup()
    store.cleanup(purge="ephemeral")
    for number in range(10, 13):
        store.delete(f"s{number}")
    store.cleanup(label="s13")
    hits = store.db.execute("SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH 'words'").fetchone()[0]
    assert (hits, store.stats()["sources"], store.stats()["chunks"], len(labels(store))) == (6, 6, 6, 6)
    assert queries.index_mismatch(store.db) == (0, 0)


def test_opening_for_writing_prunes_what_is_expired_once_an_hour(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    with Store.open(path, KEY, CONFIG) as store:
        for label in ("a", "b"):
            put(store, label, days=2, kind="ephemeral")
        put(store, "old", days=400)
    with Store.open(path, KEY, CONFIG) as store:
        assert labels(store) == ["a", "b", "old"]  # it was looked at less than an hour ago
        queries.set_state(store.db, "pruned_at", int(time.time()) - 3700)
    with Store.open(path, KEY, CONFIG, readonly=True) as store:
        assert len(labels(store)) == 3
    with Store.open(path, KEY, replace(CONFIG, auto_prune=False)) as store:
        assert len(labels(store)) == 3
    with Store.open(path, KEY, CONFIG) as store:
        assert labels(store) == ["old"]  # durable sources go by a cleanup only


def test_a_clock_that_was_ahead_does_not_stop_the_pruning(store: Store) -> None:
    put(store, "a", days=2, kind="ephemeral")
    queries.set_state(store.db, "pruned_at", int(time.time()) + 10**6)
    assert retention.prune(store.db, CONFIG) == 1


def test_what_was_indexed_anew_since_the_plan_stays(store: Store) -> None:
    put(store, "x", days=2, kind="ephemeral")
    planned = retention.plan(store.db, CONFIG)
    store.index(Document("x", "x words\n", kind="ephemeral"))
    assert [retention._evict(store.db, eviction) for eviction in planned] == [False]


@pytest.mark.parametrize("way", ["cleanup", "delete", "replace"])
@pytest.mark.parametrize("neighbours", [0, 3, 40])
def test_deleted_text_is_gone_from_the_pages_of_the_file(tmp_path: Path, way: str, neighbours: int) -> None:
    """The same code on an unencrypted file, whose pages can be read."""
    path = tmp_path / "plain.db"
    path.touch()
    db = connect(path, None)
    words = (b"zzsecretword", b"anotherword", b"kamelcase", b"yyword")
    with Store(_prepare(db, path, MIGRATIONS), path, replace(CONFIG, auto_prune=False)) as store:
        for number in range(neighbours):
            store.index(Document(f"n{number}", " ".join(f"{number}word{n}" for n in range(400))))
        store.index(Document("victim", "zzsecretword anotherword kamelCaseYyword\n" * 100))
        store.checkpoint()
        before = path.read_bytes().lower()
        assert all(word in before for word in words[:2])
        if way == "cleanup":
            store.cleanup(label="victim")
        else:
            store.delete("victim") if way == "delete" else store.index(Document("victim", "harmless"))
            store.cleanup()
    after = path.read_bytes().lower()
    assert [word for word in words if word in after] == []


def test_a_delete_looks_at_its_own_chunks_only(store: Store) -> None:
    """The statements of a delete use indexes: none scans a table that grows with the store."""
    for number in range(5):
        put(store, f"s{number}", text="words\n" * 1000)
    plans = []
    store.db.set_trace_callback(plans.append)
    store.delete("s2")
    store.db.set_trace_callback(None)
    deletes = [sql for sql in plans if sql.startswith("DELETE")]
    assert len(deletes) == 4
    for sql in deletes:
        steps = [step[3] for step in store.db.execute(f"EXPLAIN QUERY PLAN {sql}")]
        assert not [step for step in steps if step.startswith("SCAN") and "chunks_" not in step], (sql, steps)


def test_cleaning_gives_pages_back_to_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    config = replace(CONFIG, max_source_bytes=10_000_000, auto_prune=False)
    with Store.open(path, KEY, config) as store:
        chance = random.Random(1)
        store.index(Document("large", "\n".join(f"{chance.getrandbits(64):x}" for _ in range(60_000))))
        store.index(Document("small", "words"))
        store.checkpoint()
        before = path.stat().st_size
        done = store.cleanup(label="large")
        assert done.vacuumed
    assert path.stat().st_size < before / 5


def test_cleanup_beside_an_idle_reader_and_writer_works_and_leaves_them_their_text(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    with Store.open(path, KEY, CONFIG) as idle, Store.open(path, KEY, CONFIG) as cleaner:
        idle.index(Document("mine", "zebra\n"))
        put(cleaner, "old", days=90, text="word " * 10_000)
        assert [e.label for e in cleaner.cleanup().evicted] == ["old"]
        assert idle.document("mine")["content"] == "zebra\n"
        assert idle.index(Document("mine", "zebra\n")).status == "unchanged"
