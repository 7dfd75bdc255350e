"""What code in the ten languages that are not shell starts, runs and opens, as far as its text tells."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from .calls import STARTS, TABLES, Found, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .calls import Call

# What else may lead to such a call, or is one
_OTHER_SIGNS: dict[str, set[str]] = defaultdict(
    set,
    python={"getattr", "__dict__", "globals", "vars"},
    javascript={"child_process", "Bun", "Deno", "globalThis"},
    typescript={"child_process", "Bun", "Deno", "globalThis"},
    ruby={"`", "%x", "send"},
    php={"`", "call_user_func", "include", "require"},
    perl={"`", "qx"},
    elixir={"apply"},
)


def read(code: str, language: str) -> Found:
    """Search code for calls that start a program or a shell, run code from a text, or open a file.

    Args:
        code: the source, whole or statements alone.
        language: a name or an alias from runtimes.py; not shell.

    Raises nothing for any code: what cannot be parsed, but names such a call, is in `Found.unreadable`.
    """
    from ..runtimes import language_named

    name = language_named(language).name
    found = Found()
    if not _may_matter(code, name):
        return found
    try:
        for call in _calls(code, name, found):
            kind = "shell" if call.name == "`...`" else kind_of(call.name, name)
            if kind:
                found.add(call, kind)
    except (TimeoutError, RecursionError, ImportError) as ex:
        why = {TimeoutError: "it takes too long to parse", ImportError: f"its grammar is missing ({ex})"}
        found.unreadable.append(why.get(type(ex), "it is nested too deeply"))
    return found


def _calls(code: str, language: str, found: Found) -> Iterator[Call]:
    if language == "r":
        from . import rlang

        yield from rlang.calls_in(code)
        return
    from .syntax import Reader, parsed

    root, source = parsed(code, language)
    reader = Reader(root, language, source)
    yield from reader.calls()
    found.unreadable += reader.unreadable
    if root.has_error and (word := _names_a_start(code, language)):
        found.unreadable.append(f"it is not valid {language}, and it names {word}")


def _may_matter(code: str, language: str) -> bool:
    """False when no word of the code is part of any call that is known: most code needs no parser."""
    words = {name.rpartition(".")[2] for name in TABLES[language]} | _OTHER_SIGNS[language]
    return re.search("|".join(map(re.escape, sorted(words))), code) is not None


def _names_a_start(code: str, language: str) -> str:
    """A word in broken code that may be a call which starts something."""
    words = {name.rpartition(".")[2] for name, kind in TABLES[language].items() if kind in STARTS}
    match = re.search(rf"\b({'|'.join(map(re.escape, sorted(words)))})\b\s*[(\[\"'`{{]", code)
    return match[1] if match else ""
