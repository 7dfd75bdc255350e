"""Which kind of content a body is, and which bodies are no text."""

from __future__ import annotations

import gzip
import io
import zipfile

import pytest

from capy_core.errors import BadInput
from capy_store.fetch.convert import convert, media_type

URL = "https://docs.test/page"
PNG = b"\x89PNG\r\n\x1a\n" + b"\x00\x00\x00\rIHDR" + bytes(200)


def archive() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("a.txt", "x")
    return file.getvalue()


@pytest.mark.parametrize(
    ("header", "parts"),
    [
        ("text/html", ("text/html", "")),
        ('Text/HTML; x=y; CHARSET="GBK"', ("text/html", "GBK")),
        ("text/html;charset = utf-8;", ("text/html", "utf-8")),
        ("", ("", "")),
    ],
)
def test_a_content_type_has_a_media_type_and_a_charset(header: str, parts: tuple[str, str]) -> None:
    assert media_type(header) == parts


@pytest.mark.parametrize(
    ("header", "path", "content_type"),
    [
        ("application/json", "/x", "json"),
        ("application/problem+json; charset=utf-8", "/x", "json"),
        ("text/markdown", "/x", "markdown"),
        ("text/plain", "/README.md?raw=1", "markdown"),
        ("", "/README.markdown", "markdown"),
        ("application/octet-stream", "/README.md", "markdown"),
        ("text/plain", "/x.txt", ""),
        ("application/x-ndjson", "/x", ""),
        ("application/rss+xml", "/x", "text"),
        ("image/svg+xml", "/x.svg", "text"),
        ("application/javascript", "/x.js", "code"),
    ],
)
def test_text_stays_as_it_came(header: str, path: str, content_type: str) -> None:
    text = "# one\r\n<b>two</b>\u2028three \x1b[31m"
    content = convert(text.encode(), header, "https://docs.test" + path)
    assert (content.text, content.content_type, content.charset) == (text, content_type, "utf-8")


@pytest.mark.parametrize(
    ("header", "body"),
    [
        ("text/html", "<p>needle"),
        ("application/xhtml+xml", "<script src='x'/><p>needle</p>"),
        ("", "<!-- c --><?xml version='1.0'?> <!DOCTYPE html><p>needle"),
        ("application/octet-stream", "\n<HTML><body>needle"),
        ("application/xml", '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><p>needle</p></html>'),
    ],
)
def test_html_is_recognised_by_its_type_or_its_start(header: str, body: str) -> None:
    content = convert(body.encode(), header, URL)
    assert (content.text, content.content_type) == ("needle", "markdown")


def test_comments_before_the_start_take_no_time() -> None:
    assert convert(b"<!-- -->" * 2000 + b"needle", "", URL).text.endswith("needle")


@pytest.mark.parametrize("header", ["image/png", "", "application/octet-stream", "text/html", "text/plain"])
def test_a_png_is_no_text_whatever_its_type(header: str) -> None:
    with pytest.raises(BadInput, match="no text to index"):
        convert(PNG, header, URL)


@pytest.mark.parametrize(
    ("header", "body"),
    [
        ("application/pdf", b"anything"),
        ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", b"anything"),
        ("video/mp4", b"anything"),
        ("", b"%PDF-1.7\n..."),
        ("", archive()),
        ("text/plain", gzip.compress(b"x", mtime=0)),
        ("", b"MZ\x90\x00\x03\x00\x00\x00"),
        ("application/x-thing", b"some text\x00and a NUL"),
        ("text/plain", bytes(range(1, 9)) * 20),
    ],
)
def test_binary_content_is_refused_by_name(header: str, body: bytes) -> None:
    with pytest.raises(BadInput) as caught:
        convert(body, header, URL)
    assert "no text to index" in caught.value.message and caught.value.hint


def test_a_nul_far_into_the_text_is_no_reason() -> None:
    body = b"word " * 120 + b"\x00 end"
    assert convert(body, "application/x-thing", URL).text.endswith("end")
    assert convert(b"one\x00two" + b" more words" * 3, "text/plain", URL).text.startswith("one")


@pytest.mark.parametrize("body", [b"", b" \r\n\t", b"\x00\x00"])
def test_an_empty_page_is_an_error(body: bytes) -> None:
    with pytest.raises(BadInput, match="the page is empty"):
        convert(body, "text/html", URL)


def test_a_page_without_text_is_an_error() -> None:
    with pytest.raises(BadInput, match="shows no text without its scripts"):
        convert(b"<title>App</title><div id=root></div><script>start()</script>", "text/html", URL)


def test_a_guessed_encoding_is_noted() -> None:
    content = convert("<p>déjà vu à l'été".encode("latin-1"), "text/html", URL)
    assert content.text == "déjà vu à l'été" and "read as cp1252" in content.notes[0]
    assert convert(b"<p>plain", "text/html", URL).notes == ()
