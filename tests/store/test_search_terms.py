"""What a question is taken to look for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capy_store.search.terms import MAX_WORDS, parse
from capy_store.search.words import STOP_WORDS, _table, synonyms


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("the error in the code", ("error", "code")),
        ("and the for", ("and", "the", "for")),  # nothing else is left
        ('"error:" [test] (hello)', ("error", "test", "hello")),
        ("hello ... world", ("hello", "world")),
        ("don't use agents", ("use", "agents")),
        ("test tests testing", ("test",)),
        ("修复sync-cfgd后", ("sync", "cfgd")),
        ("Ａ１ conﬁg", ("a1", "config")),
        ("AND OR NOT NEAR", ("near",)),
    ],
)
def test_the_words_of_a_question(text: str, words: tuple[str, ...]) -> None:
    assert parse(text).words == words


@pytest.mark.parametrize("text", ["", "   ", "\t", '"', '""', '"' * 5000, "...", "()[]{}"])
def test_a_question_without_letters_or_signs_is_blank(text: str) -> None:
    assert parse(text).is_blank


@pytest.mark.parametrize(
    ("text", "literals"),
    [
        ("OPS-417 fails", ("ops-417",)),
        ("on k8s.io/api in src/main.py under 12.5", ("k8s.io/api", "src/main.py", "12.5")),
        ("the C++ client", ("c++",)),
        ("safe_load_yaml()", ("safe_load_yaml",)),
        ('where is "connection  reset" told', ("connection reset",)),
        ("===", ("===",)),
        ("high-speed flow, don't", ()),  # ordinary English
        ("a -- b", ()),
    ],
)
def test_what_should_be_met_verbatim(text: str, literals: tuple[str, ...]) -> None:
    assert parse(text).literals == literals


def test_the_words_inside_a_name_help_to_find_it() -> None:
    query = parse("renewAccessTicket")
    assert query.words == ("renewaccessticket",)
    assert query.parts == ("renew", "access", "ticket")


def test_capitalised_words_inside_a_question_are_names() -> None:
    assert parse("What did Caroline research about Python?").names == {"caroline", "python"}


def test_a_question_can_be_about_a_failure() -> None:
    assert parse("which test failed").about_failure
    assert parse("why did the build break").about_failure
    assert not parse("which test is the slowest").about_failure


def test_a_long_question_says_that_it_was_cut() -> None:
    many = parse(" ".join(f"word{i}" for i in range(20_000)))
    assert many.cut and len(many.words) == MAX_WORDS
    one = parse("x" * 100_000)
    assert one.cut and one.words == () and not one.is_blank
    assert parse("数据库" * 100).cut is False
    assert not parse(" ".join(["same"] * 500)).cut


@given(st.text(max_size=500))
def test_any_text_can_be_taken_apart(text: str) -> None:
    query = parse(text)
    assert query.text == text
    assert all(word == word.lower() and " " not in word for word in query.words)


def test_no_synonym_is_a_stop_word_and_none_stands_for_itself() -> None:
    for stem_, others in _table().items():
        assert stem_ not in others
        assert not STOP_WORDS & others.keys(), others
        assert all(0 < weight < 1 for weight in others.values())


def test_synonyms_count_less_the_looser_they_are() -> None:
    assert synonyms("auth")["authentication"] > synonyms("slow")["latency"]
    assert synonyms("databases") == synonyms("database")
    assert "auth" in synonyms("authentication")
    assert synonyms("lighthouse") == {}
