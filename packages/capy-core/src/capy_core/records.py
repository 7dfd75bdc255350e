"""JSON records on pipes: NDJSON in and out, UTF-8, one object a line.

Every record names itself in `schema` ("capy.document/1"); a filter passes through fields it does not know.
Lines are split on b"\\n" only, so that U+2028 and its like inside a string never break a record.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from .errors import BadInput

Record = dict[str, Any]

_BOM = b"\xef\xbb\xbf"


def loads(line: bytes | str) -> Any:
    """Parse one JSON value. A lone surrogate escape becomes U+FFFD.

    Raises:
        ValueError: it is not JSON.
    """
    import orjson

    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        # orjson refuses lone surrogates and bytes that are not UTF-8, the standard library does not
        import json

        text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
        try:
            return _whole_characters(json.loads(text, parse_constant=_no_constant))
        except RecursionError:
            raise ValueError("nested too deeply") from None


def dumps(record: Any) -> bytes:
    """One line of JSON with its newline, UTF-8. Lone surrogates become U+FFFD."""
    import orjson

    try:
        return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        # orjson refuses lone surrogates and integers of more than 64 bits, the standard library does not
        import json

        text = json.dumps(_whole_characters(record), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8") + b"\n"


def read_lines(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Lines that are not blank, with their number from 1, without newline and BOM."""
    for number, line in enumerate(stream, 1):
        stripped = (line.removeprefix(_BOM) if number == 1 else line).strip(b"\x00 \t\r\n")
        if stripped:
            yield number, stripped


def parse_record(line: bytes, number: int) -> Record:
    """The record on a line.

    Raises:
        BadInput: the line is not one JSON object; `details` holds its number as `line`.
    """
    try:
        value = loads(line)
    except ValueError as ex:
        raise BadInput(f"line {number} is not JSON ({ex})", "each line must hold one JSON object", line=number) from ex
    if not isinstance(value, dict):
        kind = type(value).__name__
        raise BadInput(f"line {number} holds a JSON {kind}, not an object", "send one object a line", line=number)
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")


def _whole_characters(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list | tuple):
        return [_whole_characters(item) for item in value]
    if isinstance(value, dict):
        return {_whole_characters(key): _whole_characters(item) for key, item in value.items()}
    return value
