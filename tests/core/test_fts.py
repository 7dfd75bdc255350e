"""Text for FTS5: what is indexed and what is asked must meet."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capy_core.fts import blank_cjk, cjk_bigrams, identifier_parts, query_bigrams, quoted


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("function renewAccessTicket() {}", "renew access ticket"),
        ("def safe_load_yaml(path): # safe_load_yaml", "safe load yaml"),
        ("XMLHttpRequest", "xml http request"),
        ("parseHTTP2Header", "parse http2 header"),
        ("MAX_VALUE", "max value"),
        ("__init_subclass__", "init subclass"),
        ("userIDs", "user ids"),
        ("Hello plain words, k8s.io/api", ""),
        ("ERROR FAILED IDs", ""),
        ("x" * 40 + "Y" + "z" * 40, ""),
    ],
)
def test_identifier_parts(text: str, parts: str) -> None:
    assert identifier_parts(text) == parts


def test_bigrams_end_with_the_last_character_so_that_one_character_is_a_prefix() -> None:
    assert cjk_bigrams("空指针 x 本") == "空指 指针 针 本"
    assert query_bigrams("空指针 x 本 空指") == ["空指", "指针", "本"]


def test_ascii_text_has_no_bigrams_and_is_not_copied() -> None:
    text = "plain text"
    assert cjk_bigrams(text) == "" and query_bigrams(text) == [] and blank_cjk(text) is text


def test_an_ascii_name_inside_unspaced_text_becomes_a_word() -> None:
    assert blank_cjk("修复sync-cfgd后") == " sync-cfgd "


def test_compatibility_forms_are_folded() -> None:
    assert blank_cjk("conﬁg Ａ１") == "config A1"
    assert cjk_bigrams("ｶﾞ") == cjk_bigrams("ガ")


@pytest.mark.parametrize("word", ["กิน", "ที่นี่", "ເຂົ້າ", "မြန်မာ", "ភាសា", "空指针", "買い", "한국어"])
def test_sqlite_keeps_every_pair_as_one_token(word: str) -> None:
    """Combining marks would otherwise be dropped by unicode61, and different words would look alike."""
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE t USING fts5(cjk, tokenize='porter unicode61 remove_diacritics 2')")
    db.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, row)")
    db.execute("INSERT INTO t VALUES(?)", (cjk_bigrams(word),))
    assert {term for (term,) in db.execute("SELECT term FROM v")} == set(cjk_bigrams(word).split())
    for pair in query_bigrams(word):
        assert db.execute("SELECT count(*) FROM t WHERE t MATCH ?", (quoted(pair),)).fetchone() == (1,)
    db.close()


@given(st.text(max_size=200))
def test_any_quoted_text_is_a_legal_query(text: str) -> None:
    db = sqlite3.connect(":memory:")
    try:
        db.execute("CREATE VIRTUAL TABLE t USING fts5(body)")
        db.execute(
            "SELECT rowid FROM t WHERE t MATCH ?", (quoted(text).encode("utf-8", "replace").decode(),)
        ).fetchall()
    finally:
        db.close()


@given(st.text())
def test_no_text_breaks_the_columns(text: str) -> None:
    assert all(pair in cjk_bigrams(text).split(" ") for pair in query_bigrams(text))
    assert query_bigrams(blank_cjk(text)) == []
    identifier_parts(text)
