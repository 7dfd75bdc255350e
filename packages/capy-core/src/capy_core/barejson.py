"""JSON for a process that lives for milliseconds: the standard library's own scanner without the `re` behind it.

`import json` compiles regular expressions for what its C scanner does alone, and takes almost as long as the
interpreter takes to start. A hook reads one object and writes one; this is enough for both.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_SPACE = " \t\r\n\0"  # what some hosts leave behind a document, NUL included


class _Settings:
    """What the C scanner asks of a `json.JSONDecoder`."""

    strict = False  # a raw tab or line break in a string is read as itself: better decided than refused
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int

    @staticmethod
    def parse_constant(name: str) -> None:
        """NaN and Infinity are not JSON, and could not be written back."""
        return


def decode(data: bytes | bytearray) -> Any:
    """The value of one JSON document, as `json.loads` gives it, but never with half a surrogate pair in it.

    A byte order mark, and white space or NULs around the document, are skipped. Bytes that are not UTF-8 and lone
    surrogates become U+FFFD, NaN and Infinity become None. Of equal keys the last counts.

    Raises:
        ValueError: it is not one JSON document.
        RecursionError: it is nested too deeply.
    """
    text = data.decode("utf-8-sig", "replace").strip(_SPACE)
    try:
        value, end = _scanner()(text, 0)
    except (StopIteration, SystemError):  # the second: up to 3.11 it has its error class only where json is loaded
        raise ValueError("not a JSON document") from None
    if end != len(text):
        raise ValueError("more than one JSON document")
    return _mended(value) if "\\ud" in text or "\\uD" in text else value


def encode(value: object) -> bytes:
    """A value as one JSON document in ASCII: dicts with text keys, lists, tuples, texts, numbers, booleans and None."""
    return _written(value, _quoter()).encode("ascii")


def _scanner() -> Callable[[str, int], tuple[Any, int]]:
    try:
        from _json import make_scanner
    except ImportError:  # an interpreter without the C part
        from json import JSONDecoder

        return JSONDecoder(strict=False, parse_constant=_Settings.parse_constant).raw_decode
    return make_scanner(_Settings)  # type: ignore[arg-type]


def _quoter() -> Callable[[str], str]:
    try:
        from _json import encode_basestring_ascii
    except ImportError:
        from json import dumps

        return dumps
    return encode_basestring_ascii


def _written(value: object, quoted: Callable[[str], str]) -> str:
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{quoted(str(key))}:{_written(item, quoted)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(_written(item, quoted) for item in value) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return repr(value) if abs(value) < float("inf") else "null"
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def _mended(value: Any) -> Any:
    """The value with U+FFFD for lone surrogates, texts and keys; containers are changed in place, without recursion."""
    root = [value]
    open_ones: list[Any] = [root]
    while open_ones:
        container = open_ones.pop()
        items = list(container.items() if isinstance(container, dict) else enumerate(container))
        if isinstance(container, dict):
            container.clear()
        for key, item in items:
            if isinstance(item, dict | list):
                open_ones.append(item)
            container[_whole(key)] = _whole(item)
    return root[0]


def _whole(value: Any) -> Any:
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if isinstance(value, str) else value
