"""Reading fixtures: what is whole is read, what is wrong is named by file, line, id and field."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from capy_bench.fixtures import LONGEST_LINE, load
from capy_core.errors import BadInput, NotFound

from .conftest import LIGHTS, SMALL, Record, Write, case, entry


def problems(folder: Path) -> list[str]:
    with pytest.raises(BadInput) as caught:
        load(folder=folder)
    found: list[str] = caught.value.details["problems"]
    assert caught.value.message.startswith(found[0])
    return found


def test_entries_come_with_their_cases_in_order(small: Path) -> None:
    dataset = load(folder=small)
    assert [haystack.id for haystack in dataset.haystacks] == ["lights", "bread", "log"]
    first = dataset.haystacks[0]
    assert (first.text, first.label, first.kind) == (LIGHTS, "lights.txt", "durable")
    assert [(one.id, one.layer, one.ceiling, one.is_negative) for one in first.cases] == [
        ("lights_q1", "porter", 1, False),
        ("lights_q2", "fuzzy", 0, False),
        ("lights_neg1", "", 0, True),
    ]
    assert dataset.record() == {"name": "fixtures", "split": "", "hash": dataset.hash, "cases": 6}
    assert dataset.doubts == ()


def test_the_hash_covers_every_byte_and_every_name(small: Path) -> None:
    hashes = [load(folder=small).hash]
    path = small / "markdown.jsonl"
    path.write_bytes(path.read_bytes() + b"\n")
    hashes.append(load(folder=small).hash)
    path.write_bytes(path.read_bytes().replace(b"Colza", b"Rapes"))
    hashes.append(load(folder=small).hash)
    (small / "plaintext.jsonl").unlink()
    hashes.append(load(folder=small).hash)
    assert all(value.startswith("sha256:") for value in hashes)
    assert len(set(hashes)) == 4


def test_splits_are_read_apart_and_together(tmp_path: Path) -> None:
    for split, words in (("dev", "kept for tuning"), ("test", "kept for judging")):
        (tmp_path / split).mkdir()
        line = entry(split, "curated", words, case(f"{split}_q1", f"what is {words}", words))
        (tmp_path / split / "curated.jsonl").write_text(json.dumps(line))
    assert [one.id for one in load("dev", folder=tmp_path).haystacks] == ["dev"]
    assert [one.id for one in load("test", folder=tmp_path).haystacks] == ["test"]
    assert [one.id for one in load("all", folder=tmp_path).haystacks] == ["dev", "test"]
    assert len({load(split, folder=tmp_path).hash for split in ("dev", "test", "all")}) == 3


def test_only_the_types_that_are_asked_for(small: Path) -> None:
    dataset = load(folder=small, types=("plaintext",))
    assert [haystack.id for haystack in dataset.haystacks] == ["log"]
    assert dataset.hash != load(folder=small).hash


def test_a_part_of_a_dataset_is_another_dataset(small: Path) -> None:
    dataset = load(folder=small)
    part = dataset.first(1)
    assert [haystack.id for haystack in part.haystacks] == ["lights", "log"]
    assert part.hash != dataset.hash


def test_a_folder_without_fixtures_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no fixtures"):
        load(folder=tmp_path)
    with pytest.raises(NotFound):
        load(folder=tmp_path / "missing")


def test_fields_that_may_be_left_out_get_a_default(write: Write) -> None:
    line = entry("a", "code", "def parse(): ...", case("a_q1", "parse", "def parse"))
    del line["origin"]
    (haystack,) = load(folder=write({"code": [line]})).haystacks
    assert (haystack.origin, haystack.cases[0].layer, haystack.cases[0].traits) == ("written", "", ())


@pytest.mark.parametrize(
    ("place", "field", "value", "reason"),
    [
        ("entry", "haystack", " \n", "haystack: is blank"),
        ("entry", "haystack", 7, "haystack: is not a text"),
        ("entry", "content_type", "json", "content_type: 'json' is not \"markdown\""),
        ("entry", "source_kind", "forever", "source_kind: 'forever' is not"),
        ("entry", "origin", "found", "origin: 'found' is not"),
        ("entry", "cases", [], "cases: there is none"),
        ("entry", "haystak", "x", "haystak: no such field"),
        ("entry", "source_label", None, "source_label: is missing"),
        ("case", "query", "", "query: is blank"),
        ("case", "needles", ["not in it"], "needles: 'not in it' is not in the haystack"),
        ("case", "needles", [""], "needles: '' is no text"),
        ("case", "needles", [3], "needles: 3 is no text"),
        ("case", "needles", ["Colza", "Colza"], "needles: one is given twice"),
        ("case", "needles", [], "needles: there is none, but a layer or a rank is expected"),
        ("case", "needles", "Colza", "needles: is not a list"),
        ("case", "expected_layer", "dense", "expected_layer: 'dense' is not"),
        ("case", "expected_rank_ceiling", -1, "expected_rank_ceiling: is below 0"),
        ("case", "expected_rank_ceiling", True, "expected_rank_ceiling: is not a whole number"),
        ("case", "traits", ["easy"], "traits: 'easy' is not"),
    ],
)
def test_what_is_wrong_is_named_by_file_line_id_and_field(
    write: Write, place: str, field: str, value: Any, reason: str
) -> None:
    entries = deepcopy(SMALL["markdown"][::-1])  # the entry in question is on line 2
    target: Record = entries[1] if place == "entry" else entries[1]["cases"][0]
    if value is None:
        del target[field]
    else:
        target[field] = value
    where = "lights" if place == "entry" else "lights: lights_q1"
    assert problems(write({"markdown": entries}))[0].startswith(f"markdown.jsonl:2: {where}: {reason}")


def test_all_that_is_wrong_is_told_at_once(write: Write) -> None:
    entries = deepcopy(SMALL["markdown"])
    entries[0]["source_kind"] = "x"
    entries[1]["cases"][0]["query"] = " "
    assert len(problems(write({"markdown": entries}))) == 2


@pytest.mark.parametrize("field", ["id", "source_label", "case_id"])
def test_names_are_unique(write: Write, field: str) -> None:
    entries = deepcopy(SMALL["markdown"])
    if field == "case_id":
        entries[1]["cases"][0][field] = "lights_q1"
    else:
        entries[1][field] = entries[0][field]
    assert f"{field}: " in problems(write({"markdown": entries}))[0]


@pytest.mark.parametrize(("line", "reason"), [("{", "not JSON"), ("[1]", "not an object"), ("", "is empty")])
def test_lines_that_are_no_entries(tmp_path: Path, line: str, reason: str) -> None:
    (tmp_path / "json.jsonl").write_text(line + "\n")
    assert reason in problems(tmp_path)[0]


def test_a_line_may_be_as_long_as_a_mebibyte(write: Write) -> None:
    needle = "the one line that matters"
    line = entry("big", "plaintext", "", case("big_q1", "what matters", needle))
    room = LONGEST_LINE - len(json.dumps(line)) - len(needle)
    line["haystack"] = needle + "x" * room
    assert len(load(folder=write({"plaintext": [line]})).haystacks) == 1
    line["haystack"] += "x"
    assert problems(write({"plaintext": [line]})) == ["plaintext.jsonl:1: the line is longer than 1,048,576 bytes"]


def test_doubtful_questions_are_told(write: Write) -> None:
    entries = deepcopy(SMALL["markdown"])
    entries[1]["haystack"] += "The keeper winds the clockwork.\n"
    entries[1]["cases"].append(case("bread_q2", " Who winds THE clockwork", "Proving takes"))
    entries[1]["cases"].append(case("bread_q3", "bread.txt", "eleven hours"))
    assert load(folder=write({"markdown": entries})).doubts == (
        "a needle of lights_q1 is also in bread: 'keeper winds'",
        "bread_q2 asks what lights_q1 asks",
        "bread_q3 asks with the label of its text",
    )
