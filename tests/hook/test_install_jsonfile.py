"""The editor of JSON files: what is put in comes out again, and every other byte stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capy_core.errors import BadInput
from capy_hook.install import jsonc
from capy_hook.install.jsonfile import Entries, Entry


def is_ours(key: str | None, value: Any) -> bool:
    return isinstance(value, dict) and value.get("by") == "capy"


def handler(name: str) -> dict[str, Any]:
    return {"by": "capy", "name": name, "args": ["a", "b"]}


def hooks(**options: Any) -> Entries:
    wanted = [Entry(("hooks", "Before"), handler("one")), Entry(("hooks", "Start"), handler("two"))]
    return Entries(wanted, ("hooks",), is_ours, **options)


def server() -> Entries:
    return Entries([Entry(("servers",), handler("three"), "capy")], ("servers",), is_ours)


def test_a_new_file_is_indented_and_goes_again() -> None:
    text = hooks().put(None)
    assert text.startswith('{\n  "hooks": {\n    "Before": [\n      {\n        "by": "capy",')
    assert json.loads(text) == {"hooks": {"Before": [handler("one")], "Start": [handler("two")]}}
    assert hooks().put(text) == text
    assert hooks().take(text) is None


def test_a_new_file_begins_with_what_its_host_wants() -> None:
    editor = hooks(template={"version": 1})
    text = editor.put(None)
    assert list(json.loads(text)) == ["version", "hooks"]
    assert editor.take(text) is None


def test_entries_take_the_place_behind_those_that_are_there_in_their_style() -> None:
    text = (
        '{\n\t"model": "m", // the small one\n\t"hooks": {\n\t\t"Before": [\n\t\t\t{"command": "mine"}\n\t\t]\n\t}\n}\n'
    )
    put = hooks().put(text)
    one = json.dumps(handler("one"), indent="\t").replace("\n", "\n\t\t\t")
    two = json.dumps([handler("two")], indent="\t").replace("\n", "\n\t\t")
    expected = text.replace("\t\t]\n", f'\t\t],\n\t\t"Start": {two}\n')
    assert put == expected.replace('"mine"}', f'"mine"}},\n\t\t\t{one}')
    assert hooks().take(put) == text


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "{}\n",
        "{ }",
        "{\n}\n",
        "{\r\n}\r\n",
        '{"hooks": {}}',
        '{"hooks": {"Before": []}}',
        '{\n  "hooks": {}\n}',
        '{\n  "hooks": {\n    "Before": [\n    ]\n  }\n}\n',
        '{"a":1}',
        '{"a": 1, "b": 2}',
        '{"version": 1}',
        '{\n  "version": 1\n}\n',
        '{\n  "version": 1,\n  "hooks": {}\n}\n',
        '{"a": 1 // last\n}',
        '{"a": [1, 2], // x  \n}',
        '{\n  "a": 1, /* c */ // d\n}\n',
        '{\n  "a": 1 /* over\n two lines */\n}\n',
        "// before\n{ // inside\n}\n// after\n",
        '{\r\n\t"a": 1,\r\n\t"hooks": { "Before": [ { "x": "//" } ] },\r\n}\r\n',
        '{"hooks": {"Before": [{"by": "me"},]},}',
        '\n\n  {"a": "ends in a backslash \\\\"}  \n\n',
        '{"hooks": {"Before": [] /* none */}}',
        '{\n  "hooks": {\n    // none yet\n  }\n}\n',
    ],
)
@pytest.mark.parametrize("template", [{}, {"version": 1}])
def test_what_comes_out_is_what_was_there(text: str, template: dict[str, Any]) -> None:
    editors = [hooks(template=template), server()]
    put = text
    for editor in editors:
        put = editor.put(put)
    assert [editor.put(put) for editor in editors] == [put, put]
    value = jsonc.parse(put).value
    assert value["hooks"]["Before"][-1] == handler("one")
    assert value["hooks"]["Start"] == [handler("two")]
    assert value["servers"] == {"capy": handler("three")}
    for order in (editors, editors[::-1]):
        taken: str | None = put
        for editor in order:
            assert taken is not None
            taken = editor.take(taken)
        assert taken == text


def test_another_version_is_replaced_and_still_leaves_nothing() -> None:
    text = '{\n  "hooks": {\n    "Before": [{"by": "me"}]\n  }\n}\n'
    older = Entries([Entry(("hooks", "After"), handler("old"))], ("hooks",), is_ours).put(text)
    newer = hooks().put(older)
    assert newer == hooks().put(text)
    assert hooks().take(newer) == text


def test_what_the_user_added_meanwhile_stays() -> None:
    text = hooks().put('{"a": 1}')
    theirs = text.replace('"Start": [', '"Start": [{"by": "me"}, ').replace('"a": 1', '"a": 1, "b": 2 /* new */')
    taken = hooks().take(theirs)
    assert taken is not None
    assert jsonc.parse(taken).value == {"a": 1, "b": 2, "hooks": {"Start": [{"by": "me"}]}}
    assert "/* new */" in taken


def test_a_comment_in_what_we_made_is_not_removed() -> None:
    text = hooks().put("{}").replace('"Start": [', '"Start": [ // mine')
    taken = hooks().take(text)
    assert taken is not None
    assert "// mine" in taken
    assert jsonc.parse(taken).value == {"hooks": {"Start": []}}


def test_a_comment_in_front_of_ours_does_not_swallow_what_comes_behind() -> None:
    text = hooks().put('{"a": [1]}').replace('"hooks"', '// mine\n"hooks"').replace("]}}", "]}, // too\n}")
    taken = hooks().take(text)
    assert taken is not None
    assert jsonc.parse(taken).value == {"a": [1]}
    assert [comment in taken for comment in ("// mine", "// too")] == [True, True]


def test_a_member_of_another_maker_is_not_replaced() -> None:
    with pytest.raises(BadInput, match=r"servers\.capy stands there, and is not of capy's making"):
        server().put('{"servers": {"capy": {"command": "other"}}}')


def test_of_two_members_of_a_name_the_last_counts() -> None:
    put = hooks().put('{"hooks": {"old": []}, "hooks": {"Before": []}}')
    assert jsonc.parse(put).value["hooks"]["Before"] == [handler("one")]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "line 1 is not JSON: a value was expected, not the end of the file"),
        ('{"a": 1', "line 1 is not JSON: a comma or } was expected, not the end of the file"),
        ('{"a": 1}\n}', "line 2 is not JSON: the end of the file was expected, not '}'"),
        ("{\n  a: 1}", "line 2 is not JSON: a name in quotes or \"}\" was expected, not 'a'"),
        ('{"a" 1}', "line 1 is not JSON: a colon was expected, not '1'"),
        ('{"a": nul}', "line 1 is not JSON: a value was expected, not 'n'"),
        ('{"a": "tab\tin it"}', "line 1 is not JSON: a value was expected, not '\"'"),
        ('{"a": 1 "b": 2}', "line 1 is not JSON: a comma or } was expected, not '\"'"),
        ("[" * 100_000, "it is nested too deeply"),
        ('{"hooks": []}', "hooks is not an object"),
        ('{"hooks": {"Before": {}}}', "hooks.Before is not a list"),
        ("[]", "the file is not an object"),
    ],
)
def test_a_broken_file_is_refused_with_its_place(text: str, what: str) -> None:
    with pytest.raises(BadInput) as caught:
        hooks().put(text)
    assert caught.value.message == what


space = st.text(" \t\n", max_size=3)
gap = st.lists(st.sampled_from([" ", "\n", "\t", "  \n  ", "// note\n", "/* note */", "/* a\nb */"]), max_size=2).map(
    "".join
)
names = st.sampled_from(["a", "b", "hooks", "Before", "Start", "servers", "version"])
leaves = st.sampled_from(["1", "null", "true", '"text"', '"// no comment"', '"\\"{"', '{"by": "me"}', "[]", "{}"])


@st.composite
def documents(draw: st.DrawFn, depth: int = 3, path: tuple[str, ...] = ()) -> str:
    """An object whose `hooks` and `servers` have the right types, with white space and comments anywhere."""
    is_list = len(path) == 2 and path[0] == "hooks"
    parts = []
    for name in draw(st.lists(names, max_size=3, unique=True)):
        inner = (*path, name)
        nested = name == "hooks" or name == "servers" or path == ("hooks",)
        if not is_list and len(path) < depth and (nested or draw(st.booleans())):
            value = draw(documents(depth=depth, path=inner))
        else:
            value = draw(leaves)
        label = "" if is_list else f'"{name}"{draw(gap)}:{draw(gap)}'
        parts.append(f"{draw(gap)}{label}{value}{draw(gap)}")
    comma = "," if parts and draw(st.booleans()) else ""
    inside = ",".join(parts) + comma + draw(gap)
    return f"[{inside}]" if is_list else "{" + inside + "}"


@given(documents(), gap, gap, st.booleans(), st.sampled_from([{}, {"version": 1}]))
def test_put_then_take_is_the_identity(
    document: str, before: str, after: str, crlf: bool, template: dict[str, Any]
) -> None:
    text = before + document + after
    text = text.replace("\n", "\r\n") if crlf else text
    editors = [hooks(template=template), server()]
    put = text
    for editor in editors:
        put = editor.put(put)
    assert all(editor.put(put) == put for editor in editors)
    expected = jsonc.parse(text).value
    value = jsonc.parse(put).value
    assert value["hooks"]["Before"] == [*expected.get("hooks", {}).get("Before", []), handler("one")]
    taken: str | None = put
    for editor in editors:
        assert taken is not None
        taken = editor.take(taken)
    assert taken == text


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(values, st.sampled_from([None, 2, "\t"]), st.booleans())
def test_the_reader_agrees_with_the_standard_library(value: Any, indent: int | str | None, ascii_only: bool) -> None:
    assert jsonc.parse(json.dumps(value, indent=indent, ensure_ascii=ascii_only)).value == value


@given(st.text('{}[],:"/*\\ \n1a', max_size=30))
def test_the_reader_never_fails_in_another_way(text: str) -> None:
    try:
        root = jsonc.parse(text)
    except BadInput:
        return
    assert 0 <= root.start < root.end <= len(text)
