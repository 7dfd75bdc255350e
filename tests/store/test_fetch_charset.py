"""Bytes to text: what the page says, what its bytes say, and a guess."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capy_store.fetch.charset import codec, decode

CHINESE = "这是一个中文网页，用来测试字符编码。北京今天天气很好。"
JAPANESE = "これは日本語の文章です。東京都の天気は晴れ、①②③。"


def test_the_header_names_the_encoding() -> None:
    decoded = decode(CHINESE.encode("gbk"), "GBK")
    assert (decoded.text, decoded.charset, decoded.guessed) == (CHINESE, "gb18030", False)


@pytest.mark.parametrize(
    "meta",
    [
        '<meta charset="Shift_JIS">',
        "<META http-equiv=Content-Type content='text/html; charset=shift_jis'>",
        "<!-- <meta charset=utf-8> --><meta charset=x-sjis>",
        '<?xml version="1.0" encoding="Shift_JIS"?>',
    ],
)
def test_the_page_itself_names_the_encoding(meta: str) -> None:
    page = f"{meta}<p>{JAPANESE}"
    decoded = decode(page.encode("cp932"))
    assert (decoded.text, decoded.charset, decoded.guessed) == (page, "cp932", False)


def test_a_byte_order_mark_wins_over_the_header() -> None:
    text = "naïve café ‘quoted’"
    for bom, name in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        decoded = decode(bom + text.encode(name), "iso-8859-1")
        assert (decoded.text, decoded.charset, decoded.guessed) == (text, name, False)


def test_utf16_is_read_by_its_label_or_by_its_zeros() -> None:
    page = "<html><body>Ein Gruß aus dem Süden, mit UTF-16</body></html>"
    assert decode(page.encode("utf-16-le"), "utf-16").text == page
    assert decode(page.encode("utf-16-be"), "utf-16be").text == page
    for name in ("utf-16-le", "utf-16-be"):
        decoded = decode(page.encode(name))
        assert (decoded.text, decoded.charset, decoded.guessed) == (page, name, True)


def test_a_meta_that_says_utf16_in_ascii_bytes_is_wrong() -> None:
    page = "<meta charset=utf-16><p>Gruß"
    assert decode(page.encode()).text == page


@pytest.mark.parametrize("label", ["nonsense", "", "utf-7", "base64", "idna", "unicode_escape", "undefined", "\0", "ü"])
def test_a_label_that_is_no_encoding_of_the_web_falls_through(label: str) -> None:
    assert codec(label) == ""
    decoded = decode("Gruß, naïve".encode(), label)
    assert (decoded.text, decoded.charset) == ("Gruß, naïve", "utf-8")
    assert decode(b"1 +AD0- 2", label).text == "1 +AD0- 2"


def test_latin1_means_windows_1252() -> None:
    assert decode(b"\x93quoted\x94 \x80 5 \x85", "ISO-8859-1").text == "“quoted” € 5 …"
    assert decode(b"\x93quoted\x94", "us-ascii").text == "“quoted”"


def test_utf8_under_a_western_label_is_read_as_utf8_and_said() -> None:
    decoded = decode("schön – ‘gut’".encode(), "iso-8859-1")
    assert (decoded.text, decoded.charset, decoded.guessed) == ("schön – ‘gut’", "utf-8", True)
    assert not decode("<meta charset=utf-8>schön".encode(), "iso-8859-1").guessed


def test_a_label_that_the_bytes_contradict_gives_way_to_the_next() -> None:
    page = f"<meta charset=gbk><p>{CHINESE}"
    assert decode(page.encode("gbk"), "utf-8").text == page
    assert decode(CHINESE.encode(), "shift_jis").text == CHINESE
    decoded = decode("déjà vu à l'été".encode("latin-1"), "utf-8")
    assert (decoded.text, decoded.guessed) == ("déjà vu à l'été", True)


def test_a_damaged_character_does_not_make_the_label_wrong() -> None:
    for text, name, label in ((CHINESE, "gbk", "gbk"), ("Съешь же ещё этих булок", "utf-8", "utf-8")):
        decoded = decode(text.encode(name) + b"\xff", label)
        assert decoded.text.startswith(text) and decoded.charset == codec(label) and not decoded.guessed


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Le café est fermé à Noël; l'élève naïf, œuvre déjà vu, garçon français.", "cp1252"),
        ("Größe, Übermut und ähnliche Fälle müssen später geprüft werden.", "cp1252"),
        ("El niño comió una piña mañana, ¿qué pasó? La canción está aquí.", "cp1252"),
        ("Proszę państwa, już dziś świeże bułki i mąka na łące, gęślą jaźń.", "cp1250"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy a člověk se směje každý den.", "cp1250"),
        ("Türkçe bir cümle: şimdi güneş doğuyor, ağaçlar yeşil, çocuklar mutlu.", "cp1254"),
        ("Съешь же ещё этих мягких французских булок да выпей чаю.", "cp1251"),
        ("Съешь же ещё этих мягких французских булок да выпей чаю.", "koi8-r"),
        ("これは日本語の文章です。文字コードの推定を確かめます。東京都の天気は晴れです。", "euc_jp"),
        (JAPANESE, "cp932"),
        (CHINESE, "gb18030"),
        ("이것은 한국어 문장입니다. 서울의 날씨는 맑습니다.", "cp949"),
    ],
)
def test_without_any_label_the_encoding_is_guessed_and_said(text: str, name: str) -> None:
    decoded = decode(f"<p>{text}</p>".encode(name))
    assert (decoded.text, decoded.charset, decoded.guessed) == (f"<p>{text}</p>", name, True)


def test_plain_ascii_needs_no_guess() -> None:
    assert not decode(b"plain").guessed and not decode(b"").guessed


@given(
    st.binary(max_size=300), st.sampled_from(["", "utf-8", "gbk", "shift_jis", "utf-16", "latin1", "iso-2022-jp", "x"])
)
def test_any_bytes_give_a_text(data: bytes, label: str) -> None:
    decoded = decode(data, label)
    assert decoded.text.encode("utf-8", "surrogatepass").decode() == decoded.text  # no lone surrogates
