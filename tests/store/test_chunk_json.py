from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from capy_store.chunk.json import Json
from capy_store.documents import Chunk


def chunks(text: str) -> list[Chunk]:
    found = list(Json("doc").feed(text))
    assert "".join(chunk.body for chunk in found) == text
    return found


def titles(value: Any, indent: int | None = 1) -> list[str]:
    return [chunk.title for chunk in chunks(json.dumps(value, indent=indent))]


LONG = "some words " * 100

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=60),
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=9) | st.just("name"), inner, max_size=5)
    ),
    max_leaves=40,
)


@given(value=_VALUES, indent=st.sampled_from([None, 0, 2]), ascii_only=st.booleans())
@settings(max_examples=200, deadline=None)
def test_any_json_is_cut_without_loss(value: Any, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps([value, LONG, value], indent=indent, ensure_ascii=ascii_only)
    assert all(len(chunk.body) <= 4000 for chunk in chunks(text))


@given(st.text(alphabet='{}[]",:\\ \nab1', max_size=300))
@settings(max_examples=200, deadline=None)
def test_broken_json_is_cut_without_loss(text: str) -> None:
    chunks(text * 20)


def test_a_small_document_is_one_chunk() -> None:
    assert chunks('{"a": 1}\n') == [Chunk("doc", '{"a": 1}\n', 1, 1, True)]
    assert chunks("") == []


def test_items_of_an_array_are_named() -> None:
    value = {"items": [{"id": n, "name": f"web-{n}", "env": LONG} for n in range(4)]}
    assert titles(value)[1:] == ["items[1] web-1", "items[2] web-2", "items[3] web-3"]


def test_several_small_items_share_a_chunk() -> None:
    value = [{"title": f"t{n}", "text": "x" * 300} for n in range(30)]
    assert titles(value)[1] == "[5-9] t5, t6, t7, t8, …"


def test_the_path_leads_into_an_item_that_is_cut() -> None:
    value = {"items": [{"name": "web", "env": [{"name": f"V{n}", "value": "x" * 100} for n in range(60)]}]}
    assert titles(value)[1].startswith("items[0] web > env[")


def test_a_resource_is_named_by_its_metadata() -> None:
    value = {"items": [{"metadata": {"name": f"pod-{n}"}, "spec": LONG} for n in range(3)]}
    assert "items[1] pod-1" in titles(value)


def test_members_of_an_object_are_named_by_their_keys() -> None:
    value = {"paths": {f"/users/{n}": {"get": "x" * 800} for n in range(6)}}
    assert titles(value)[1] == "paths > /users/2, /users/3"


def test_scalar_siblings_stay_together() -> None:
    text = json.dumps({f"key{n}": n for n in range(20)}, indent=1)
    assert len(chunks(text)) == 1


def test_items_are_not_torn_while_they_fit() -> None:
    text = json.dumps([{"name": f"n{n}", "text": "x" * (300 + 97 * n % 800)} for n in range(40)], indent=1)
    for chunk in chunks(text)[1:-1]:
        assert chunk.body.startswith(" {\n") and chunk.body.endswith(" },\n")


def test_minified_text_is_cut_between_items_too() -> None:
    text = json.dumps([{"name": f"n{n}", "text": "x" * 500} for n in range(40)])
    assert all(chunk.body.startswith('{"name"') for chunk in chunks(text)[1:])


def test_ten_thousand_levels_do_not_recurse() -> None:
    for text in ("[" * 10_000 + "]" * 10_000, '{"a":' * 10_000 + "1" + "}" * 10_000, "[" * 10_000):
        assert all(len(chunk.title) <= 260 for chunk in chunks(text))


def test_more_levels_than_are_kept_account_of_close_again() -> None:
    inner = "[" * 30_000 + "]" * 30_000
    found = chunks(f'{{"deep": {inner}, "after": {{"name": "web", "text": "{LONG * 3}"}}}}')
    assert found[-1].title.startswith("after")


def test_a_huge_string_is_cut_at_blanks_and_numbered() -> None:
    found = chunks('{"log": "' + LONG * 20 + '", "next": {"x": 1}}')
    assert len(found) > 10
    assert [chunk.title for chunk in found[:3]] == ["doc", "doc (2)", "doc (3)"]


def test_braces_and_quotes_inside_strings_are_text() -> None:
    value = [{"name": "a]}{", "text": '"},{"' * 100}, {"name": "b", "text": LONG * 2}]
    assert titles(value, None)[-1].startswith("[1] b")


def test_lines_of_records_are_cut_between_them() -> None:
    text = "".join(json.dumps({"name": f"r{n}", "text": "x" * 400}) + "\n" for n in range(30))
    found = chunks(text)
    assert all(chunk.body.startswith('{"name"') and chunk.body.endswith("}\n") for chunk in found)
    assert found[1].title == "doc > r4, r5, r6, r7"
    assert (found[1].line_start, found[1].line_end) == (5, 8)


def test_numbers_and_names_are_shown_as_they_stand() -> None:
    value = [{"id": 1234567890123, "text": LONG * 2}, {"name": 'caf\u00e9 "x"', "text": LONG * 2}]
    shown = titles(value)
    assert any("1234567890123" in title for title in shown)
    assert any('café "x"' in title for title in shown)


def test_a_string_that_goes_on_in_the_next_block_is_not_read_as_structure() -> None:
    chunker = Json("doc")
    first, rest = (
        '[{"name": "a", "text": "' + "x, " * 900,
        "]}, {" * 300 + '"}, {"name": "b", "more": [' + "1, " * 900 + "]}]",
    )
    found = [*chunker.feed(first), *chunker.feed(rest)]
    assert "".join(chunk.body for chunk in found) == first + rest
    assert found[-1].title.startswith("[1] b > more")
