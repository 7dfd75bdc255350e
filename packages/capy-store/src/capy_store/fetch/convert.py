"""From the bytes of an answer to a text for the store: which kind of content is it, and what does it read as."""

from __future__ import annotations

import re
from dataclasses import dataclass

from capy_core.errors import BadInput

from .charset import Decoded, decode

_HTML = ("text/html", "application/xhtml+xml")
_JSON = ("application/json", "text/json", "text/x-json", "application/manifest+json")
_MARKDOWN = ("text/markdown", "text/x-markdown")
_CODE = ("text/javascript", "application/javascript", "application/x-javascript", "application/typescript", "text/css")
_UNKNOWN = ("", "application/octet-stream", "binary/octet-stream", "application/x-binary", "application/unknown", "*/*")
_BINARY_FAMILIES = ("image/", "audio/", "video/", "font/", "model/")
_BINARY = re.compile(
    r"application/(?:pdf|zip|gzip|x-gzip|x-tar|x-bzip2?|x-xz|zstd|x-7z-compressed|vnd\.rar|x-rar-compressed"
    r"|java-archive|wasm|msword|vnd\.ms-.+|vnd\.openxmlformats-.+|vnd\.oasis\.opendocument\..+|epub\+zip|rtf)"
)
_MAGIC = (
    (b"%PDF-", "a PDF"),
    (b"\x89PNG\r\n", "a PNG image"),
    (b"GIF8", "a GIF image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"RIFF", "a RIFF file (WebP, WAV)"),
    (b"PK\x03\x04", "a ZIP archive (or an Office file)"),
    (b"\x1f\x8b\x08", "a gzip file"),
    (b"BZh", "a bzip2 file"),
    (b"\xfd7zXZ\x00", "an xz file"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"\x7fELF", "an ELF program"),
    (b"\x00asm", "a WebAssembly module"),
    (b"SQLite format 3\x00", "an SQLite database"),
)
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\ufffd]")
_SNIFFED = 512
_PROLOGUE_SIZE = 4096
_PROLOGUE = re.compile(r"<!--.*?-->|<\?.*?\?>", re.DOTALL)
_HTML_START = re.compile(r"\s*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_XHTML_START = re.compile(r"\s*(?:<!DOCTYPE[^>]*>\s*)?<html\b[^>]*1999/xhtml")


@dataclass(frozen=True)
class Content:
    """A readable page.

    Args:
        text: Markdown for HTML, else the text as it came.
        content_type: markdown, json, code or text for the store, or "" where the store is to find out.
        title: what the page calls itself, or "".
        charset: how the bytes were read.
        notes: what a reader should know about it, one sentence each.
    """

    text: str
    content_type: str
    title: str
    charset: str
    notes: tuple[str, ...] = ()


def media_type(header: str) -> tuple[str, str]:
    """Media type and charset of a Content-Type header, lower case, each "" when it does not say."""
    kind, _, parameters = header.partition(";")
    match = re.search(r"\bcharset\s*=\s*[\"']?\s*([^\s;\"']+)", parameters, re.IGNORECASE)
    return kind.strip().lower(), match[1] if match else ""


def refuse_binary(media: str) -> None:
    """Refuse by its media type alone what has no text, before its body is read.

    Raises:
        BadInput: an image, sound, archive, Office file, ...
    """
    family = next((family for family in _BINARY_FAMILIES if media.startswith(family)), "")
    if (family or _BINARY.fullmatch(media)) and not media.endswith("+xml"):
        raise _binary(media)


def convert(data: bytes, header: str, url: str) -> Content:
    """Read a body.

    Args:
        data: the body, decompressed.
        header: its Content-Type, or "".
        url: where it came from.

    Raises:
        BadInput: it is empty, shows no text, or is binary.
    """
    media, charset = media_type(header)
    refuse_binary(media)
    if not data.strip(b"\x00 \t\r\n\f"):
        raise BadInput("the page is empty", "check the URL in a browser")
    for magic, name in _MAGIC:
        if data.startswith(magic):
            raise _binary(name)
    decoded = decode(data, charset)
    _refuse_binary_text(decoded.text, media)
    guess = f"the page does not say its encoding, or says it wrong; read as {decoded.charset}"
    notes = (guess,) if decoded.guessed else ()
    start = _PROLOGUE.sub("", decoded.text[:_PROLOGUE_SIZE])
    if media in _HTML or (media in _UNKNOWN and _HTML_START.match(start)):
        return _html(decoded, url, notes, xml=media == "application/xhtml+xml")
    if media.endswith("/xml") and _XHTML_START.match(start):
        return _html(decoded, url, notes, xml=True)
    return Content(decoded.text, _content_type(media, url), "", decoded.charset, notes)


def _html(decoded: Decoded, url: str, notes: tuple[str, ...], *, xml: bool) -> Content:
    from .html.markdown import to_markdown

    page = to_markdown(decoded.text, url, xml=xml)
    if not page.text:
        if page.refresh:
            raise BadInput(f"the page holds no text, only a refresh to {page.refresh}", f"fetch {page.refresh}")
        raise BadInput("the page shows no text without its scripts", "look for its data or its printable form")
    if page.refresh:
        notes = (*notes, f"the page refreshes to {page.refresh}, which was not followed")
    return Content(page.text, "markdown", page.title, decoded.charset, notes)


def _content_type(media: str, url: str) -> str:
    path = url.partition("?")[0].lower()
    if media in _JSON or media.endswith("+json"):
        return "json"
    if media in _MARKDOWN or (media in ("text/plain", *_UNKNOWN) and path.endswith((".md", ".markdown"))):
        return "markdown"
    if media in _CODE:
        return "code"
    return "text" if media.endswith(("/xml", "+xml")) else ""


def _refuse_binary_text(text: str, media: str) -> None:
    """Bytes that decode to many control characters are no text; a NUL is enough where nobody calls it text."""
    start = text[:_SNIFFED]
    controls = len(_CONTROLS.findall(start))
    if controls * 10 > len(start) or ("\x00" in start and not media.startswith("text/")):
        raise _binary(media or "content of an unnamed type")


def _binary(name: str) -> BadInput:
    return BadInput(
        f"the page is {name}: no text to index",
        "download it and convert it to text first: CONVERTER FILE | capy-store index --label NAME",
        media_type=name,
    )
