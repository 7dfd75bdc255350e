"""The stemmer agrees with SQLite's, word for word."""

from __future__ import annotations

import sqlite3

from hypothesis import given, settings
from hypothesis import strategies as st

from capy_core.porter import _STEP2, _STEP3, _STEP4, stem

ENDINGS = [
    *(suffix for suffix, _ in (*_STEP2, *_STEP3)), *_STEP4,
    "", "s", "ss", "sses", "ies", "y", "e", "ll", "ed", "eed", "ing", "ated", "bling", "izing", "pping", "tied",
]  # fmt: skip


def sqlite_stem(word: str) -> str:
    db = sqlite3.connect(":memory:")
    try:
        db.execute("CREATE VIRTUAL TABLE t USING fts5(body, tokenize='porter unicode61 remove_diacritics 2')")
        db.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, row)")
        db.execute("INSERT INTO t VALUES(?)", (word,))
        return str(db.execute("SELECT term FROM v").fetchone()[0])
    finally:
        db.close()


@settings(max_examples=300)
@given(st.from_regex(r"[a-z]{1,6}[0-9]?", fullmatch=True), st.sampled_from(ENDINGS), st.sampled_from(ENDINGS))
def test_a_stem_is_the_stem_of_sqlite(root: str, ending: str, another: str) -> None:
    word = root + ending + another
    assert stem(word) == sqlite_stem(word)


def test_forms_of_a_word_share_a_stem() -> None:
    assert {stem(word) for word in ("schedule", "schedules", "scheduled", "scheduling")} == {"schedul"}
    assert stem("policy") == stem("policies") == "polici"
    assert stem("eed") == sqlite_stem("eed")


def test_very_short_and_very_long_words_stay() -> None:
    assert stem("as") == "as"
    assert stem("x" * 60 + "nesses") == sqlite_stem("x" * 60 + "nesses")
