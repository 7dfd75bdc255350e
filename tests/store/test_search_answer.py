"""Questions and their answers, on small texts: what is found, in which order, as which lines."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from capy_core.errors import Corrupt, UsageError
from capy_core.keys import Key
from capy_store.documents import Chunk, Document, Hit, SearchResult
from capy_store.freshness import with_file
from capy_store.indexing import Origin
from capy_store.store import Store

KEY = Key("x'" + "5a" * 32 + "'")
TICKET = "ticket OPS-417: the C++ client fails on k8s.io/api in src/main.py under debian 12.5"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "kb.db", KEY) as store:
        yield store


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Many small texts that no test changes."""
    texts = {
        "ticket": TICKET,
        "yaml": "def safe_load_yaml(path):",
        "tab": "the uid of the tab is kept",
        "tab_uid": "tab_uid = 7",
        "camel": "function renewAccessTicket() {}",
        "retry": "def schedule_retry(): ...",
        "nulls": "修复sync-cfgd后三十个空指针已清除",
        "migration": "数据库迁移 已完成",
        "mandarin": "ミカンを買います",
        "thai": "ระบบฐานข้อมูลพร้อมใช้งาน",
        "korean": "데이터베이스가 시작되었습니다",
        "cafe": "the Café Größe opened",
        "agents": "we don't use agents here",
        "perf": "the latency of the store",
        "cluster": "kubernetes upgrade notes",
    }
    with Store.open(tmp_path_factory.mktemp("kb") / "kb.db", KEY) as store:
        for label, text in texts.items():
            store.index(Document(label, text))
        yield store


def labels(result: SearchResult) -> list[str]:
    return [hit.label for hit in result.hits]


@pytest.mark.parametrize(
    ("query", "label"),
    [
        *((query, "ticket") for query in ("OPS-417", "C++", "k8s.io", "src/main.py", "12.5", "main:py", "-client")),
        ("title: client", "ticket"),
        ("body:ops AND (417", "ticket"),
        ('say "kept', "tab"),
        ("don't use agents", "agents"),
        ("safe_load_yaml", "yaml"),
        ("safe load yaml", "yaml"),
        ("access ticket", "camel"),
        ("scheduling", "retry"),
        ("renewaccess", "camel"),  # inside a word, not at its end
        ("renewAccessTicket", "camel"),
        ("newAccessTick", "camel"),
        ("cfgd", "nulls"),
        ("sync-cfgd", "nulls"),
        ("空指针", "nulls"),
        ("数据库迁移脚本", "migration"),
        ("买", ""),
        ("買", "mandarin"),
        ("買い", "mandarin"),
        ("を買い", "mandarin"),
        ("す", "mandarin"),  # the last character of a run
        ("ฐานข้อมูล", "thai"),
        ("데이터베이스", "korean"),
        ("cafe", "cafe"),
        ("Größe", "cafe"),
        ("grosse", ""),
        ("Grosze", ""),
        ("slow", "perf"),
        ("k8s", "cluster"),
    ],
)
def test_any_text_is_a_query(library: Store, query: str, label: str) -> None:
    found = labels(library.search(query))
    assert found[:1] == ([label] if label else [])


def test_words_of_a_name_apart_are_listed_below_the_name(library: Store) -> None:
    assert labels(library.search("tab_uid")) == ["tab_uid", "tab"]


@pytest.mark.parametrize("query", ["", "   ", "\t", '"', '""', '"' * 5000])
def test_a_blank_query_is_a_usage_error(library: Store, query: str) -> None:
    with pytest.raises(UsageError, match="nothing to search for"):
        library.search(query)


@pytest.mark.parametrize(
    "query",
    [
        "\n".join(f'  File "/srv/mod{i}.py", line {i}, in step_{i}' for i in range(5000))[:200_000],
        " ".join(f"word{i}" for i in range(20_000)),
        "x" * 100_000,
        "数据库" * 40_000,
        "a" * 300 + " client",
    ],
)
def test_a_wall_of_text_is_answered_and_said_to_be_cut(library: Store, query: str) -> None:
    begun = time.process_time()
    result = library.search(query)
    assert time.process_time() - begun < 2
    assert any("only a part" in note for note in result.notes)


def test_brackets_are_no_grammar(library: Store) -> None:
    assert labels(library.search("[" * 400 + "client" + "]" * 400)) == ["ticket"]


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(max_size=80))
@example("\ud800 tab")
@example('NEAR("a b", 5)')
@example("a\x00b")
def test_no_text_raises_and_snippets_are_lines_of_the_content(library: Store, query: str) -> None:
    try:
        result = library.search(query)
    except UsageError:
        return
    for hit in result.hits:
        assert all(line in hit.content for line in hit.snippet.split("\n"))


def test_a_phrase_in_quotes_counts_more_where_it_is_met(store: Store) -> None:
    store.index(Document("apart", "the reset of a connection, and once more connection and reset"))
    store.index(Document("together", "some long text that tells in passing of a connection reset and other things"))
    assert labels(store.search('"connection reset"'))[0] == "together"


def test_a_fresh_chunk_of_that_title_beats_old_ones(store: Store) -> None:
    old = int(time.time()) - 20 * 86_400
    for number in range(200):
        store.index(Document(f"session {number}", "deploy log deploy log of web", kind="session"))
    store.db.execute("UPDATE sources SET indexed_at = ?", (old,))
    store.index(Document("new", "all went well", title="deploy log web-3", kind="ephemeral"))
    assert labels(store.search("deploy log web-3"))[0] == "new"
    store.index(Document("named", "all went well again", title="deploy log", kind="ephemeral"))
    assert labels(store.search("deploy log"))[0] == "named"


def test_ties_go_to_what_was_indexed_later_then_to_the_earlier_chunk(store: Store) -> None:
    for label in ("one", "two", "three"):
        store.index(Document(label, "the same text"))
    for second, label in enumerate(("three", "one", "two")):
        store.db.execute("UPDATE sources SET indexed_at = ? WHERE label = ?", (1000 + second, label))
    expected = ["two", "one", "three"]
    assert [labels(store.search("same text")) for _ in range(5)] == [expected] * 5
    store.index(Document("chunks", chunks=[Chunk("", "twin words", 1, 1), Chunk("", "twin words", 2, 2)]))
    assert [hit.line_start for hit in store.search("twin words").hits] == [1, 2]


def test_the_words_of_a_question_matter_by_what_they_tell(store: Store) -> None:
    for number in range(30):
        store.index(Document(f"common {number}", "the server is up, the server is up"))
    store.index(Document("rare", "a server with a flux capacitor"))
    assert labels(store.search("server capacitor"))[0] == "rare"


def test_a_text_that_asks_does_not_answer(store: Store) -> None:
    store.index(Document("question", "What port does the relay listen on?"))
    store.index(Document("answer", "In our setup the relay will listen on port 4711, as before."))
    assert labels(store.search("what port does the relay listen on")) == ["answer", "question"]


def test_one_source_that_has_all_the_answers_keeps_them(store: Store) -> None:
    store.index(Document("book", "\n\n".join(f"A chapter {n} on whales. {'filler ' * 500}" for n in range(8))))
    store.index(Document("note", "cats"))
    result = store.search("whales", limit=8)
    assert len(result.hits) == 8 and set(labels(result)) == {"book"}


@pytest.mark.parametrize(("limit", "count"), [(1, 1), (3, 3), (0, 1), (-5, 1), (10**9, 12)])
def test_the_limit_is_kept_and_at_least_1(store: Store, limit: int, count: int) -> None:
    for number in range(12):
        store.index(Document(str(number), f"needle {number}"))
    assert len(store.search("needle", limit=limit).hits) == count


def log_lines() -> list[str]:
    lines = [f"2026-11-30 10:{n // 60:02}:{n % 60:02} INFO worker-{n % 7} handled request {n} fine" for n in range(400)]
    lines[271] = "2026-11-30 10:04:31 ERROR worker-3 connection to billing refused after 3 attempts"
    lines[272] = "2026-11-30 10:04:31 ERROR worker-3 giving up on invoice 99817"
    return lines


def test_tool_output_is_answered_with_the_lines(store: Store) -> None:
    lines = log_lines()
    store.index(Document("log", "\n".join(lines) + "\n", content_type="output"))
    best = store.search("why was the connection to billing refused").hits[0]
    assert lines[271] in best.content.split("\n")
    assert len(best.content) <= 1200
    assert best.content.split("\n") == lines[best.line_start - 1 : best.line_end]


def test_windows_that_touch_are_one_hit(store: Store) -> None:
    body = "".join(
        f"step {n}: the gizmo moved, and this line goes on for quite a while to fill it up\n" for n in range(9)
    )
    store.index(Document("log", body, content_type="output"))
    result = store.search("gizmo", limit=20)
    assert [(hit.line_start, hit.line_end) for hit in result.hits] == [(1, 9)]
    assert result.hits[0].content == body.rstrip("\n")


def test_lines_that_tell_of_a_failure_come_first_when_the_question_is_about_one(store: Store) -> None:
    filler = "".join(f"unit {n} of the payment module is {'x' * 60} as usual\n" for n in range(60))
    text = f"payment module started\n{filler}payment module: could not open ledger\n{filler}payment module stopped\n"
    store.index(Document("log", text, content_type="output"))
    best = store.search("what went wrong in the payment module").hits[0]
    assert "could not open ledger" in best.content


def test_the_label_tells_records_apart_that_say_the_same(store: Store) -> None:
    """The title of a part of a JSON text is a path, without the label."""
    orders = ",".join(f'{{"id": {4700 + number}, "status": "paid", "note": "{"x" * 200}"}}' for number in range(30))
    for place in ("staging", "production", "training"):
        store.index(Document(f"GET /orders {place}", f'{{"orders": [{orders}]}}', content_type="json"))
    for place in ("staging", "production", "training"):
        assert labels(store.search(f"status of order 4711 in {place}"))[0] == f"GET /orders {place}"


def test_lines_that_repeat_the_label_do_not_beat_those_that_answer(store: Store) -> None:
    steps = "".join(f"step {number} of the pipeline went by\n" for number in range(60))
    store.index(
        Document("kestrel run 812", f"job kestrel, run 812\n{steps}tile 7 is too large\n", content_type="output")
    )
    assert "tile 7 is too large" in store.search("kestrel run 812: which tile").hits[0].content


@pytest.mark.parametrize("query", ["how many tests are slow", "the number of slow tests"])
def test_a_question_how_many_is_answered_by_a_number_beside_its_word(store: Store, query: str) -> None:
    gap = "".join(f"event {number} at the harbour\n" for number in range(99))
    text = f"tests, slow ones first\n{gap}3 slow of 71 tests\n{gap}"
    store.index(Document("run", text, content_type="output"))
    assert "3 slow" in store.search(query).hits[0].content
    assert "3 slow" not in store.search("which tests are slow").hits[0].content


def test_a_hit_names_its_lines_in_the_source(store: Store) -> None:
    text = (
        "\n\nfirst paragraph\n\n"
        + "\n\n".join(f"paragraph {n} {'word ' * 90}" for n in range(20))
        + "\n\nlast zebra\n\n"
    )
    store.index(Document("text", text, content_type="text"))
    lines = text.split("\n")
    for query in ("first", "zebra", "7", "13"):
        for hit in store.search(query).hits:
            assert hit.content.split("\n") == lines[hit.line_start - 1 : hit.line_end]


def test_a_snippet_is_the_best_whole_lines(store: Store) -> None:
    text = "\n".join(f"line {n} has nothing of note in it at all, it only is here" for n in range(40))
    text = text.replace("line 20 has nothing", "line 20 has the walrus and nothing")
    store.index(Document("text", text, content_type="text"))
    hit = store.search("walrus").hits[0]
    assert len(hit.snippet) <= 600 < len(hit.content)
    assert "line 20 has the walrus and nothing of note in it at all, it only is here" in hit.snippet.split("\n")


@pytest.mark.parametrize(
    ("query", "layers"),
    [
        ("client", ("porter",)),
        ("renewAccessTicket access ticket", ("porter", "part")),
        ("空指针", ("cjk",)),
        ("renewacc", ("trigram",)),
        ("clietn", ("fuzzy",)),
    ],
)
def test_layers_tell_how_a_hit_was_found(library: Store, query: str, layers: tuple[str, ...]) -> None:
    assert layers in [hit.layers for hit in library.search(query).hits]


def test_no_hits_under_a_filter_say_whose_fault_that_is(store: Store) -> None:
    for number in range(3):
        store.index(Document(f"bug {number}", "the door stuck", kind="session"))
    result = store.search("bugfix", kinds=["session"])
    assert (result.hits, result.notes) == ([], ["0 of 3 sources that pass the filters hold the words"])
    store.index(Document("run", "a bugfix for the window", kind="ephemeral"))
    result = store.search("bugfix", kinds=["session"])
    assert result.notes[1] == "without the filters, sources that hold some of the words: 1 ephemeral"
    assert store.search("bugfix", sources=["nowhere"]).notes[0] == "no source passes the filters"
    assert store.search("absent").notes == []


def test_a_changed_or_missing_file_is_marked(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "conf.txt"
    file.write_text("timeout=30\n")
    with file.open("rb") as stream:
        store.index_stream(with_file(Origin("conf.txt"), file, stream.fileno()), stream)
    facts = file.stat()

    def hit() -> Hit:
        return store.search("timeout").hits[0]

    assert (hit().stale, hit().path) == ("", str(file))
    file.write_text("timeout=90\n")
    os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert (hit().stale, hit().content) == ("changed", "timeout=30")
    file.unlink()
    assert hit().stale == "missing"


def test_a_damaged_index_is_an_error_and_not_an_empty_answer(store: Store) -> None:
    for number in range(200):
        store.index(Document(str(number), f"needle {number} " + " ".join(f"w{number}x{i}" for i in range(60))))
    store.db.execute("UPDATE chunks_fts_data SET block = x'ffffffffffffffffffffffff' WHERE id > 10")
    with pytest.raises(Corrupt, match="damaged"):
        store.search("needle")


def test_a_damaged_text_is_an_error(store: Store) -> None:
    store.index(Document("a", "a needle"))
    store.db.execute("UPDATE chunks SET body = x'00112233'")
    with pytest.raises(Corrupt, match="damaged"):
        store.search("needle")


def test_nul_bytes_do_not_hide_the_rest(store: Store) -> None:
    store.index(Document("nul", "alpha " + "\x00" * 20_000 + " omega"))
    assert labels(store.search("omega")) == ["nul"]
    assert labels(store.search("alpha")) == ["nul"]


def test_the_newest_are_compared_when_every_word_is_common(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from capy_store.search import lanes

    monkeypatch.setattr(lanes, "BUDGET", 5)
    for number in range(20):
        store.index(Document(str(number), "needle"))
    result = store.search("needle")
    assert set(labels(result)) == {"15", "16", "17", "18", "19"}
    assert any("newest 5 chunks" in note for note in result.notes)


def test_signs_alone_can_be_searched(store: Store) -> None:
    store.index(Document("js", "if (a === b) return"))
    store.index(Document("py", "if a == b: return", content_type="output"))
    assert labels(store.search("===")) == ["js"]
    with pytest.raises(UsageError):  # two signs are too few to look for
        store.search("=>")


def test_output_whose_words_bear_diacritics_is_found_without_them(store: Store) -> None:
    store.index(Document("log", "Größe: 3\n" * 3 + "Müller hat gewonnen\n", content_type="output"))
    assert "Müller hat gewonnen" in store.search("muller").hits[0].content


def test_a_question_of_which_no_word_is_known_is_not_answered_by_guesses(store: Store) -> None:
    store.index(Document("run", "the transcript of a slow negotiation, in which the sensor needed calibration"))
    for query in ("throughput of scripts", "latency turtles seasons", "sensro turtles"):
        assert store.search(query).hits == []
        assert labels(store.search(query, sources=["run"])) == ["run"]  # it is meant to be in there
    assert labels(store.search("sensro calibrtaion")) == ["run"]  # guesses for all words, met together, are none
    assert labels(store.search("throughput")) == ["run"]
    assert labels(store.search("ranscrip")) == ["run"]


def test_guesses_for_all_words_must_meet_in_one_text(store: Store) -> None:
    for label, text in (
        ("mill", "the kernel of the grain"),
        ("plan", "a shift of the crates"),
        ("both", "crates, kernel"),
    ):
        store.index(Document(label, text))
    best, *rest = labels(store.search("kennel cratse"))
    assert (best, sorted(rest)) == ("both", ["mill", "plan"])
    store.delete("both")
    assert store.search("kennel cratse").hits == []


@pytest.fixture
def counting(store: Store) -> Store:
    """60 texts of which 12 hold the word `many`, 1 the word `otter`."""
    for number in range(60):
        text = "many boats" if number < 12 else "the otter slept" if number == 20 else f"harbour {number}, ledger"
        store.index(Document(str(number), text))
    return store


@pytest.mark.parametrize("query", ["how many zebras were vaccinated", "many ottres vaccinated"])
def test_a_common_word_alone_does_not_answer_a_question(counting: Store, query: str) -> None:
    result = counting.search(query)
    assert result.hits == []
    assert result.notes == ["of the query's words only 'many' is here, in 12 chunks: search it alone to see them"]


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("many", 10),
        ("did the otter get vaccinated against rabies", 1),  # one word, but a telling one
        ("how many boats were vaccinated", 10),  # two words
        ("many boast zebras", 10),  # one of them guessed, in the same text
    ],
)
def test_a_telling_word_or_two_words_answer_a_question(counting: Store, query: str, count: int) -> None:
    assert len(counting.search(query).hits) == count


def test_a_pair_of_characters_alone_does_not_answer_a_question(store: Store) -> None:
    store.index(Document("note", "資料を送り、やり直します"))
    assert store.search("猫の餌やり").hits == []
    assert labels(store.search("やり直す")) == ["note"]


def test_a_word_of_one_letter_is_no_beginning(store: Store) -> None:
    store.index(Document("fr", "about an apple"))
    assert store.search("à").hits == []
    store.index(Document("fr", "à table"))
    assert labels(store.search("à")) == ["fr"]


def test_an_index_that_reads_as_empty_is_damaged(store: Store) -> None:
    """SQLite before 3.52 takes overwritten blocks for empty ones; an index without rows stands for that here."""
    store.index(Document("a", "the lighthouse answered\n"))
    assert store.search("harbour").hits == []
    store.db.execute("INSERT INTO chunks_fts(chunks_fts) VALUES('delete-all')")
    with pytest.raises(Corrupt, match="damaged"):
        store.search("harbour")
