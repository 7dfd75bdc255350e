"""Bytes to text: what the page says about its encoding, checked against the bytes, then a guess.

Order as in the WHATWG standards (encoding.spec.whatwg.org; HTML, "determining the character encoding"): byte order
mark, HTTP header, `<meta>` or XML declaration. A label that the bytes contradict gives way to a reading they fit, so
that no replacement character is stored where a clean reading exists.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_META = re.compile(rb"<meta\b[^>]{0,500}?\bcharset\s*=\s*[\"']?\s*([\w.:+-]{1,40})", re.IGNORECASE)
_XML = re.compile(rb"\A\s*<\?xml\b[^>]{0,200}?\bencoding\s*=\s*[\"']([\w.:+-]{1,40})", re.IGNORECASE)
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_PRESCAN = 4096  # the standard looks at 1,024 bytes; some pages put a script first
_SAMPLE = 64 * 1024  # enough for a guess


def _names(text: str) -> list[str]:
    return text.split()


# Where the web means a larger set than the label says, and labels Python does not know (the standard's table).
_MEANT = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "utf-16": "utf-16-le",
}
_UNKNOWN_TO_PYTHON = {
    "windows-31j": "cp932",
    "windows-949": "cp949",
    "windows-874": "cp874",
    "iso-8859-8-i": "iso8859-8",
}
# Python's names of the standard's encodings. Anything else (utf-7, idna, base64, ...) is not a page's encoding.
_SINGLE_BYTE = _names(
    "cp866 iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-10 iso8859-13 iso8859-14"
    " iso8859-15 iso8859-16 koi8-r koi8-u mac-roman mac-cyrillic cp874 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255"
    " cp1256 cp1257 cp1258"
)
_OTHERS = _names("utf-8 utf-16-le utf-16-be gb18030 big5hkscs euc_jp iso2022_jp cp932 cp949")
# What is still met without a label; a short list guesses better and faster than all of Python's.
_GUESSED = _names("cp1252 cp1250 cp1251 koi8_r cp1253 cp1254 cp1255 cp1256 cp874 cp932 euc_jp gb18030 big5hkscs cp949")


@dataclass(frozen=True)
class Decoded:
    """Text and how it was read. `guessed`: the page did not say so, or its bytes contradicted what it said."""

    text: str
    charset: str
    guessed: bool = False


def decode(data: bytes, header_charset: str = "") -> Decoded:
    """Read a page's bytes. Never fails: bytes that fit nothing become U+FFFD.

    Args:
        header_charset: the label in the Content-Type header, or "".
    """
    for bom, name in _BOMS:
        if data.startswith(bom):
            return Decoded(data[len(bom) :].decode(name, "replace"), name)
    stated = [name for name in (codec(header_charset), _declared(data)) if name]
    if not stated and (utf16 := _utf16_by_zeros(data)):
        return Decoded(data.decode(utf16, "replace"), utf16, guessed=True)
    # Real text in a single-byte set is practically never valid UTF-8: such a label is a server's default
    doubtful = bool(stated) and stated[0] in _SINGLE_BYTE and not data.isascii()
    for name in (["utf-8"] if doubtful else []) + [*stated, "utf-8"]:
        try:
            return Decoded(data.decode(name), name, guessed=name not in stated and not data.isascii())
        except UnicodeDecodeError:
            continue
    for name in stated:
        text = data.decode(name, "replace")
        if _mostly_right(text):
            return Decoded(text, name)
    name = _guess(data)
    return Decoded(data.decode(name, "replace"), name, guessed=True)


def codec(label: str) -> str:
    """Python's name for an encoding label of the web, or "" when it is none."""
    label = label.strip(" \t\r\n\"'").lower().removeprefix("x-")
    try:
        name = _UNKNOWN_TO_PYTHON.get(label) or codecs.lookup(label).name
    except (LookupError, ValueError):  # ValueError: a NUL in the label
        return ""
    name = _MEANT.get(name, name)
    return name if name in _SINGLE_BYTE or name in _OTHERS else ""


def _declared(data: bytes) -> str:
    """The encoding in `<meta charset>`, `<meta http-equiv>` or the XML declaration."""
    head = _COMMENT.sub(b"", data[:_PRESCAN])
    match = _XML.search(head) or _META.search(head)
    name = codec(match[1].decode("ascii", "replace")) if match else ""
    return "utf-8" if name.startswith("utf-16") else name  # it could be read as ASCII, so it is not UTF-16


def _utf16_by_zeros(data: bytes) -> str:
    """UTF-16 without a mark: in markup and Western text every second byte is zero."""
    head = data[:512]
    even, odd = head[::2].count(0), head[1::2].count(0)
    if len(head) < 8 or max(even, odd) < len(head) // 5 or min(even, odd) > len(head) // 50:
        return ""
    return "utf-16-be" if even > odd else "utf-16-le"


def _mostly_right(text: str) -> bool:
    """One damaged character in ten that are not ASCII is a damaged page, not a wrong label."""
    damaged = text.count("\ufffd")
    return damaged * 10 <= len(text) - len(text.encode("ascii", "ignore")) - damaged


def _guess(data: bytes) -> str:
    from charset_normalizer import from_bytes

    first = re.search(rb"[\x80-\xff]", data)
    start = max(0, first.start() - 1000) if first else 0
    sample = data[start : start + _SAMPLE]
    best = from_bytes(sample, cp_isolation=_GUESSED).best()
    name = codec(best.encoding) if best else "cp1252"
    return _latin(sample) if name in ("cp1250", "cp1252", "cp1254") else name or "cp1252"


def _latin(sample: bytes) -> str:
    """Western, Central European or Turkish: the statistics of charset_normalizer mix up their accents.

    Read as Western, Polish shows symbols inside words, Czech both a Danish and an Italian letter, Turkish an
    Icelandic one beside a c with cedilla.
    """
    text = sample.decode("cp1252", "replace")
    letters = set(text)
    if re.search(r"[a-z][¹³¿£¥\ufffd][a-z]", text) or {"ì", "ø"} <= letters:
        return "cp1250"
    return "cp1254" if {"þ", "ç"} <= letters else "cp1252"
