from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capy_core import records
from capy_core.errors import BadInput

any_text = st.text(st.characters())  # lone surrogates too
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), values))
def test_a_record_comes_back_as_it_went(record: dict[str, Any]) -> None:
    line = records.dumps(record)
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    line.decode("utf-8")
    back = records.loads(line)
    if "\ufffd" not in line.decode() and not has_huge_number(record):
        assert back == record


@given(st.lists(any_text, max_size=6))
def test_one_record_a_line_whatever_the_text_holds(texts: list[str]) -> None:
    stream = io.BytesIO(b"".join(records.dumps({"text": text}) for text in texts))
    back = [records.parse_record(line, number)["text"] for number, line in records.read_lines(stream)]
    assert back == [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in texts]


def test_line_separators_of_unicode_do_not_break_a_record() -> None:
    line = records.dumps({"a": "x\u2028y\u2029z\x85w\x0bv"})
    assert [number for number, _ in records.read_lines(io.BytesIO(line + line))] == [1, 2]


def test_a_lone_surrogate_becomes_the_replacement_character() -> None:
    assert records.loads(b'{"a": "\\ud800", "\\udfff": ["\\ud83d\\ude00"]}') == {
        "a": "\ufffd",
        "\ufffd": ["\U0001f600"],
    }
    assert records.dumps({"a": ("\ud800", "b")}) == '{"a":["\ufffd","b"]}\n'.encode()


def test_integers_of_more_than_64_bits_are_written() -> None:
    assert json.loads(records.dumps({"n": 2**80})) == {"n": 2**80}


def test_bytes_that_are_not_utf8_are_replaced_not_refused() -> None:
    assert records.loads(b'{"a": "\xff\xe9"}') == {"a": "\ufffd\ufffd"}


@pytest.mark.parametrize(
    "line", [b"{", b"nope", b'{"a": NaN}', b'{"a": 1} x', b"[" * 100_000, b'{"a": ' + b"9" * 5000 + b"}x"]
)
def test_what_is_no_json_is_bad_input_with_its_line(line: bytes) -> None:
    with pytest.raises(BadInput) as caught:
        records.parse_record(line, 7)
    assert caught.value.details == {"line": 7}
    assert "line 7" in caught.value.message


@pytest.mark.parametrize(("line", "kind"), [(b"[1]", "list"), (b'"text"', "str"), (b"null", "NoneType")])
def test_json_that_is_no_object_is_bad_input(line: bytes, kind: str) -> None:
    with pytest.raises(BadInput, match=kind):
        records.parse_record(line, 1)


def test_blank_lines_and_a_byte_order_mark_are_skipped_and_counted() -> None:
    stream = io.BytesIO(b'\xef\xbb\xbf{"a":1}\r\n\n  \n{"b":2}')
    assert list(records.read_lines(stream)) == [(1, b'{"a":1}'), (4, b'{"b":2}')]


def has_huge_number(value: Any) -> bool:
    """orjson reads an integer of more than 64 bits as a float."""
    if isinstance(value, dict):
        return any(map(has_huge_number, value.values()))
    if isinstance(value, list):
        return any(map(has_huge_number, value))
    return isinstance(value, int) and not -(2**63) <= value < 2**64
