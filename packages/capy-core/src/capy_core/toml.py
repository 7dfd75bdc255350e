"""Bytes of a settings file -> its tables. Apart from config.py, so that the hook need not load all of that."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MAX_PARTS = 50  # of a dotted key; ours have two


class BadToml(ValueError):
    """What is wrong, in `str()`, and in which `line`, from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def parse(data: bytes) -> dict[str, Any]:
    """The tables of a TOML document, which may begin with a BOM.

    Raises:
        BadToml: it is not TOML, not UTF-8, or has a key of more parts than anybody writes.
    """
    if (line := _deep_key(data)) is not None:
        raise BadToml("a key of too many parts", line)
    import tomllib

    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as ex:
        raise BadToml("not UTF-8", data.count(b"\n", 0, ex.start) + 1) from ex
    except (ValueError, RecursionError) as ex:  # TOMLDecodeError is a ValueError; so is a number of 5,000 digits
        number = str(ex).partition("(at line ")[2].partition(",")[0]  # else "(at end of document)"
        raise BadToml(f"not valid TOML: {ex}", int(number) if number else data.count(b"\n") + 1) from ex


def _deep_key(data: bytes) -> int | None:
    """The number of a line that may hold a key of many parts, on which tomllib spends the square of their number."""
    import re

    part = re.compile(rb"[\w\"'-][ \t]*\.")
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.count(b".") > _MAX_PARTS and len(part.findall(line)) > _MAX_PARTS:
            return number
    return None
