from __future__ import annotations

import io
import os
import random
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from capy_core.config import StoreConfig
from capy_core.errors import BadInput, TooLarge
from capy_core.keys import Key
from capy_store import pipeline, queries, raw, staging
from capy_store.documents import Chunk, Document, Part
from capy_store.origin import Origin
from capy_store.store import Store

KEY = Key("x'" + "5a" * 32 + "'")
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "kb.db", KEY, StoreConfig(max_source_bytes=40_000_000)) as store:
        yield store


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices and the pipe's buffer a fraction of their size, so that a text of 1 MB takes the ways of a large one."""
    monkeypatch.setattr(pipeline, "SLICE", 1 << 18)
    monkeypatch.setattr(raw, "PIPE_BUFFER", 1 << 19)
    monkeypatch.setattr(raw, "BLOCK", 1 << 16)


def stored(store: Store, label: str) -> str:
    return str(store.document(label)["content"])


def found(store: Store, word: str) -> list[str]:
    """Labels of the sources whose chunks the full-text index finds by a word."""
    sql = (
        "SELECT DISTINCT label FROM chunks_fts JOIN chunks ON chunks.id = chunks_fts.rowid"
        " JOIN sources ON sources.id = source_id WHERE chunks_fts MATCH ? AND complete = 1 ORDER BY label"
    )
    return [row[0] for row in store.db.execute(sql, (f'"{word}"',))]


class BrokenStream(io.BytesIO):
    """A stream that fails after some bytes; a seekable one only when it is read a second time."""

    def __init__(self, data: bytes, *, after: int, seekable: bool = False) -> None:
        super().__init__(data)
        self._after, self._seekable, self._sound = after, seekable, seekable

    def seekable(self) -> bool:
        return self._seekable

    def seek(self, at: int, whence: int = 0) -> int:
        self._sound = False
        return super().seek(at, whence)

    def read(self, size: int | None = -1) -> bytes:
        if self.tell() > self._after and not self._sound:
            raise OSError("gone")
        return super().read(size)


def lines(count: int, seed: int = 1) -> str:
    """Log-like text of about 60 characters a line."""
    chance = random.Random(seed)
    return "".join(
        f"12:00:{n % 60:02d} INFO worker {chance.randrange(99999)} handled request {n} in {n * 7 % 900} ms\n"
        for n in range(count)
    )


def sound(store: Store) -> bool:
    return queries.index_mismatch(store.db) == (0, 0)


def test_a_new_document_is_indexed_and_found(store: Store) -> None:
    result = store.index(Document("notes", "# Title\n\nzebra crossing\n", content_type="markdown"))
    assert (result.source, result.status, result.kind, result.content_type) == (
        "notes",
        "indexed",
        "durable",
        "markdown",
    )
    assert (result.chunks, result.bytes, result.lines, result.redactions, result.trigram) == (1, 24, 3, 0, True)
    assert found(store, "zebra") == ["notes"]
    assert stored(store, "notes") == "# Title\n\nzebra crossing\n"


def test_the_same_document_again_is_unchanged_with_its_real_counts_and_a_new_time(store: Store) -> None:
    first = store.index(Document("notes", lines(100)))
    store.db.execute("UPDATE sources SET indexed_at = 1")
    again = store.index(Document("notes", lines(100)))
    assert again.status == "unchanged"
    assert (again.source_id, again.chunks, again.bytes) == (first.source_id, first.chunks, first.bytes)
    assert queries.source_by_label(store.db, "notes").indexed_at > time.time() - 60  # type: ignore[union-attr]


def test_new_text_under_a_label_replaces_the_old(store: Store) -> None:
    first = store.index(Document("notes", "zebra\n"))
    second = store.index(Document("notes", "giraffe\n"))
    assert (second.status, second.source_id > first.source_id) == ("replaced", True)
    assert (found(store, "zebra"), found(store, "giraffe")) == ([], ["notes"])
    assert sound(store)


def test_another_kind_is_set_in_place(store: Store) -> None:
    first = store.index(Document("notes", lines(100), kind="ephemeral"))
    second = store.index(Document("notes", lines(100), kind="durable"))
    assert (second.status, second.kind, second.source_id) == ("unchanged", "durable", first.source_id)
    assert second.chunks == first.chunks


def test_other_choices_for_the_same_text_cut_it_anew(store: Store) -> None:
    store.index(Document("notes", "# A\n\ntext\n", content_type="markdown"))
    assert store.index(Document("notes", "# A\n\ntext\n", content_type="output")).status == "replaced"
    assert store.index(Document("notes", "# A\n\ntext\n", content_type="output", title="T")).status == "replaced"


def test_new_facts_about_the_same_text_are_kept_without_cutting_it_anew(store: Store) -> None:
    first = store.index(Document("run", lines(100), meta={"duration_ms": 5}, url="https://a.test"))
    second = store.index(
        Document("run", lines(100), meta={"duration_ms": 7, "code": f"T={SECRET}"}, url="https://b.test")
    )
    assert (second.status, second.source_id) == ("unchanged", first.source_id)
    record = store.document("run")
    assert (record["meta"]["duration_ms"], record["url"]) == (7, "https://b.test")
    assert SECRET not in str(record)


def test_a_label_with_a_secret_is_found_again_by_its_redacted_form(store: Store) -> None:
    first = store.index(Document(f"run {SECRET}", lines(100)))
    again = store.index(Document(f"run {SECRET}", lines(100)))
    assert (again.status, again.source, again.source_id) == ("unchanged", first.source, first.source_id)


def test_raw_text_that_differs_in_what_is_set_aside_is_unchanged(store: Store) -> None:
    store.index(Document("log", f"start\ntoken {SECRET}\nend\n"))
    other = SECRET.replace("a1B2", "Z9y8")
    result = store.index(Document("log", f"\x1b[1mstart\x1b[0m\r\ntoken {other}\nend\n"))
    assert result.status == "unchanged"
    assert store.index(Document("log", f"\x1b[1mstart\x1b[0m\r\ntoken {other}\nend\n")).status == "unchanged"


def test_secrets_reach_neither_text_nor_titles_nor_labels_nor_facts(store: Store, tmp_path: Path) -> None:
    result = store.index(
        Document(
            f"run {SECRET}", f"# Uses {SECRET}\n\nbody {SECRET}\n", title=SECRET, content_type="markdown",
            url=f"https://x.test/?token={SECRET}", meta={"code": f"export T={SECRET}", "list": [SECRET], SECRET: 1},
        )
    )  # fmt: skip
    assert result.redactions == 2
    tables = ("sources", "chunks", "chunks_fts_data", "chunks_trigram_data")
    dump = repr([store.db.execute(f"SELECT * FROM {table}").fetchall() for table in tables])
    dump += stored(store, result.source)
    assert SECRET not in dump
    assert found(store, SECRET) == []


def test_a_secret_across_two_blocks_of_a_stream_is_redacted(store: Store) -> None:
    text = "x" * (raw.BLOCK - 10) + f"\ntoken={SECRET}\n" + lines(1000)
    result = store.index_stream(Origin("log"), io.BytesIO(text.encode()))
    assert result.redactions == 1
    assert SECRET not in stored(store, "log")


@pytest.mark.parametrize("kind", ["bogus", ""])
def test_an_unknown_kind_is_refused(store: Store, kind: str) -> None:
    with pytest.raises(BadInput, match="unknown kind"):
        store.index(Document("x", "text", kind=kind))


def test_an_unknown_type_and_a_missing_label_are_refused(store: Store) -> None:
    with pytest.raises(BadInput, match="unknown content type"):
        store.index(Document("x", "text", content_type="yaml"))
    with pytest.raises(BadInput, match="needs a label"):
        store.index(Document("  ", "text"))


def test_a_text_of_exactly_the_limit_is_taken_and_one_byte_more_is_refused(tmp_path: Path) -> None:
    with Store.open(tmp_path / "kb.db", KEY, StoreConfig(max_source_bytes=1000)) as store:
        assert store.index(Document("x", "é" * 500)).bytes == 1000
        for put in (
            lambda: store.index(Document("y", "é" * 500 + "a")),
            lambda: store.index(Document("y", chunks=[Chunk("t", "a" * 1001, 1, 1)])),
            lambda: store.index(Document("y", parts=[Part("t", "a" * 500), Part("u", "a" * 501)])),
            lambda: store.index_stream(Origin("y"), io.BytesIO(b"a" * 1001)),
        ):
            with pytest.raises(TooLarge, match=r"1001 bytes.*store\.max_source_bytes is 1000"):
                put()
        assert [record["label"] for record in store.sources()] == ["x"]


@pytest.mark.usefixtures("small_steps")
def test_a_pipe_that_turns_out_too_large_leaves_nothing(tmp_path: Path) -> None:
    with Store.open(tmp_path / "kb.db", KEY, StoreConfig(max_source_bytes=1_500_000)) as store:
        store.index(Document("log", "the old text\n"))
        with subprocess.Popen(["head", "-c", "1600000", "/dev/zero"], stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            with pytest.raises(TooLarge):
                store.index_stream(Origin("log"), child.stdout)
        assert stored(store, "log") == "the old text\n"
        assert queries.incomplete_sources(store.db) == []
        assert sound(store)


def test_empty_text_is_a_source_without_chunks(store: Store) -> None:
    for number, document in enumerate(
        (Document("a", ""), Document("b", parts=[Part("t", "")]), Document("c", chunks=[]))
    ):
        result = store.index(document)
        assert (result.status, result.chunks, result.lines) == ("indexed", 0, 0), number
    assert store.index_stream(Origin("d"), io.BytesIO(b"")).chunks == 0
    assert stored(store, "d") == ""


def test_blank_text_does_not_take_the_place_of_a_durable_one(store: Store) -> None:
    store.index(Document("profile", "a good profile\n"))
    for blank in ("", "  \n\t"):
        with pytest.raises(BadInput, match="blank"):
            store.index(Document("profile", blank))
    assert stored(store, "profile") == "a good profile\n"
    assert store.index(Document("profile", "", kind="ephemeral")).status == "replaced"  # output may well be empty


@pytest.mark.parametrize("size", [200_000, 300_000, 2_500_000])
@pytest.mark.usefixtures("small_steps")
def test_long_texts_come_back_whole_by_every_way_in(store: Store, size: int) -> None:
    text = lines(size // 55)
    assert store.index(Document("a", text)).status == "indexed"
    assert store.index_stream(Origin("b"), io.BytesIO(text.encode())).status == "indexed"
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None and child.stdout is not None
        if os.fork() == 0:  # feed the pipe from another process
            child.stdin.write(text.encode())
            child.stdin.close()
            os._exit(0)
        child.stdin.close()
        store.index_stream(Origin("c"), child.stdout)
        os.wait()
    for label in "abc":
        assert stored(store, label) == text
    assert sound(store)
    assert queries.incomplete_sources(store.db) == []


@pytest.mark.usefixtures("small_steps")
def test_a_large_text_that_is_the_same_again_is_unchanged(store: Store) -> None:
    data = lines(30_000).encode()
    assert len(data) > raw.PIPE_BUFFER
    first = store.index_stream(Origin("log"), io.BytesIO(data))
    with subprocess.Popen(["cat", "/dev/stdin"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None and child.stdout is not None
        if os.fork() == 0:
            child.stdin.write(data)
            child.stdin.close()
            os._exit(0)
        child.stdin.close()
        again = store.index_stream(Origin("log"), child.stdout)  # longer than the buffer: known only at its end
        os.wait()
    assert (again.status, again.source_id, again.chunks) == ("unchanged", first.source_id, first.chunks)
    assert sound(store)


@pytest.mark.usefixtures("small_steps")
def test_readers_see_the_old_text_until_the_new_one_is_whole(store: Store, tmp_path: Path) -> None:
    store.index(Document("log", "zebra\n"))
    seen = []
    half_written = []

    class Stream(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def read(self, size: int | None = -1) -> bytes:
            with Store.open(tmp_path / "kb.db", KEY, readonly=True) as reader:
                seen.append((stored(reader, "log"), *found(reader, "request"), len(list(reader.sources()))))
                half_written.append(len(queries.incomplete_sources(reader.db)))
            return super().read(size)

    store.index_stream(Origin("log"), Stream(lines(30_000).encode()))
    assert half_written[-1] == 1
    assert set(seen) == {("zebra\n", 1)}
    assert found(store, "request") == ["log"]


def test_nuls_and_odd_characters_do_not_harm_the_index(store: Store) -> None:
    text = "alpha " + "\x00" * 20_000 + " omega \ud800 lone\f\v\u2028 end"
    store.index(Document("nuls", text))
    assert (found(store, "alpha"), found(store, "omega"), found(store, "lone")) == (["nuls"],) * 3
    assert stored(store, "nuls") == text.replace("\ud800", "\ufffd")
    assert store.db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_names_inside_identifiers_and_pairs_of_characters_are_indexed(store: Store) -> None:
    store.index(Document("code", "call renewAccessTicket() 東京都庁\n"))
    assert store.db.execute("SELECT count(*) FROM chunks_fts('part:ticket')").fetchone() == (1,)
    assert store.db.execute("SELECT count(*) FROM chunks_fts('cjk:京都')").fetchone() == (1,)


def test_only_small_sources_are_in_the_substring_lane(tmp_path: Path) -> None:
    with Store.open(tmp_path / "kb.db", KEY, StoreConfig(trigram_max_bytes=30_000)) as store:
        assert store.index(Document("small", lines(400))).trigram
        assert not store.index(Document("large", lines(900))).trigram
        groups = store.db.execute(
            'SELECT rowid FROM chunks_trigram WHERE chunks_trigram MATCH \'"and" AND "ndl"\''
        ).fetchall()
        assert len(groups) == 2  # of eight chunks each
        store.delete("small")
        assert store.db.execute("SELECT count(*) FROM chunks_trigram_docsize").fetchone() == (0,)


@pytest.mark.usefixtures("small_steps")
def test_rows_of_the_substring_lane_go_with_a_text_that_was_not_kept(tmp_path: Path) -> None:
    with Store.open(tmp_path / "kb.db", KEY, StoreConfig(trigram_max_bytes=50_000_000)) as store:
        for size in (100, 20_000):
            store.index(Document("log", lines(size)))
            assert (
                store.index(Document("log", f"\x1b[1m{lines(size)}")).status == "unchanged"
            )  # known only once it is cut
            assert sound(store)
        with pytest.raises(OSError, match="gone"):
            store.index_stream(Origin("other"), BrokenStream(lines(20_000).encode(), after=900_000, seekable=True))
        assert sound(store)
        assert not store.index(Document("empty", "", kind="ephemeral")).trigram


def test_parts_have_titles_and_types_of_their_own_and_lines_go_on(store: Store) -> None:
    parts = [Part("make", '{"ok": true}\n', "json"), Part("make, stderr", "warning: zebra\n", "output")]
    result = store.index(Document("run", parts=parts, content_type="json"))
    assert (result.content_type, result.chunks) == ("json", 2)
    chunks = list(store.chunks("run"))
    assert [(chunk["title"], chunk["line_start"]) for chunk in chunks] == [("make", 1), ("make, stderr", 2)]


def test_given_chunks_are_stored_as_they_are(store: Store) -> None:
    given = [
        Chunk("turn 1", "user: hello\n", 1, 1),
        Chunk("turn 2", "user: hello\nassistant: hi\n", 1, 2, is_code=True),
    ]
    result = store.index(Document("session:1", chunks=given, kind="session"))
    assert (result.content_type, result.chunks, result.code_chunks) == ("transcript", 2, 1)
    assert [(c["title"], c["content"], c["line_start"], c["line_end"]) for c in store.chunks("session:1")] == [
        (chunk.title, chunk.body, chunk.line_start, chunk.line_end) for chunk in given
    ]
    assert store.index(Document("session:1", chunks=given, kind="session")).status == "unchanged"


@pytest.mark.usefixtures("small_steps")
def test_an_error_in_the_middle_of_a_stream_leaves_the_old_text(store: Store) -> None:
    store.index(Document("log", "zebra\n"))
    with pytest.raises(OSError, match="gone"):
        store.index_stream(Origin("log"), BrokenStream(lines(35_000).encode(), after=1_400_000))
    assert stored(store, "log") == "zebra\n"
    assert queries.incomplete_sources(store.db) == []


def test_rows_of_a_dead_writer_are_removed_and_those_of_a_living_one_are_not(store: Store) -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    living = staging.new_label()
    parts = living.split("\x01")
    gone = "\x01".join([*parts[:3], str(dead.pid), *parts[4:]])
    reused = "\x01".join([*parts[:4], "1", "another"])  # this pid, but a process that began at another time
    foreign = "\x01".join([*parts[:2], "another-machine", *parts[3:]])
    for label in (living, gone, reused, foreign):
        store.db.execute(
            "INSERT INTO sources(label, kind, content_type, hash, raw_hash, recipe, bytes, lines, complete, created_at,"
            " indexed_at, accessed_at) VALUES(?, 'durable', 'text', '', '', '', 0, 0, 0, 0, ?, 0)",
            (label, int(time.time())),
        )
    store.index(Document("x", "text"))
    assert {row.label for row in queries.incomplete_sources(store.db)} == {living, foreign}
    store.db.execute("UPDATE sources SET indexed_at = 1 WHERE label = ?", (foreign,))
    store.index(Document("y", "text"))
    assert {row.label for row in queries.incomplete_sources(store.db)} == {living}
