"""Pages in the store: what a fetch leaves behind, and when it asks the site again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from capy_core.config import Config, FetchConfig
from capy_core.database import write
from capy_core.errors import BadInput, NotFound, Refused, TooLarge
from capy_core.keys import database_key
from capy_store import queries
from capy_store.fetch.stored import Fetched, fetch
from capy_store.store import Store
from web import Site, internet

URL = "http://docs.test/guide"
PAGE = "<title>Guide</title><main><h1>Setup</h1><p>Install the <b>needle</b> first.</p></main>"


@pytest.fixture
def store(tmp_path: Path, key: str) -> Iterator[Store]:
    with Store.open(tmp_path / "kb.db", database_key(Config(), lambda *_: None)) as opened:
        yield opened


def get(store: Store, site: Site, url: str = URL, *, ttl_hours: int = 24, **options: object) -> Fetched:
    return fetch(store, url, FetchConfig(ttl_hours=ttl_hours), network=internet(docs=site), **options)  # type: ignore[arg-type]


def age(store: Store, label: str, hours: float) -> None:
    row = queries.source_by_label(store.db, label)
    assert row is not None
    with write(store.db):
        queries.update_source(store.db, row.id, {"indexed_at": int(time.time() - hours * 3600)})


def test_a_page_is_found_under_its_url(store: Store, site: Site) -> None:
    site.pages["/guide"] = PAGE
    fetched = get(store, site, URL + "#part")
    assert (fetched.result.source, fetched.result.status, fetched.result.kind) == (URL, "indexed", "ephemeral")
    assert (fetched.url, fetched.final_url, fetched.status_code, fetched.title) == (URL, URL, 200, "Guide")
    assert (fetched.cached, fetched.age_s, fetched.bytes) == (False, 0, len(PAGE))
    document = store.document(URL)
    assert document["content"].strip() == "# Setup\n\nInstall the **needle** first."
    assert (document["url"], document["title"]) == (URL, "Guide")
    hits = store.search("install needle", kinds=["ephemeral"]).hits
    assert [(hit.label, hit.url) for hit in hits] == [(URL, URL)]


def test_a_fresh_page_is_answered_from_the_store(store: Store, site: Site) -> None:
    site.pages["/guide"] = PAGE
    first = get(store, site)
    age(store, URL, 23)
    again = get(store, site, URL + "#other")
    assert len(site.log) == 1
    assert again.cached and again.age_s == pytest.approx(23 * 3600, abs=60)
    assert again.result.status == "unchanged" and again.result.chunks == first.result.chunks
    assert (again.final_url, again.status_code, again.media_type, again.bytes, again.title) == (
        first.final_url, first.status_code, first.media_type, first.bytes, first.title,
    )  # fmt: skip


def test_an_old_page_is_fetched_again_and_becomes_fresh(store: Store, site: Site) -> None:
    site.pages["/guide"] = PAGE
    get(store, site)
    age(store, URL, 25)
    assert not get(store, site).cached
    assert get(store, site).cached
    assert len(site.log) == 2


def test_force_ttl_zero_and_another_kind_fetch_again(store: Store, site: Site) -> None:
    site.pages["/guide"] = PAGE
    get(store, site)
    assert not get(store, site, force=True).cached
    assert not get(store, site, ttl_hours=0).cached
    durable = get(store, site, kind="durable")
    assert not durable.cached and durable.result.kind == "durable"
    assert get(store, site, kind="durable").cached
    assert not get(store, site).cached
    assert len(site.log) == 5


def test_another_url_under_the_same_label_is_no_answer(store: Store, site: Site) -> None:
    site.pages |= {"/guide": PAGE, "/other": "<p>haystack</p>"}
    assert get(store, site, label="docs").result.source == "docs"
    other = get(store, site, "http://docs.test/other", label="docs")
    assert not other.cached and other.result.status == "replaced" and other.url == "http://docs.test/other"
    assert site.paths == ["/guide", "/other"]
    assert get(store, site, "http://docs.test/other", label="docs").cached


def test_a_page_that_changed_is_replaced(store: Store, site: Site) -> None:
    site.pages["/guide"] = PAGE
    get(store, site)
    site.pages["/guide"] = PAGE.replace("needle", "thread")
    assert get(store, site, force=True).result.status == "replaced"
    assert "thread" in store.document(URL)["content"]
    assert len(list(store.sources())) == 1


def test_a_site_may_say_that_nothing_changed(store: Store, site: Site) -> None:
    site.pages["/guide"] = (
        200,
        {"Content-Type": "text/html", "ETag": '"v1"', "Last-Modified": "yesterday"},
        PAGE.encode(),
    )
    get(store, site)
    age(store, URL, 30)
    site.pages["/guide"] = (304, {}, b"")
    same = get(store, site)
    assert site.log[-1][1]["If-None-Match"] == '"v1"' and site.log[-1][1]["If-Modified-Since"] == "yesterday"
    assert (same.cached, same.result.status, same.status_code) == (False, "unchanged", 200)
    assert get(store, site).cached
    get_all = (200, {"Content-Type": "text/html"}, PAGE.encode())
    site.pages["/guide"] = get_all
    get(store, site, force=True)
    assert "If-None-Match" not in site.log[-1][1]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ((404, {}, b"<p>needle"), NotFound),
        ((200, {"Content-Type": "text/html"}, b""), BadInput),
        ((200, {"Content-Type": "text/plain", "Content-Length": "99"}, b"needle cut short"), NotFound),
        ((200, {"Content-Type": "text/plain"}, b"needle " * 4000), TooLarge),
        ((302, {"Location": "http://127.0.0.1/"}, b"needle"), Refused),
    ],
)
def test_nothing_of_a_failed_fetch_is_stored_and_the_old_page_stays(
    store: Store, site: Site, answer: tuple[int, dict[str, str], bytes], error: type[Exception]
) -> None:
    site.pages["/guide"] = PAGE
    get(store, site)
    site.pages["/guide"] = site.pages["/new"] = answer
    for url in (URL, "http://docs.test/new"):
        with pytest.raises(error):
            fetch(store, url, FetchConfig(max_bytes=20_000), force=True, network=internet(docs=site))
    assert [record["label"] for record in store.sources()] == [URL]
    assert store.document(URL)["content"].startswith("# Setup")


def test_a_secret_in_a_url_is_not_stored_and_such_pages_are_not_taken_for_each_other(store: Store, site: Site) -> None:
    one, two = (f"/api?api_key=sk-ant-api03-{letter * 40}" for letter in "ab")
    site.pages |= {one: "<p>answer one</p>", two: "<p>answer two</p>"}
    first = get(store, site, f"http://docs.test{one}")
    assert "aaaa" not in first.result.source
    second = get(store, site, f"http://docs.test{two}")
    assert not second.cached and len(site.log) == 2
    assert "answer two" in store.document(second.result.source)["content"]


def test_a_session_is_no_kind_of_page(store: Store, site: Site) -> None:
    with pytest.raises(BadInput) as caught:
        get(store, site, kind="session")
    assert caught.value.hint == "use one of ephemeral, durable"
    assert site.log == []


@pytest.mark.parametrize(
    ("path", "media", "body", "content_type"),
    [
        ("/a.json", "application/json", b'{"needle": [1, 2]}', "json"),
        ("/feed", "application/atom+xml", b"<feed><title>needle</title></feed>", "text"),
        ("/a.md", "text/plain", b"# Title\n\nneedle\n", "markdown"),
        ("/b", "text/markdown; charset=utf-8", b"# Title\n\nneedle\n", "markdown"),
        ("/notes.txt", "text/plain", b"One needle in a paragraph of prose.\n", "text"),
        ("/x.js", "text/javascript", b"function needle() { return 1 }\n", "code"),
        ("/utf16", "text/html; charset=utf-16", "<p>needle</p>".encode("utf-16"), "markdown"),
    ],
)
def test_content_of_other_types_is_stored_as_it_is(
    store: Store, site: Site, path: str, media: str, body: bytes, content_type: str
) -> None:
    site.pages[path] = (200, {"Content-Type": media}, body)
    assert get(store, site, f"http://docs.test{path}").result.content_type == content_type
    assert [hit.label for hit in store.search("needle", kinds=["ephemeral"]).hits] == [f"http://docs.test{path}"]
