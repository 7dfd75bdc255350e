"""Secrets: every example of the rules' own file, blocks, streams, speed on hostile input."""

from __future__ import annotations

import itertools
import re
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capy_core import secret_scan
from capy_core.secret_rules import RULES_FILE
from capy_core.secrets import (
    BLOCK,
    MARKER,
    RULES_VERSION,
    StreamRedactor,
    redact,
    redact_bytes,
    redact_counted,
    redact_values,
)

RULES = tomllib.loads(RULES_FILE.read_text(encoding="utf-8"))

FILLERS = {
    "a": "q7Xv2Lr9",
    "A": "Q7XV2LR9",
    "h": "9f3b07ce",
    "d": "70461938",
    "b": "q7_Xv2-Lr9",
    "s": "q7/Xv2+Lr9",
}


def filled(example: str) -> str:
    """The example with its fillers written out: <a36> is 36 letters and digits, and so on."""
    return re.sub(r"<([aAhdbs])(\d+)>", lambda m: (FILLERS[m[1]] * 20)[: int(m[2])], example)


def examples(kind: str) -> list[object]:
    return [
        pytest.param(example, id=f"{rule['name']}-{number}")
        for rule in itertools.chain(RULES["token"], RULES["phrase"], RULES["name"])
        for number, example in enumerate(rule[kind])
    ]


@pytest.mark.parametrize("example", examples("match"))
def test_a_secret_is_replaced_and_its_name_kept(example: list[str]) -> None:
    text, wanted = filled(example[0]), filled(example[1]).replace("[R]", MARKER)
    assert redact(text) == wanted
    assert redact(wanted) == wanted


@pytest.mark.parametrize("example", examples("keep"))
def test_what_only_looks_like_a_secret_stays(example: str) -> None:
    assert redact(filled(example)) == filled(example)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "id 550e8400-e29b-41d4-a716-446655440000",
        "https://en.wiki.test/wiki/" + "A_title_of_a_long_page_" * 20,
        "auth=abcdefghijklmnopqrstuvwxyz123456",
        "sha512-" + FILLERS["s"] * 8 + "==",
        "data:image/png;base64," + FILLERS["s"] * 400,
        "\ud800 lone \udfff surrogates \x00 and NULs",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert redact_counted(text) == (text, 0)


# --- private keys and private blocks


LINES = [FILLERS["s"] * 6 + "AbCd" for _ in range(6)]
HEADS = ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "EC PRIVATE KEY", "PGP PRIVATE KEY BLOCK"]


@pytest.mark.parametrize("kind", HEADS)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\\n", "\\\\n", "\\r\\n", "", '\\n" +\n  "'])
@pytest.mark.parametrize("closed", [True, False])
def test_a_private_key_is_replaced_in_all_its_clothes(kind: str, newline: str, closed: bool) -> None:
    key = newline.join([f"-----BEGIN {kind}-----", *LINES, "mQENB9=="])
    if closed:
        key += f"{newline}-----END {kind}-----"
    result = redact(f'before {key}" after the key')
    assert not any(line[:20] in result for line in LINES)
    assert "mQENB9" not in result
    assert result.startswith(f"before -----BEGIN {kind}-----{MARKER}")
    assert result.endswith('" after the key')


def test_an_encrypted_private_key_goes_with_its_headers() -> None:
    key = ["-----BEGIN RSA PRIVATE KEY-----", "Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,0011", "", *LINES]
    assert redact("\n".join([*key, "", "The end."])) == f"{key[0]}{MARKER}\n\nThe end."


@pytest.mark.parametrize(
    "text",
    [
        "the file starts with `-----BEGIN PRIVATE KEY-----` and that is all",
        'if "-----BEGIN RSA PRIVATE KEY-----" in text:\n    raise ValueError(text)\n',
        "-----BEGIN PUBLIC KEY-----\n" + LINES[0] + "\n-----END PUBLIC KEY-----",
        "-----BEGIN CERTIFICATE-----\n" + LINES[0] + "\n-----END CERTIFICATE-----",
    ],
)
def test_talk_of_keys_and_public_ones_stay(text: str) -> None:
    assert redact(text) == text


def test_a_private_block_is_replaced_whatever_its_case_and_lines() -> None:
    text = "a <pRiVaTe>one\n\ntwo password=x\n</PRIVATE> b <private>c</private>d"
    assert redact_counted(text) == ("a [REDACTED] b [REDACTED]d", 2)


def test_an_unclosed_private_tag_stays_but_secrets_in_it_do_not() -> None:
    assert redact("<private> open, password = 'hunter2'") == f"<private> open, password = '{MARKER}'"


# --- properties


TOKEN = "gh" + "p_" + FILLERS["a"] * 5
BITS = st.sampled_from(
    [
        *("password", "PASSWORD", "token", "api_key", "secret", "Authorization", "CAPY_DB_KEY", "pass", "db_"),
        *(
            "=",
            ":",
            " = ",
            ": ",
            '": "',
            '\\": \\"',
            "=>",
            '"',
            "'",
            "\\",
            "\\n",
            "\n",
            "\r\n",
            " ",
            ",",
            ";",
            "&",
            ")",
        ),
        *("hunter2", "x8Kq01zP93mm", "word", "$X", "${Y}", "[REDACTED_SECRET]", "[", "]", "@", "//", "://", "<", ">"),
        *("Bearer ", "Basic ", "--", "curl -u ", "login bot password ", "sk-", "eyJ", ".", "_", "-", "-----"),
        *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", LINES[0], "<private>", "</private>"),
        *(
            TOKEN,
            "AKIA" + FILLERS["A"] * 2,
            "eyJ" + FILLERS["a"] * 3 + "." + FILLERS["a"] * 3,
            "\ud800",
            "\x00",
            "é",
            "密",
        ),
    ]
)
TEXTS = st.lists(st.one_of(BITS, st.text(max_size=4)), max_size=40).map("".join)


@given(TEXTS)
@settings(max_examples=500, deadline=None)
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@given(TEXTS, st.lists(st.integers(0, 400), max_size=12))
@settings(max_examples=500, deadline=None)
def test_a_stream_gives_the_same_however_it_is_split(text: str, cuts: list[int]) -> None:
    assert streamed(text, cuts) == redact_counted(text)


@given(st.lists(st.one_of(BITS, st.sampled_from(["x" * 9_000, "ab " * 5_000])), max_size=25).map("".join), st.data())
@settings(max_examples=60, deadline=None)
def test_a_stream_of_very_long_lines_gives_the_same(text: str, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=12))
    assert streamed(text, cuts) == redact_counted(text)


def streamed(text: str, cuts: list[int]) -> tuple[str, int]:
    redactor = StreamRedactor()
    edges = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    parts = [redactor.feed(text[start:end]) for start, end in itertools.pairwise(edges)]
    parts.append(redactor.finish())
    return "".join(parts), redactor.count


def test_a_stream_gives_complete_lines_at_once_and_holds_back_open_blocks() -> None:
    redactor = StreamRedactor()
    assert redactor.feed("one\ntwo password=hun") == "one\n"
    assert redactor.feed("ter2\n") == f"two password={MARKER}\n"
    assert redactor.feed("a <private>\n") == "a "
    assert redactor.feed("b\n</private> c\n") == "[REDACTED] c\n"
    assert redactor.finish() == ""


def test_a_stream_holds_back_no_more_than_a_block() -> None:
    redactor = StreamRedactor()
    fed = given_out = 0
    for piece in ["<private> never closed\n", *["a line of the log\n"] * 60_000]:
        fed += len(piece)
        given_out += len(redactor.feed(piece))
        assert fed - given_out <= 2 * BLOCK
    assert given_out + len(redactor.finish()) == fed


def test_bytes_that_are_not_utf8_pass_through() -> None:
    assert redact_bytes(b"\xff\xfe password='hunter2' \x80\n") == f"\udcff\udcfe password='{MARKER}' \udc80\n".encode(
        "utf-8", "surrogateescape"
    )


def test_the_rules_version_is_short_and_stable() -> None:
    assert re.fullmatch(r"[0-9a-f]{12}", RULES_VERSION)


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "a",
            ":",
            "=",
            "'",
            '\\"',
            "-",
            "eyJ",
            "sk-",
            "ghp_",
            "M" * 24 + ".",
            "secret ",
            "token=",
            "password=",
            "password='",
        ),
        *('token: "', "token=$token", "authorization: bearer ", "://a:", "curl -u ", "<private>"),
        "-----BEGIN PRIVATE KEY-----",
    ],
)
def test_a_hostile_line_of_megabytes_ends_in_time(unit: str) -> None:
    text = unit * ((10_000_000 if len(unit) == 1 else 600_000) // len(unit))
    assert len(redact(text)) > 0


def test_no_pattern_looks_further_than_the_lookahead() -> None:
    values = (secret_scan._QUOTED, secret_scan._BARE, secret_scan._WORD_OF_LINE, secret_scan._REST_OF_LINE)
    patterns = [rule["regex"] for rule in (*RULES["token"], *RULES["phrase"])]
    patterns += [pattern.decode() for pattern in values]
    longest = max(re._parser.parse(pattern).getwidth()[1] for pattern in patterns)  # type: ignore[attr-defined]
    assert longest < secret_scan.LOOKAHEAD - 500  # a name and its separator come before a value


def test_values_are_redacted_by_what_they_are_and_by_what_they_are_called() -> None:
    token = "ghp_" + "a1B2c3" * 6
    meta = {"password": "correcthorse9", "deep": [{"api_key": ["q7w8e9r0t1y2u3"]}], "note": f"use {token}", "n": 5}
    assert redact_values(meta) == {
        "password": MARKER,
        "deep": [{"api_key": [MARKER]}],
        "note": f"use {MARKER}",
        "n": 5,
    }
    plain = {"label": "a:1", "code": 'echo "x" y', "path": "/a/b", "keys": None, "title": ""}
    assert redact_values(plain) == plain
