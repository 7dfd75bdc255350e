from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capy_core.errors import BadInput
from capy_store import intake

TEXT = "# Größe\nzweite Zeile – “quoted”\n"


def decoded(data: bytes, step: int = 7) -> str:
    """Decode in blocks: a first one that is large enough to tell what it is, then small ones."""
    first = max(200, step)
    blocks = [data[:first], *(data[at : at + step] for at in range(first, len(data), step))]
    return "".join(intake.cleaned(intake.whole_lines(intake.text_blocks(blocks, "x"))))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"])
def test_text_is_decoded_without_its_bom(encoding: str) -> None:
    assert decoded(TEXT.encode(encoding)) == TEXT


def test_latin_1_text_is_readable() -> None:
    assert decoded("Größe\n".encode("latin-1")) == "Größe\n"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。\n", "shift_jis"),
        ("吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。\n", "euc_jp"),
        ("我们在这里测试一下中文文本的编码识别，看看能不能正确地找到它。\n", "gb18030"),
        ("나는 오늘 학교에 갔습니다. 날씨가 매우 좋았습니다.\n", "euc_kr"),
        ("Сегодня хорошая погода, и мы идём гулять в парк.\n", "cp1251"),
    ],
)
def test_text_of_another_script_in_an_older_encoding_is_readable(text: str, encoding: str) -> None:
    assert decoded((text * 4).encode(encoding), step=50) == text * 4


def test_a_broken_byte_in_utf_8_spoils_nothing_around_it() -> None:
    assert decoded("日本\n".encode() + b"a \xff b\n" + "語\n".encode()) == "日本\na ÿ b\n語\n"
    assert decoded("日本語の文\n".encode() * 9 + b"\xff") == "日本語の文\n" * 9 + "ÿ"


def test_a_cut_character_at_the_end_is_no_error() -> None:
    assert decoded("ok 日".encode()[:-1]).startswith("ok ")


@given(
    st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\r\x1b\ufeff"), max_size=200), st.integers(1, 9)
)
@settings(max_examples=200, deadline=None)
def test_utf_8_comes_through_whatever_the_blocks(text: str, step: int) -> None:
    data = text.encode()
    blocks = [data[:64], *(data[at : at + step] for at in range(64, len(data), step))]
    if data[:16].count(0) == 0:  # NULs may make it look like UTF-16
        assert "".join(intake.text_blocks(blocks, "x")) == text


@given(st.binary(max_size=300))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_text_or_are_refused(data: bytes) -> None:
    try:
        "".join(intake.text_blocks([data], "x")).encode()
    except BadInput as ex:
        assert "x is" in ex.message


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "PNG"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "JPEG"),
        (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb", "gzip"),
        (b"\x7fELF\x02\x01\x01" + b"\x00" * 40 + b"\xb8\xff", "ELF"),
        (bytes(range(256)) * 8, "binary"),
    ],
)
def test_what_is_no_text_is_refused_by_its_name(data: bytes, what: str) -> None:
    with pytest.raises(BadInput, match=f"(?s)logo.bin is .*{what}"):
        list(intake.text_blocks([data], "logo.bin"))


def test_a_run_of_nuls_is_text() -> None:
    text = "alpha " + "\x00" * 20_000 + " omega"
    assert decoded(text.encode()) == text


def test_line_ends_become_lf_even_across_blocks() -> None:
    assert decoded(b"a\r\nb\r\n\r\nc\rd", step=1) == "a\nb\n\nc\rd"


def test_colour_codes_are_set_aside() -> None:
    text = "\x1b[1;31mFAILED\x1b[0m test\x1b[K \x1b]8;;http://x\x07link\x1b]8;;\x1b\\ \x1b(B\n"
    assert decoded(text.encode()) == "FAILED test link \n"


def test_runner_time_stamps_are_set_aside_when_every_line_has_one() -> None:
    stamped = "".join(f"2026-03-01T12:00:{n:02d}.1234567Z step {n}\n" for n in range(30))
    assert decoded(stamped.encode(), step=100) == "".join(f"step {n}\n" for n in range(30))
    gitlab = "".join(f"2026-03-01T12:00:{n:02d}.123456Z 00O step {n}\n" for n in range(30))
    assert decoded(gitlab.encode(), step=100) == "".join(f"step {n}\n" for n in range(30))


def test_an_application_s_own_times_stay() -> None:
    log = "".join(f"2026-03-01T12:00:{n:02d}.123Z INFO step {n}\n" for n in range(30))
    assert decoded(log.encode()) == log
    once = "2026-03-01T12:00:00.1234567Z only here\n" + "no stamp\n" * 30
    assert decoded(once.encode()) == once


def test_blocks_end_at_lines_and_endless_lines_are_cut() -> None:
    text = "".join(f"line {n}\n" for n in range(100_000))
    blocks = list(intake.whole_lines(text[at : at + 9999] for at in range(0, len(text), 9999)))
    assert "".join(blocks) == text
    assert len(blocks) > 10 and all(block.endswith("\n") for block in blocks)
    assert list(intake.whole_lines(["a line\n" * 10_000, "a last line without its newline"]))[-1].count("\n") > 1
    blocks = list(intake.whole_lines(["x" * 300_000] * 10))
    assert "".join(blocks) == "x" * 3_000_000
    assert max(map(len, blocks)) <= 2 * intake.LONGEST_LINE
