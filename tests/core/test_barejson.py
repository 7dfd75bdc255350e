"""JSON without `re`: reads and writes what the standard library does, and mends what could not be written back."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capy_core.barejson import decode, encode

TEXT = st.text(st.characters(codec="utf-8"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
)


@given(VALUES)
def test_reads_what_json_writes(value: object) -> None:
    assert decode(json.dumps(value).encode()) == value
    assert decode(json.dumps(value, ensure_ascii=False, indent=1).encode()) == value


@given(VALUES)
def test_json_reads_what_it_writes(value: object) -> None:
    assert json.loads(encode(value)) == value


@given(st.binary())
def test_any_bytes_give_a_value_or_a_value_error(data: bytes) -> None:
    try:
        encode(decode(data)).decode("ascii")
    except ValueError:
        return


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'\xef\xbb\xbf{"a":1}', {"a": 1}),
        (b' {"a":1}\n\0\0', {"a": 1}),
        (b'{"a":1,"a":2}', {"a": 2}),
        (b'{"a":"x\ty"}', {"a": "x\ty"}),
        (b'{"a":"\xff"}', {"a": "�"}),
        (rb'{"a":"\ud83d","\udc00k":["\uD83d\ude00 \ud800"]}', {"a": "�", "�k": ["😀 �"]}),
        (b"[NaN, -Infinity, 1E400]", [None, None, float("inf")]),
    ],
)
def test_tolerates_what_hosts_send(data: bytes, value: object) -> None:
    assert decode(data) == value


@pytest.mark.parametrize(
    "data", [b"", b"   ", b"{", b'{"a":1}{"b":2}', rb'{"a":"\|"}', b"{'a':1}", b'{"a":}', b"1" * 5000]
)
def test_refuses_what_is_no_document(data: bytes) -> None:
    with pytest.raises(ValueError):
        decode(data)


def test_deep_nesting_is_an_error_and_no_crash() -> None:
    with pytest.raises(RecursionError):
        decode(b"[" * 1_000_000)


def test_a_number_beyond_floats_is_written_as_null() -> None:
    assert encode({"a": float("inf")}) == b'{"a":null}'


def test_what_has_no_form_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        encode({"a": object()})


@pytest.mark.parametrize("missing", ["", "sys.modules['_json'] = None; "])
def test_works_with_and_without_the_c_part(missing: str) -> None:
    code = (
        f"import sys; {missing}from capy_core.barejson import decode, encode; "
        r"""print(encode(decode(b'\xef\xbb\xbf{"a":["\\ud83d",1.5,null,true,NaN]}')).decode(), 're' in sys.modules)"""
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [r'{"a":["\ufffd",1.5,null,true,null]}', str(bool(missing))]


@pytest.mark.parametrize("data", [b"", b"{", b'{"a', b'{"a":"x', b'{"a":1,}', rb'["\|"]', b"[1", b'{"a":1}]'])
def test_a_broken_document_is_a_value_error_where_nothing_else_is_loaded(data: bytes) -> None:
    code = f"from capy_core.barejson import decode\ntry:\n decode({data!r})\nexcept ValueError:\n print('refused')"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"refused\n"
