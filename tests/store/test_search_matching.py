"""Where a word stands in a text agrees with what the index finds."""

from __future__ import annotations

import re
import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capy_store.search.matching import Form, lowered


def places(form: Form, text: str) -> list[str]:
    low = lowered(text)
    return [text[start:end] for start, end in form.places(text, low, 99)]


@pytest.mark.parametrize(
    ("word", "text", "found"),
    [
        ("schedule", "Scheduling a scheduled schedule, reschedule", ["Scheduling", "scheduled", "schedule"]),
        ("hoping", "hope, hoped, hop", ["hope", "hoped"]),
        ("policy", "policies and police", ["policies"]),
        ("access", "renewAccessTicket, access_log, inaccessible", ["Access", "access"]),
        ("test", "latest contest test", ["test"]),
        ("cafe", "Cafe", ["Cafe"]),
        ("try", "tries try trying tram", ["try", "trying"]),
        ("417", "OPS-417, 4170", ["417"]),
    ],
)
def test_a_word_is_met_in_all_its_forms(word: str, text: str, found: list[str]) -> None:
    assert places(Form(word), text) == found


def test_a_phrase_is_met_verbatim_from_the_start_of_a_word() -> None:
    assert places(Form("src/main.py"), "in src/main.py, not mysrc/main.py") == ["src/main.py"]
    assert places(Form("c++"), "the C++ client") == ["C++"]
    assert places(Form("--flag"), "use--flag") == ["--flag"]


def test_anywhere_means_inside_words_too() -> None:
    assert places(Form("newacc", anywhere=True), "renewAccessTicket") == ["newAcc"]
    assert places(Form("指针", anywhere=True), "三十个空指针已清除") == ["指针"]


def test_places_stay_true_where_lower_case_is_longer() -> None:
    text = "İstanbul and İzmir: find me"
    assert len(lowered(text)) == len(text)
    assert places(Form("find"), text) == ["find"]


@given(st.text(alphabet="abcdeginrstuy _-.", max_size=60), st.from_regex(r"[a-e]{3,5}(ing|ed|s|e|y)?", fullmatch=True))
def test_words_are_met_exactly_where_sqlite_finds_them(text: str, word: str) -> None:
    db = sqlite3.connect(":memory:")
    try:
        db.execute("CREATE VIRTUAL TABLE t USING fts5(body, tokenize='porter unicode61 remove_diacritics 2')")
        db.execute("INSERT INTO t VALUES(?)", (f"{text} {word}ing",))
        marked = db.execute("SELECT highlight(t, 0, '<', '>') FROM t WHERE t MATCH ?", (f'"{word}"',)).fetchone()
    finally:
        db.close()
    expected = re.findall("<(.*?)>", marked[0]) if marked else []
    assert places(Form(word), f"{text} {word}ing") == [word for run in expected for word in run.split()]


@pytest.mark.parametrize(
    ("word", "text"), [("cafe", "Café"), ("café", "CAFE"), ("größe", "Größe"), ("ελληνικά", "Ελληνικα")]
)
def test_diacritics_make_no_difference(word: str, text: str) -> None:
    assert places(Form(word), f"the {text} is") == [text]
