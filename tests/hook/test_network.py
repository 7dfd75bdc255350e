"""What would flood the context is redirected; what would not, passes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capy_exec.policy.shell import read
from capy_hook.inline import calls_out
from capy_hook.network import fits, is_local, may_fetch, refusal, source_of
from hook.network_table import ROWS


def judged(code: str, *allow: str) -> str:
    return refusal(read(code), code, allow)


@pytest.mark.parametrize(("code", "expected"), ROWS)
def test_table(code: str, expected: str) -> None:
    assert ("redirect" if may_fetch(code) and judged(code) else "pass") == expected


def test_a_refused_page_names_the_calls_that_replace_it() -> None:
    text = judged("cd /tmp && curl -sSL 'https://example.com/docs/a?q=1#top'")
    assert 'capy_fetch_and_index(url: "https://example.com/docs/a?q=1#top", source: "example.com/docs/a")' in text
    assert 'capy_execute(language: "shell", code: "cd /tmp && curl -sSL' in text
    assert "-o FILE" in text and "| head -20" in text


@pytest.mark.parametrize(
    "code",
    [
        "curl http://localhost:3000/api",
        "curl http://127.0.0.1/",
        "curl -X POST https://example.com/api -d x=1",
        "curl -H 'Authorization: Bearer x' https://example.com/api",
        'curl "$URL"',
    ],
)
def test_what_fetching_pages_cannot_do_is_not_proposed(code: str) -> None:
    assert "capy_fetch_and_index" not in judged(code)
    assert "capy_execute(" in judged(code)


def test_chatter_is_refused_with_the_option_that_silences_it() -> None:
    assert "with -q" in judged("wget https://example.com/big.iso")
    assert "without -v" in judged("curl -v -o x https://example.com/")


def test_inline_code_is_refused_with_the_same_code_to_execute() -> None:
    text = judged("python3 -c 'import requests; print(requests.get(\"https://example.com\").text)'")
    assert (
        'capy_execute(language: "python", code: "import requests; print(requests.get(\\"https://example.com\\").text)"'
        in text
    )
    assert "HTTP" in text


def test_a_long_command_is_not_repeated() -> None:
    assert len(judged("curl https://example.com/ # " + "x" * 100_000)) < 3000


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("curl http://localhost*", "curl http://localhost:80/x", True),
        ("curl http://localhost*", "curl -s http://localhost:80/x", False),
        ("curl * http://localhost*", "curl -s http://localhost:80/x", True),
        ("curl *", "curl", True),
        ("curl:*", "curl -s x", True),
        ("curl *", "curlie x", False),
        ("curl*x*y", "curl 1x2y", True),
        ("curl*y*x", "curl 1x2y", False),
        ("*", "anything", True),
        ("curl ab*ba", "curl aba", False),
        ("curl", "curl x", False),
    ],
)
def test_patterns(pattern: str, text: str, expected: bool) -> None:
    assert fits(pattern, text) is expected


def test_allowed_commands_are_never_redirected_but_others_beside_them_are() -> None:
    allow = "curl http://localhost*"
    assert judged("curl http://localhost:80/", allow) == ""
    assert judged("curl http://localhost:80/; curl https://example.com", allow)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://localhost/x", True),
        ("http://user@127.0.0.1:80/x", True),
        ("http://192.168.1.5", True),
        ("http://172.20.0.1/", True),
        ("http://[::1]/", True),
        ("printer/status", True),
        ("http://build.internal/", True),
        ("https://example.com", False),
        ("example.com/a", False),
        ("http://172.32.0.1/", False),
        ("https://10.example.com", False),
    ],
)
def test_local_addresses(url: str, expected: bool) -> None:
    assert is_local(url) is expected


def test_a_label_is_host_and_path() -> None:
    assert source_of("https://example.com/a/b/?q=1#c") == "example.com/a/b"
    assert source_of("x") == "x"


@given(st.sampled_from(["python", "javascript", "ruby", "perl", "php", "go", "r", "elixir", "rust", "x"]), st.text())
def test_any_code_is_answered(language: str, code: str) -> None:
    assert calls_out(language, code) in (True, False)


PIECES = ["curl ", "wget ", "https://a.b/", " | ", "head -20", "\n", *"-o|>&$(){};'\"\\<#`[]0E"]


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_any_shell_is_answered(code: str) -> None:
    assert isinstance(judged(code), str)
