"""`capy-store fetch`: the installed command against a private server, and in process with a web of its own."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from capy_core.cli import run
from capy_store.cli import group
from capy_store.fetch import network
from conftest import Tool
from web import Site, internet

pytestmark = pytest.mark.usefixtures("key", "project")

PAGE = "<title>Guide</title><main><h1>Setup</h1><p>Install the needle first.</p></main>"


@pytest.fixture
def docs(site: Site, other: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    """docs.test, on the web that the command sees in this process; other.test is there too."""
    site.pages |= {"/guide": PAGE, "/moved": (301, {"Location": "/guide"}, b"")}
    monkeypatch.setattr(network, "INTERNET", internet(docs=site, other=other))
    return site


def capy_store(monkeypatch: pytest.MonkeyPatch, *args: str) -> int:
    monkeypatch.setattr(sys, "argv", ["capy-store", *args])
    return run(group, "capy-store")


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_private_server_is_refused_with_status_7_and_hears_nothing(tool: Tool, site: Site) -> None:
    site.pages["/"] = PAGE
    for host in ("127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433"):
        done = tool("capy-store", "fetch", f"http://{host}:{site.port}/", env={"CAPY_FETCH_ALLOW": "127.0.0.1"})
        assert (done.returncode, done.stdout) == (7, b"")
        (error,) = lines(done.stderr.decode())
        assert error["code"] == "refused" and "loopback" in error["message"] and error["hop"] == 0
    assert site.log == []
    assert tool("capy-store", "sources").stdout == b""


def test_a_proxy_of_the_environment_does_not_get_around_the_check(tool: Tool, site: Site) -> None:
    proxy = f"http://127.0.0.1:{site.port}"
    env = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY"), proxy)
    done = tool("capy-store", "fetch", "http://127.0.0.1:9/", env=env)
    assert done.returncode == 7 and site.log == []


@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("file:///etc/hostname", 7),
        ("example.test", 4),
        ("https://github.com/octo/spoon/issues/7", 7),
        ("http://u:p@x.test/", 7),
    ],
)
def test_urls_that_are_not_fetched_have_their_status_and_a_hint(tool: Tool, url: str, status: int) -> None:
    done = tool("capy-store", "fetch", url)
    (error,) = lines(done.stderr.decode())
    assert done.returncode == status and error["hint"]


def test_usage_errors(tool: Tool) -> None:
    for arguments in ((), ("--kind", "session", "http://a.test"), ("--label", "x", "http://a.test", "http://b.test"),
                      ("--timeout", "0", "http://a.test"), ("--timeout", "nan", "http://a.test")):  # fmt: skip
        assert tool("capy-store", "fetch", *arguments).returncode == 2


def test_a_page_gives_a_record(docs: Site, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    assert capy_store(monkeypatch, "fetch", "http://docs.test/moved#x", "--label", "guide", "--kind", "durable") == 0
    out, err = capfd.readouterr()
    (record,) = lines(out)
    assert record["schema"] == "capy.index.result/1"
    facts = {"source": "guide", "status": "indexed", "kind": "durable", "content_type": "markdown", "title": "Guide"}
    assert record | facts | {"cached": False, "age_s": 0} == record
    assert (record["url"], record["final_url"]) == ("http://docs.test/moved", "http://docs.test/guide")
    assert (record["status_code"], record["content_type_http"], record["bytes_fetched"]) == (
        200,
        "text/html",
        len(PAGE),
    )
    assert err == ""
    assert capy_store(monkeypatch, "show", "guide") == 0
    assert lines(capfd.readouterr().out)[0]["content"].startswith("# Setup")


def test_the_second_time_it_comes_from_the_store(
    docs: Site, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for arguments, cached in (((), False), ((), True), (("--force",), False)):
        assert capy_store(monkeypatch, "fetch", "http://docs.test/guide", *arguments) == 0
        assert lines(capfd.readouterr().out)[0]["cached"] is cached
    assert docs.paths == ["/guide", "/guide"]


def test_people_see_how_the_page_begins(
    docs: Site, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    docs.pages["/long"] = "<title>Long \x1b]0;owned\x07</title><p>" + "word &#27;[31m " * 1000
    for _ in range(2):  # also when it comes from the store
        assert capy_store(monkeypatch, "fetch", "--format", "text", "http://docs.test/long") == 0
        out = capfd.readouterr().out
        assert (
            out.startswith("Long ")
            and "word" in out
            and "more characters: capy-store show http://docs.test/long" in out
        )
        assert "\x1b" not in out and "\x07" not in out and len(out) < 4000


def test_a_note_is_a_warning_on_stderr(
    docs: Site, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    docs.pages["/old"] = "<meta http-equiv=refresh content='0;url=/guide'><p>Moved"
    assert capy_store(monkeypatch, "fetch", "http://docs.test/old") == 0
    out, err = capfd.readouterr()
    assert len(lines(out)) == 1
    assert lines(err)[0]["code"] == "page_note" and "http://docs.test/guide" in lines(err)[0]["message"]


def test_of_several_pages_the_good_ones_are_kept(
    docs: Site, other: Site, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    other.pages["/"] = "<p>haystack"
    urls = (
        "http://docs.test/nothing",
        "http://docs.test/guide",
        f"http://127.0.0.1:{docs.port}/guide",
        "http://other.test/",
    )
    assert capy_store(monkeypatch, "fetch", *urls) == 1
    out, err = capfd.readouterr()
    assert [record["url"] for record in lines(out)] == ["http://docs.test/guide", "http://other.test/"]
    assert [(error["code"], error["url"]) for error in lines(err)] == [
        ("not_found", "http://docs.test/nothing"),
        ("refused", f"http://127.0.0.1:{docs.port}/guide"),
    ]
    assert docs.paths == ["/nothing", "/guide"]


def test_without_a_key_nothing_is_fetched(
    docs: Site, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("CAPY_DB_KEY")
    assert capy_store(monkeypatch, "fetch", "http://docs.test/guide") == 6
    assert docs.log == []


def test_a_limit_of_the_project_may_only_be_lower(
    docs: Site, project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (project / ".capy.toml").write_text("[fetch]\nmax_bytes = 20\n", encoding="utf-8")
    assert capy_store(monkeypatch, "fetch", "http://docs.test/guide") == 4
    assert lines(capfd.readouterr().err)[0]["code"] == "too_large"


def test_a_terminal_gets_text(tool: Tool, site: Site) -> None:
    command = [Path(sys.executable).with_name("capy-store"), "fetch", f"http://127.0.0.1:{site.port}/"]
    master, slave = pty.openpty()
    done = subprocess.run(command, stdout=slave, stderr=slave, check=False, timeout=60)
    os.close(slave)
    shown = os.read(master, 10_000).decode()
    os.close(master)
    assert done.returncode == 7 and "127.0.0.1: loopback address; only public addresses" in shown
