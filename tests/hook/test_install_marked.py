"""Blocks between markers in Markdown, TOML and shell: put in, found again, taken out to the byte."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capy_core.errors import BadInput
from capy_hook.install.marked import Block
from capy_hook.install.tomlfile import Table
from capy_hook.install.wholefile import WholeFile

HTML = ("<!-- ", " -->")
BLOCK = "<!-- capy:begin -->\nUse it.\n<!-- capy:end -->"


def markdown(head: str = "") -> Block:
    return Block("Use it.\n", HTML, head=head)


def guard() -> Block:
    return Block("check || exit 1\n", ("# ", ""), head="#!/bin/sh\n", after_first_line=True)


def table() -> Table:
    return Table(("mcp_servers", "capy"), {"command": "capy-mcp", "args": [], "env_vars": ["CAPY_DB_KEY"]})


def test_a_block_comes_behind_an_empty_line() -> None:
    assert markdown().put("# Mine\n") == f"# Mine\n\n{BLOCK}\n"
    assert markdown().put("# Mine") == f"# Mine\n\n{BLOCK}"
    assert markdown().put("# Mine\r\n") == "# Mine\r\n\r\n" + BLOCK.replace("\n", "\r\n") + "\r\n"


def test_a_new_file_begins_with_the_head_and_goes_again() -> None:
    assert markdown("---\nx: 1\n---\n\n").put(None) == f"---\nx: 1\n---\n\n{BLOCK}\n"
    for editor in (markdown(), markdown("---\n---\n"), guard(), table()):
        assert editor.take(editor.put(None)) is None


def test_an_older_block_is_replaced_where_it_stands() -> None:
    older = Block("Old.\nTwo lines.\n", HTML).put("# Mine\n") + "# Below\n"
    newer = markdown().put(older)
    assert newer == f"# Mine\n\n{BLOCK}\n# Below\n"
    assert markdown().take(newer) == "# Mine\n# Below\n"


def test_a_guard_comes_before_what_may_end_the_script() -> None:
    text = "#!/bin/bash -e\nmake lint\nexit 0\n"
    assert guard().put(text) == "#!/bin/bash -e\n# capy:begin\ncheck || exit 1\n# capy:end\nmake lint\nexit 0\n"


@pytest.mark.parametrize(
    "text", ["<!-- capy:begin -->\nx\n", "x <!-- capy:end -->\n", "<!-- capy:end --><!-- capy:begin -->"]
)
def test_half_a_block_is_refused(text: str) -> None:
    for edit in (markdown().put, markdown().take):
        with pytest.raises(BadInput, match="is missing"):
            edit(text)


lines = st.text("a-#\n \r", max_size=20) | st.sampled_from(
    ["", "\n", "---\n", "#!/bin/sh\n", "#!/bin/sh\n\n", "#!/bin/sh"]
)


@given(lines, st.sampled_from([markdown(), markdown("---\n"), guard()]))
def test_put_then_take_is_the_identity(text: str, editor: Block) -> None:
    put = editor.put(text)
    assert editor.put(put) == put
    assert editor.take(put) == text


@pytest.mark.parametrize(
    "text",
    ["", "\n", "a = 1", "a = 1 # c\n", '[x]\r\ny = """\r\n[z]"""\r\n', "[mcp_servers.other]\ncommand = 'x'\n\n\n"],
)
def test_a_table_is_added_and_leaves_nothing(text: str) -> None:
    put = table().put(text)
    expected = tomllib.loads(text)
    expected.setdefault("mcp_servers", {})["capy"] = {
        "command": "capy-mcp",
        "args": [],
        "env_vars": ["CAPY_DB_KEY"],
    }
    assert tomllib.loads(put) == expected
    assert table().put(put) == put
    assert table().take(put) == text


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("a = ", "it is not TOML"),
        ("mcp_servers = { other = { command = 'x' } }\n", "cannot be added at its end"),
        ("[mcp_servers.capy]\ncommand = 'mine'\n", "is not of capy-hook's making"),
    ],
)
def test_a_file_that_cannot_take_the_table_is_refused(text: str, what: str) -> None:
    with pytest.raises(BadInput, match=what):
        table().put(text)


def test_a_whole_file_replaces_only_its_own_older_self() -> None:
    editor = WholeFile("// ours\nnew\n")
    assert editor.put("// ours\nold\n") == editor.put(None) == "// ours\nnew\n"
    assert editor.take("// ours\nold\n") is None
    assert editor.take("// theirs\n") == "// theirs\n"
    with pytest.raises(BadInput, match="not written by capy-hook"):
        editor.put("// theirs\n")
