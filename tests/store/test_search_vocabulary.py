"""Typing errors are taken for the word that was meant, and real words for themselves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from capy_core.keys import Key
from capy_core.porter import stem
from capy_store.documents import Document
from capy_store.search.vocabulary import nearest, spelled
from capy_store.store import Store

KEY = Key("x'" + "5a" * 32 + "'")
TEXT = """authentication of the client failed with an error; the database lost its connection
middleware access policies in Kubernetes, JSON and cache settings, a show of wisdom, an overwhelming negative result
particular receivers met in overheated session rooms of a process, each a permutation"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open(tmp_path_factory.mktemp("kb") / "kb.db", KEY) as store:
        store.index(Document("text", TEXT))
        yield store


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("authentcation", "authentication"),
        ("errro", "error"),
        ("databse", "database"),
        ("conection", "connection"),
        ("midleware", "middleware"),
        ("kuberentes", "kubernetes"),
        ("josn", "json"),
        ("accses", "access"),
        ("polcies", "policies"),
        ("cahce", "cache"),
        ("uathentication", "authentication"),  # swapped first letters
        ("eatabase", "database"),  # another first letter
        ("ddatabase", "database"),
        ("dtaabase", "database"),
        ("authnetcation", "authentication"),  # two edits in a long word
        ("permutaion", "permutation"),  # its ending is none, so it is no stem of four letters less
    ],
)
def test_a_mistyped_word_is_corrected(store: Store, wrong: str, meant: str) -> None:
    result = store.search(wrong)
    assert result.corrected == {wrong: meant}
    assert result.hits[0].layers == ("fuzzy",)


@pytest.mark.parametrize(
    "word",
    [
        "shop",  # show: in four letters another letter is another word
        "wish",
        "helm",  # inside "overwhelming", by chance
        "receipt",  # stems lie nearer than words: "receiver"
        "season",  # two edits in a short word: "session"
        "positive",
        "cat",
        "k8s2",
        "h4sh",
    ],
)
def test_a_word_that_is_not_there_is_not_forced_on_another(store: Store, word: str) -> None:
    result = store.search(word)
    assert (result.hits, result.corrected) == ([], {})


def test_known_words_are_never_corrected(store: Store) -> None:
    result = store.search("the errro in the database")
    assert result.corrected == {"errro": "error"}


def test_a_word_is_compared_beside_its_stem(store: Store) -> None:
    """`acces` loses its s in the stem, and `acce` is two edits away from `access`."""
    assert [guess.word for guess in nearest(store.db, "acces", lenient=False)] == ["access"]


def test_a_readonly_store_corrects_too(store: Store) -> None:
    with Store.open(store.path, KEY, create=False, readonly=True) as readonly:
        assert readonly.search("databse").corrected == {"databse": "database"}
        assert readonly.db.execute("PRAGMA query_only").fetchone() == (1,)


def test_a_word_of_another_source_is_no_typing_error(store: Store) -> None:
    store.index(Document("other", "databases and datasets"))
    result = store.search("datasets", sources=["text"])
    assert (result.hits, result.corrected) == ([], {})
    store.delete("other")


@pytest.mark.parametrize(
    "word", ["database", "policy", "running", "generation", "easily", "process", "cries", "analog"]
)
def test_spelled_gives_a_word_of_that_stem(word: str) -> None:
    assert stem(spelled(stem(word))) == stem(word)
