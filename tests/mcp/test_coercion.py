"""Arguments as clients send them, and what the tools take."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capy_mcp.arguments import BadArgument, coerce
from capy_mcp.tools.schemas import TOOLS

SCHEMAS = {tool["name"]: tool["inputSchema"] for tool in TOOLS}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("tool", "given_", "taken"),
    [
        ("capy_search", {"queries": '["a", "b"]'}, {"queries": ["a", "b"]}),
        ("capy_search", {"queries": "a"}, {"queries": ["a"]}),
        ("capy_search", {"queries": ["a"], "limit": "5"}, {"queries": ["a"], "limit": 5}),
        ("capy_search", {"queries": ["a"], "limit": 5.0}, {"queries": ["a"], "limit": 5}),
        ("capy_search", {"queries": ["a"], "limit": None, "colour": 1}, {"queries": ["a"]}),
        ("capy_search", {"queries": ['["not", "a list"]']}, {"queries": ['["not", "a list"]']}),
        (
            "capy_batch_execute",
            {"commands": ["ls", '{"command": "pwd"}'], "queries": "x"},
            {"commands": [{"command": "ls"}, {"command": "pwd"}], "queries": ["x"]},
        ),
        (
            "capy_batch_execute",
            {"commands": '[{"label": "a", "command": "ls"}]', "queries": ["x"]},
            {"commands": [{"label": "a", "command": "ls"}], "queries": ["x"]},
        ),
        ("capy_cleanup", {"dry_run": "false"}, {"dry_run": False}),
        (
            "capy_execute",
            {"language": "shell", "code": '{"a": 1}', "timeout": "1500"},
            {"language": "shell", "code": '{"a": 1}', "timeout": 1500},
        ),
    ],
)
def test_what_is_plainly_meant_is_taken(tool: str, given_: dict[str, Any], taken: dict[str, Any]) -> None:
    assert coerce(given_, SCHEMAS[tool]) == taken


@pytest.mark.parametrize(
    ("tool", "given_", "complaint"),
    [
        ("capy_execute", {"language": "shell"}, "`code` is missing"),
        ("capy_execute", {}, "`language` is missing; it takes language, code"),
        ("capy_execute", {"language": "cobol", "code": "x"}, "`language` must be one of shell, python"),
        ("capy_execute", {"language": "shell", "code": 7}, "`code` must be a string, not 7"),
        ("capy_search", {"queries": ["a", 7]}, r"`queries\[1\]` must be a string, not 7"),
        ("capy_search", {"queries": ["a"], "limit": "many"}, '`limit` must be a whole number, not "many"'),
        ("capy_search", {"queries": ["a"], "limit": True}, "`limit` must be a whole number, not true"),
        ("capy_search", {"queries": ["a"], "include_kinds": ["scratch"]}, "must be one of durable, ephemeral, session"),
        ("capy_batch_execute", {"commands": [{"label": "a"}], "queries": ["x"]}, "`command` is missing"),
        ("capy_cleanup", {"dry_run": "maybe"}, "`dry_run` must be true or false"),
    ],
)
def test_what_is_not_is_told_by_name(tool: str, given_: dict[str, Any], complaint: str) -> None:
    with pytest.raises(BadArgument, match=complaint):
        coerce(given_, SCHEMAS[tool])


@given(st.sampled_from(sorted(SCHEMAS)), st.data())
def test_whatever_is_sent_is_taken_or_told(tool: str, data: st.DataObject) -> None:
    names = st.sampled_from([*SCHEMAS[tool]["properties"], "other"])
    arguments = data.draw(st.dictionaries(names, JSON, max_size=5))
    try:
        taken = coerce(arguments, SCHEMAS[tool])
    except BadArgument as ex:
        assert str(ex).startswith(("`", "in `"))
        return
    assert taken.keys() <= SCHEMAS[tool]["properties"].keys()
    assert coerce(taken, SCHEMAS[tool]) == taken
