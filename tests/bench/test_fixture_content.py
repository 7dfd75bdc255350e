"""The fixtures of the benches as questions: answers stand in one place, negatives have none, nothing is private."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from rapidfuzz import process
from rapidfuzz.distance import OSA

from capy_core.porter import stem

FOLDER = Path(__file__).parents[2] / "packages/capy-bench/src/capy_bench/fixtures"
TYPES = {"markdown", "json", "plaintext", "transcript", "curated", "code", "cjk"}
SPLITS = ("dev", "test")
LAYERS = {"porter", "part", "cjk", "trigram", "fuzzy", ""}
TRAITS = {"typo", "identifier", "paraphrase", "near_duplicate", "exact", "multi_needle", "long_input"}
LEAST_SHARE = {"typo": 0.1, "identifier": 0.2, "paraphrase": 0.2, "near_duplicate": 0.06, "multi_needle": 0.06}
LONGEST_LINE = 1 << 20

# what a question is made of whatever it is about; all other words of a negative must be absent
_FUNCTION_WORDS = (
    "a about after again all am an and any are as at be because been before being between both but by can could "
    "did do does doing during each few for from get gets got had has have having he her here him his how i if in "
    "into is it its just long many may me might more most much must my no nor not of off on once one only onto or "
    "other our out over own same shall she should so some such than that the their them then there these they "
    "this those through to too two under until up us use used using very was we were what when where which while "
    "who whom whose why will with would you your "
)
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
_WORD = re.compile(r"[^\W_]+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff]+")

_ADDRESS = re.compile(r"[\w.+-]+@((?:[A-Za-z][\w-]*\.)+[A-Za-z]{2,})")
_OWN_DOMAINS = ("example.org", "example.com", ".test")
_REGISTRY = re.compile(
    r"\b(?:pypi|pythonhosted|npmjs|yarnpkg|crates|rubygems|packagist|maven|goproxy|nuget)\.(?:org|com|io|dev|net)\b"
)
_HOME = re.compile(r"(?<![\w.])/(?:home|Users|root)/\w|\b[A-Z]:\\+Users\\+\w")


@cache
def rows(split: str) -> tuple[dict[str, Any], ...]:
    return tuple(
        json.loads(line)
        for path in sorted((FOLDER / split).glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    )


@cache
def cases(split: str) -> tuple[tuple[dict[str, Any], dict[str, Any]], ...]:
    return tuple((row, case) for row in rows(split) for case in row["cases"])


def words(text: str) -> set[str]:
    """Lower-case words, and the parts of those in camel case."""
    whole = set(_WORD.findall(text))
    return {word.lower() for word in whole} | {part.lower() for word in whole for part in _PART.findall(word)}


@cache
def written(split: str) -> frozenset[str]:
    return frozenset[str]().union(*(words(row["haystack"]) for row in rows(split)))


@cache
def vocabulary(split: str) -> frozenset[str]:
    return written(split) | {stem(word) for word in written(split)}


def bigrams(text: str) -> set[str]:
    return {run[i : i + 2] for run in _CJK.findall(text) for i in range(len(run) - 1)}


def unknown(query: str, split: str) -> set[str]:
    return {word for word in words(query) if word not in vocabulary(split) and stem(word) not in vocabulary(split)}


@pytest.mark.parametrize("split", SPLITS)
def test_each_line_is_an_entry_of_its_files_type(split: str) -> None:
    paths = list((FOLDER / split).glob("*.jsonl"))
    assert {path.stem for path in paths} == TYPES
    for path in paths:
        for line in path.read_bytes().splitlines():
            row = json.loads(line)
            assert len(line) <= LONGEST_LINE
            assert set(row) == {
                *("id", "content_type", "haystack", "source_label", "source_kind", "origin", "cases")
            }, row["id"]
            assert row["content_type"] == path.stem
            assert row["source_kind"] in ("durable", "ephemeral", "session")
            assert row["origin"] in ("written", "output")
            assert row["haystack"].strip() and row["source_label"] and row["cases"], row["id"]


@pytest.mark.parametrize("split", SPLITS)
def test_each_case_is_complete_and_named_after_its_entry(split: str) -> None:
    for row, case in cases(split):
        name = case["case_id"]
        assert set(case) == {*("case_id", "query", "needles", "expected_layer", "expected_rank_ceiling", "traits")}, (
            name
        )
        assert re.fullmatch(re.escape(row["id"]) + (r"_q\d+" if case["needles"] else r"_neg\d+"), name), name
        assert case["query"].strip() == case["query"] != "", name
        assert case["expected_layer"] in LAYERS and set(case["traits"]) <= TRAITS, name
        assert case["expected_rank_ceiling"] in ((0, 1, 3, 5, 10) if case["needles"] else (0,)), name


def test_ids_labels_and_questions_occur_once() -> None:
    ids = Counter(row["id"] for split in SPLITS for row in rows(split))
    names = Counter(case["case_id"] for split in SPLITS for _, case in cases(split))
    texts = Counter(row["haystack"] for split in SPLITS for row in rows(split))
    for counter in (ids, names, texts):
        assert [key for key, count in counter.items() if count > 1] == []
    for split in SPLITS:
        assert [q for q, n in Counter(case["query"] for _, case in cases(split)).items() if n > 1] == []
        assert [x for x, n in Counter(row["source_label"] for row in rows(split)).items() if n > 1] == []


@pytest.mark.parametrize("split", SPLITS)
def test_a_needle_stands_in_its_haystack_and_nowhere_else(split: str) -> None:
    everything = "\0".join(row["haystack"] for row in rows(split))
    for row, case in cases(split):
        for needle in case["needles"]:
            assert needle in row["haystack"], case["case_id"]
            assert everything.count(needle) == 1, (case["case_id"], needle)
            assert needle.lower() not in case["query"].lower(), case["case_id"]


@pytest.mark.parametrize("split", SPLITS)
def test_no_word_of_a_negative_occurs(split: str) -> None:
    pairs = set[str]().union(*(bigrams(row["haystack"]) for row in rows(split)))
    for _, case in cases(split):
        if not case["needles"]:
            content = {word for word in words(case["query"]) if word not in FUNCTION_WORDS and not _CJK.search(word)}
            assert content - unknown(case["query"], split) == set(), case["case_id"]
            assert bigrams(case["query"]) & pairs == set(), case["case_id"]


@pytest.mark.parametrize("split", SPLITS)
def test_traps_for_typing_errors_are_near_a_word_that_occurs(split: str) -> None:
    known = [word for word in written(split) if len(word) > 3]
    for _, case in cases(split):
        if not case["needles"] and "typo" in case["traits"]:
            content = [word for word in words(case["query"]) - FUNCTION_WORDS if len(word) > 3]
            near = [word for word in content if process.extractOne(word, known, scorer=OSA.distance, score_cutoff=2)]
            assert near, case["case_id"]


@pytest.mark.parametrize("split", SPLITS)
def test_a_typing_error_is_no_word_of_the_split(split: str) -> None:
    for _, case in cases(split):
        if case["needles"] and "typo" in case["traits"]:
            assert words(case["query"]) - written(split), case["case_id"]
        if case["expected_layer"] == "fuzzy":  # no stemmer helps
            assert unknown(case["query"], split), case["case_id"]


@pytest.mark.parametrize("split", SPLITS)
def test_there_are_enough_questions_of_each_sort(split: str) -> None:
    asked = [(row, case) for row, case in cases(split) if case["needles"]]
    assert len(asked) >= 450
    assert len(cases(split)) - len(asked) >= 75
    for kind in TYPES:
        assert sum(row["content_type"] == kind for row, _ in asked) >= 25, kind
    for trait, least in LEAST_SHARE.items():
        assert sum(trait in case["traits"] for _, case in asked) / len(asked) >= least, trait


def test_who_asks_for_several_needles_names_several() -> None:
    several = [case for split in SPLITS for _, case in cases(split) if "multi_needle" in case["traits"]]
    assert [case["case_id"] for case in several if len(case["needles"]) < 2] == []


def test_there_are_long_haystacks_to_reduce() -> None:
    for split in SPLITS:
        sizes = [len(row["haystack"].encode()) for row in rows(split)]
        assert sum(size >= 5_000 for size in sizes) >= 15


@pytest.mark.parametrize("split", SPLITS)
def test_nothing_private_is_in_a_fixture(split: str) -> None:
    for row, text in ((row, json.dumps(row, ensure_ascii=False)) for row in rows(split)):
        foreign = [m[0] for m in _ADDRESS.finditer(text) if not m[1].endswith(_OWN_DOMAINS)]
        assert foreign == [], row["id"]
        assert _REGISTRY.findall(text) == [], row["id"]
        assert _HOME.findall(text) == [], row["id"]
