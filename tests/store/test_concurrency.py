"""Several processes on one store, and processes that are killed. `CAPY_TEST_KILLS=200` makes the last one longer."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from capy_core.database import integrity, write
from capy_core.keys import Key
from capy_store import pipeline, queries
from capy_store.documents import Document
from capy_store.store import Store

KEY = Key("x'" + "5a" * 32 + "'")
KILLS = int(os.environ.get("CAPY_TEST_KILLS", "30"))

# Indexes documents named <name>-<n>, small, middling and bulk, some of them over others; says each label when it is in.
_WRITER = """
import io, random, sys
from pathlib import Path
from capy_core.keys import Key
from capy_store.documents import Document
from capy_store.origin import Origin
from capy_store.store import Store

path, name, count, largest = sys.argv[1:]
chance = random.Random(name)
with Store.open(Path(path), Key("x'" + "5a" * 32 + "'")) as store:
    print("open", flush=True)
    for n in range(int(count)):
        label = f"{name}-{n}" if n % 5 else f"{name}-again"
        text = f"mark{name}x{n} " + " ".join(f"word{chance.randrange(9999)}" for _ in range(8)) + "\\n"
        text *= max(1, chance.choice([20, 200, int(largest)]) // len(text))
        if n % 3:
            store.index(Document(label, text))
        else:
            store.index_stream(Origin(label), io.BytesIO(text.encode()))
        print(f"in {label} {n}", flush=True)
        if n % 7 == 6 and (n - 3) % 5:
            print(f"going {name}-{n - 3} {n}", flush=True)
            store.delete(f"{name}-{n - 3}")
"""


def writer(path: Path, name: str, count: int, largest: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _WRITER, str(path), name, str(count), str(largest)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def problems(path: Path) -> list[str]:
    """What is wrong with a store, seen by a fresh connection."""
    found = integrity(path, KEY)
    with Store.open(path, KEY) as store:
        missing, extra = queries.index_mismatch(store.db)
        if missing or extra:
            found.append(f"{missing} chunks without index, {extra} index rows without chunk")
        orphans = store.db.execute(
            "SELECT count(*) FROM chunks WHERE source_id NOT IN (SELECT id FROM sources)"
        ).fetchone()[0]
        counts = store.db.execute(
            "SELECT count(*) FROM sources s WHERE complete = 1 AND chunk_count !="
            " (SELECT count(*) FROM chunks WHERE source_id = s.id)"
        ).fetchone()[0]
        if orphans or counts:
            found.append(f"{orphans} chunks without source, {counts} sources with other counts")
    return found


def lost(path: Path, said: list[str]) -> list[str]:
    """Of the labels that writers said are in the store, those not found there with that text or a later one."""
    last: dict[str, int] = {}
    for line in said:
        what, label, number = line.split()
        if what == "in":
            last[label] = int(number)
        else:  # it may be gone, or its writer was killed before
            del last[label]
    with Store.open(path, KEY) as store:
        return [label for label, number in last.items() if not _is_there(store, label, number)]


def _is_there(store: Store, label: str, number: int) -> bool:
    row = queries.source_by_label(store.db, label)
    if row is None:
        return False
    mark = store.document(label)["content"].split()[0]
    sql = "SELECT count(*) FROM chunks_fts f JOIN chunks c ON c.id = f.rowid WHERE chunks_fts MATCH ? AND source_id = ?"
    found = store.db.execute(sql, (mark, row.id)).fetchone()[0]
    return int(mark.rpartition("x")[2]) >= number and found == row.chunk_count


def test_eight_processes_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    writers = [writer(path, f"w{number}", 12, 150_000) for number in range(8)]
    said = [line for child in writers for line in child.communicate(timeout=100)[0].splitlines() if line != "open"]
    assert [child.returncode for child in writers] == [0] * 8
    assert sum(line.startswith("in ") for line in said) == 8 * 12
    assert lost(path, said) == []
    assert problems(path) == []


def test_many_writers_of_one_label_leave_one_source(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    Store.open(path, KEY).close()
    errors: list[BaseException] = []

    def put(number: int) -> None:
        try:
            with Store.open(path, KEY) as store:
                store.index(Document("same", f"text number {number}\n" * 100))
        except BaseException as ex:
            errors.append(ex)

    threads = [threading.Thread(target=put, args=(number,)) for number in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    with Store.open(path, KEY) as store:
        assert [record["label"] for record in store.sources()] == ["same"]
    assert problems(path) == []


def test_a_writer_waits_for_the_lock_and_readers_do_not(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    with (
        Store.open(path, KEY) as holder,
        Store.open(path, KEY) as waiting,
        Store.open(path, KEY, readonly=True) as reader,
    ):
        holder.index(Document("a", "zebra\n"))
        done: list[float] = []

        def put() -> None:
            waiting.index(Document("b", "giraffe\n"))
            done.append(time.monotonic())

        with write(holder.db):
            thread = threading.Thread(target=put)
            thread.start()
            begun = time.monotonic()
            while time.monotonic() - begun < 0.5:
                assert reader.document("a")["content"] == "zebra\n"
                assert reader.stats()["sources"] == 1
            assert done == []
            released = time.monotonic()
        thread.join()
        assert done[0] > released
        assert reader.stats()["sources"] == 2


def test_a_bulk_source_does_not_keep_others_from_writing(tmp_path: Path) -> None:
    """Its batches are transactions of their own, so a small document gets in between."""
    path = tmp_path / "kb.db"
    Store.open(path, KEY).close()
    text = "".join(f"line {n} of a long log with several words\n" for n in range(250_000))
    assert len(text) > 4 * pipeline.SLICE
    order: list[str] = []

    def bulk() -> None:
        with Store.open(path, KEY) as store:
            store.index(Document("bulk", text))
            order.append("bulk")

    thread = threading.Thread(target=bulk)
    thread.start()
    with Store.open(path, KEY) as store:
        while not queries.incomplete_sources(store.db):
            time.sleep(0.005)
        store.index(Document("small", "zebra\n"))
        order.append("small")
    thread.join()
    assert order == ["small", "bulk"]
    assert problems(path) == []


def test_killed_writers_lose_no_more_than_the_document_in_hand(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    chance = random.Random(7)
    said: list[str] = []
    for number in range(KILLS):
        child = writer(path, f"k{number}", 10_000, chance.choice([30_000, 3_000_000]))
        assert child.stdout is not None
        assert child.stdout.readline() == "open\n"
        # by its progress, not by the clock alone: the machine may be busy
        said += [child.stdout.readline() for _ in range(chance.randrange(5))]
        time.sleep(chance.random() * 0.1)
        child.send_signal(signal.SIGKILL)
        said += [line for line in child.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
        child.stdout.close()
        child.wait()
        if number % 10 == 9:
            assert problems(path) == []
    assert sum(line.startswith("in ") for line in said) > KILLS
    assert lost(path, said) == []
    assert problems(path) == []
    with Store.open(path, KEY) as store:
        store.index(Document("after", "text\n"))
        assert queries.incomplete_sources(store.db) == []  # what the killed ones left is gone
        store.cleanup()
    assert problems(path) == []


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_stream_leaves_nothing_half_done(tmp_path: Path, signal_number: int) -> None:
    """The command reads an endless pipe; it ends soon after the signal, and the store is whole."""
    path = tmp_path / "kb.db"
    with Store.open(path, KEY) as store:
        store.index(Document("log", "zebra\n"))
    feeder = subprocess.Popen(["yes", "a line of an endless log"], stdout=subprocess.PIPE)
    command = [Path(sys.executable).with_name("capy-store"), "--db", path, "index", "--label", "log"]
    child = subprocess.Popen(
        command, stdin=feeder.stdout, stderr=subprocess.PIPE, env={**os.environ, "CAPY_DB_KEY": KEY.reveal()}
    )
    try:
        with Store.open(path, KEY) as store:
            while not queries.incomplete_sources(store.db):
                time.sleep(0.02)
        child.send_signal(signal_number)
        assert child.wait(20) == (130 if signal_number == signal.SIGINT else -signal.SIGTERM)
    finally:
        feeder.kill()
        feeder.wait()
        assert feeder.stdout is not None and child.stderr is not None
        feeder.stdout.close()
        child.stderr.close()
    with Store.open(path, KEY) as store:
        assert store.document("log")["content"] == "zebra\n"
        store.index(Document("x", "text"))
        assert queries.incomplete_sources(store.db) == []
    assert problems(path) == []
