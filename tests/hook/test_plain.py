"""The reader of plain tables answers as a TOML parser does, or not at all."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capy_hook.plain import table


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[hook]", {}),
        ("[hook]\nenabled = false\n", {"enabled": False}),
        ('# x\n[store]\na = 1\n\n[hook]\r\nguidance=true\r\n# y\nallow = ["a b", "c*"]\n[policy]\nz = 1', 0),
        ('[hook]\nredirect = []\nallow = ["[x]", "a, b", "#"]', 0),
        ('[hook]\nallow = ["a","b"  ,  "c"]', 0),
    ],
)
def test_plain_tables_are_read(text: str, expected: object) -> None:
    assert table(text, "hook") == (expected if expected != 0 else tomllib.loads(text)["hook"])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hook = 1",
        "hook.enabled = false",
        "[hook] # off\nenabled = false",
        "[hook.x]\na = true",
        "x = '''\n[hook]\nenabled = false\n'''",
        'x = """\n[hook]\nenabled = false\n"""',
        "[hook]\nenabled = false # off",
        '[hook]\nallow = [\n"a",\n]',
        '[hook]\nallow = ["a",]',
        '[hook]\nallow = ["a\\n"]',
        "[hook]\nallow = ['a']",
        '[hook]\nallow = ["a" "b"]',
        '[hook]\nallow = ["]',
        '[hook]\nallow = ["a", "b]',
        "[hook]\nenabled = false\nenabled = true",
        "[hook]\n'enabled' = false",
        "[hook]\nx = 1979-05-27",
        "[hook]\nenabled",
        '[hook]\nallow = ["a hook"]',
    ],
)
def test_all_else_is_left_to_the_parser(text: str) -> None:
    assert table(text, "hook") is None


PIECES = [
    "[hook]",
    "[a]",
    "\n",
    "\n",
    "\n",
    "enabled",
    "allow",
    " = ",
    "=",
    "true",
    "false",
    '["x y"]',
    "[",
    "]",
    '"',
    ",",
]
PIECES += ['"a"', "#", "'", "\\", " ", "\t", "\r", "é", "\x00", "1", "hook", ".", '["a", "b"]', "[]"]


@given(st.lists(st.sampled_from(PIECES)).map(lambda pieces: "[hook]\n" + "".join(pieces)))
def test_where_both_answer_they_agree(text: str) -> None:
    try:
        expected = tomllib.loads(text)["hook"]
    except tomllib.TOMLDecodeError:
        return
    assert table(text, "hook") in (None, expected)
