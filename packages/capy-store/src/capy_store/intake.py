"""Bytes as they come -> text that can be indexed: decoded, LF line ends, no colour codes, no runner time stamps.

Everything works on blocks, so that a stream of any length passes in flat memory. A block ends at the end of a line
where there is one within `LONGEST_LINE`.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from itertools import chain

from capy_core.errors import BadInput

LONGEST_LINE = 1 << 20
_LAST = 1 << 14
_SAMPLE = 1 << 16

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# The first bytes of files that are no text, whatever else they hold
_MAGIC = {
    b"\x89PNG": "a PNG image", b"\xff\xd8\xff": "a JPEG image", b"GIF8": "a GIF image", b"PK\x03\x04": "a ZIP archive",
    b"\x1f\x8b": "gzip data", b"BZh": "bzip2 data", b"\xfd7zXZ": "xz data", b"\x28\xb5\x2f\xfd": "zstd data",
    b"7z\xbc\xaf": "a 7z archive", b"\x7fELF": "an ELF program", b"MZ": "a Windows program", b"%PDF-": "a PDF file",
    b"SQLite format 3\x00": "an SQLite database", b"\xca\xfe\xba\xbe": "a compiled program",
    b"\x00asm": "a WebAssembly program", b"wOFF": "a font", b"wOF2": "a font", b"OggS": "Ogg media",
    b"ID3": "MP3 audio", b"RIFF": "RIFF media",
}  # fmt: skip

# Encodings of scripts that use more than a few bytes above ASCII; Western text is read byte by byte as Windows-1252
_OLDER = ["cp932", "euc_jp", "gb18030", "big5hkscs", "cp949", "cp1251", "koi8_r", "cp1253"]

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[()*+][0-9A-Za-z]|[@-Z\\^_])")
# GitHub's runner: seven digits of a second; GitLab's: six, then stream number, O or E, and + for a continued line
_STAMP = re.compile(r"^\ufeff?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.(?:\d{7}Z ?|\d{6}Z \d\d[OE][ +])", re.MULTILINE)


def text_blocks(blocks: Iterable[bytes], name: str) -> Iterator[str]:
    """Decode blocks of bytes: by BOM, else UTF-8, whose odd bytes are read as Windows-1252, or an older encoding.

    Raises:
        BadInput: the first block is not text; the message says what it is.
    """
    source = iter(blocks)
    first = next(source, b"")
    encoding, skip = _encoding(first, name)
    decoder = codecs.getincrementaldecoder(encoding)(_Mixed.name if encoding == "utf-8" else "replace")
    for block in chain((first[skip:],), source):
        yield decoder.decode(block)
    yield decoder.decode(b"", True)


def whole_lines(blocks: Iterable[str]) -> Iterator[str]:
    """The same text in blocks that end after a newline; a line longer than `LONGEST_LINE` comes in several.

    The last block is the whole text or `_LAST` characters at least: a last line without its newline, or the little
    that the redactor held back, must not become a chunk of its own.
    """
    rest = ""
    for block in blocks:
        rest += block
        if len(rest) < 4 * _LAST:  # a chunk ends where a block ends: small blocks would make small chunks
            continue
        end = rest.rfind("\n", 0, len(rest) - _LAST) + 1
        if end == 0 and len(rest) > LONGEST_LINE + _LAST:
            end = max(rest.rfind(mark, LONGEST_LINE // 2, LONGEST_LINE) for mark in " ,;>}") + 1 or LONGEST_LINE
        if end:
            yield rest[:end]
            rest = rest[end:]
    if rest:
        yield rest


def cleaned(blocks: Iterable[str]) -> Iterator[str]:
    """Blocks of whole lines without CR before LF, colour codes and, where every line bears one, runner time stamps."""
    stamped = None
    for block in blocks:
        if stamped is None:
            block = block.removeprefix("\ufeff")
        if "\r" in block:
            block = block.replace("\r\n", "\n")
        if "\x1b" in block:
            block = _ANSI.sub("", block)
        if stamped is None and block.strip():
            stamped = _is_stamped(block[:_SAMPLE])
        yield _STAMP.sub("", block) if stamped else block


def _is_stamped(sample: str) -> bool:
    lines = [line for line in sample.split("\n")[:40] if line.strip()]
    return sum(bool(_STAMP.match(line)) for line in lines) >= 0.9 * len(lines)


def _encoding(first: bytes, name: str) -> tuple[str, int]:
    """The encoding of a text by its first block, and the length of its BOM."""
    for bom, encoding in _BOMS:
        if first.startswith(bom):
            return encoding, len(bom)
    for magic, what in _MAGIC.items():
        if first.startswith(magic) and not _is_utf8(first):
            raise BadInput(f"{name} is {what}, not text", "convert it to text first", label=name)
    sample = first[:_SAMPLE]
    if b"\x00" in sample:
        for encoding, zeros in (("utf-16-le", sample[1::2]), ("utf-16-be", sample[::2])):
            if zeros.count(0) > 0.4 * len(zeros) and sample.count(0) == zeros.count(0):
                return encoding, 0
    if _is_utf8(first):
        return "utf-8", 0
    if _looks_binary(sample):
        raise BadInput(f"{name} is binary data, not text", "convert it to text first", label=name)
    return _guess(sample), 0


def _guess(sample: bytes) -> str:
    """ "utf-8", unless most of the bytes are of another script in an older encoding; a few odd bytes do not count."""
    high = len(sample.translate(None, bytes(range(128))))
    odd = sample.decode("utf-8", "replace").count("\ufffd")
    if len(sample) < 32 or high < 0.3 * len(sample) or odd < 0.1 * high:
        return "utf-8"
    from charset_normalizer import from_bytes

    whole_lines = sample[: sample.rfind(b"\n") + 1] or sample  # no character cut in two
    best = from_bytes(whole_lines, cp_isolation=_OLDER).best()
    return best.encoding if best else "utf-8"


def _is_utf8(block: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(block)
    except UnicodeDecodeError:
        return False
    return True


def _looks_binary(sample: bytes) -> bool:
    control = len(sample.translate(None, bytes(set(range(256)) - set(range(32)) | set(b"\t\n\r\x0c\x1b"))))
    return control > 0.02 * len(sample)


class _Mixed:
    """A codec error handler: bytes that are not UTF-8 are Windows-1252, so that a Latin-1 text or line survives."""

    name = "capy-windows-1252"

    @staticmethod
    def replace(error: UnicodeError) -> tuple[str, int]:
        assert isinstance(error, UnicodeDecodeError)
        bad = error.object[error.start : error.end]
        return bad.decode("cp1252", "replace") if bad.isascii() else _from_1252(bad), error.end


def _from_1252(bad: bytes) -> str:
    try:
        return bad.decode("cp1252")
    except UnicodeDecodeError:
        return bad.decode("latin-1")


codecs.register_error(_Mixed.name, _Mixed.replace)
