"""One table of a TOML file, read without a parser where it is written as nearly everybody writes it.

`tomllib` brings `re` and `typing` and costs more than all the rest of a hook. What is not plain is left to it.
"""

from __future__ import annotations


def table(text: str, name: str) -> dict[str, object] | None:
    """The values of `[name]`, or None where only a parser can tell.

    Plain is: the name stands in the document once, as a header on a line of its own; each line below it, up to the next
    header, is empty, a comment, or `key = value` with true, false, or a list of texts without escapes on one line.
    """
    if text.count(name) != 1 or '"""' in text or "'''" in text:
        return None
    lines = [line.strip(" \t") for line in text.replace("\r\n", "\n").split("\n")]
    if f"[{name}]" not in lines:
        return None
    found: dict[str, object] = {}
    for line in lines[lines.index(f"[{name}]") + 1 :]:
        if line.startswith("["):
            break
        if not line or (line.startswith("#") and line.isprintable()):
            continue
        key, equals, written = line.partition("=")
        key, value = key.strip(" \t"), _value(written.strip(" \t"))
        if not equals or value is None or key in found or not (key.isascii() and key.isidentifier()):
            return None
        found[key] = value
    return found


def _value(written: str) -> object:
    """A value on the rest of a line, or None."""
    if written in ("true", "false"):
        return written == "true"
    if not (written.startswith("[") and written.endswith("]")):
        return None
    inside = written[1:-1].strip(" \t")
    if not inside:
        return []
    if not (inside.startswith('"') and inside.endswith('"')) or "\\" in inside or not inside.isprintable():
        return None
    parts = inside[1:-1].split('"')  # text, what stands between two texts, text, ...
    plain = len(inside) > 1 and len(parts) % 2 and all(part.strip(" \t") == "," for part in parts[1::2])
    return parts[::2] if plain else None
