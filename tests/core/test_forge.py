from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capy_core.forge import forge_url

LINKS = """
https://github.com/o/r/issues/12
    github o/r 12 issue
    gh issue view 12 --repo o/r --comments
https://github.com/o/r/pull/7
    github o/r 7 pull request
    gh pr view 7 --repo o/r --comments
https://github.com/o/r.js/pull/7/files
    github o/r.js 7 pull request
    gh pr view 7 --repo o/r.js --comments
http://www.github.com/o/r/issues/1#issuecomment-9
    github o/r 1 issue
    gh issue view 1 --repo o/r --comments
https://GitHub.com/o/r/issues/3?q=1
    github o/r 3 issue
    gh issue view 3 --repo o/r --comments
https://github.acme.example/o/r/pull/4
    github o/r 4 pull request
    gh pr view 4 --repo github.acme.example/o/r --comments
https://gitlab.com/g/p/-/issues/5
    gitlab g/p 5 issue
    glab issue view 5 --repo g/p --comments
https://gitlab.com/g/sub/p/-/merge_requests/6/diffs
    gitlab g/sub/p 6 merge request
    glab mr view 6 --repo g/sub/p --comments
https://gitlab.com/g/p/merge_requests/6
    gitlab g/p 6 merge request
    glab mr view 6 --repo g/p --comments
https://gitlab.com/g/p/-/work_items/8
    gitlab g/p 8 issue
    glab issue view 8 --repo g/p --comments
https://code.acme.example:8443/g/p/-/issues/5
    gitlab g/p 5 issue
    glab issue view 5 --repo https://code.acme.example:8443/g/p --comments
https://bitbucket.org/w/r/pull-requests/9
    bitbucket w/r 9 pull request
    (none)
https://bitbucket.org/w/r/issues/9/some-title
    bitbucket w/r 9 issue
    (none)
https://bb.acme.example/projects/P/repos/r/pull-requests/9/overview
    bitbucket P/r 9 pull request
    (none)
https://codeberg.org/o/r/issues/10
    gitea o/r 10 issue
    tea issues 10 --repo o/r --comments
https://gitea.example.org/o/r/pulls/11
    gitea o/r 11 pull request
    tea pulls 11 --repo o/r --comments
https://code.example.org/o/r/pulls/11/commits
    gitea o/r 11 pull request
    tea pulls 11 --repo o/r --comments
"""


@pytest.mark.parametrize(("url", "facts", "command"), list(zip(*[iter(LINKS.strip().splitlines())] * 3, strict=True)))
def test_a_link_to_an_issue_or_request_names_the_command_that_reads_it(url: str, facts: str, command: str) -> None:
    found = forge_url(url)
    assert found is not None
    assert f"{found.forge} {found.repository} {found.number} {found.kind}" == facts.strip()
    assert (found.command or "(none)") == command.strip()


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/o/r",
        "https://github.com/o/r/issues",
        "https://github.com/o/r/issues/new",
        "https://github.com/o/r/pulls",
        "https://github.com/issues/12",
        "https://github.com/o/r/blob/main/issues/12",
        "https://github.com/o/r/commit/abc/pull/1x",
        "https://github.com/o/r/issues/١٢",
        "https://api.github.com/repos/o/r/issues/1",
        "https://gist.github.com/someone/0123456789abcdef",
        "https://raw.githubusercontent.com/o/r/main/README.md",
        "https://example.com/docs/issues/faq",
        "https://example.com/docs/issues/12",
        "https://example.com/magazine/2024/issues/12",
        "https://github.com/o;rm/r/issues/1",
        "https://github.com/-o/r/issues/1",
        "https://github.com/$(id)/r/pull/1",
        "ftp://github.com/o/r/issues/1",
        "github.com/o/r/issues/1",
        "https://[::1/o/r/issues/1",
        "https://github.com:port/o/r/issues/1",
        "",
    ],
)
def test_other_addresses_are_left_alone(url: str) -> None:
    assert forge_url(url) is None


@given(st.lists(st.text(max_size=8), min_size=2, max_size=4), st.sampled_from(["issues", "pull", "-/issues", "pulls"]))
def test_a_command_is_always_plain_words(parts: list[str], word: str) -> None:
    found = forge_url(f"https://github.com/{'/'.join(parts)}/{word}/1")
    if found is not None:
        words = shlex.split(found.command)
        assert " ".join(words) == found.command
        assert [part for part in words if part.startswith("-")] == ["--repo", "--comments"]
