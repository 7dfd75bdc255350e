"""Text of others, made fit for a person's terminal: it may show anything and command nothing."""

from __future__ import annotations

import re
from typing import Any

_PICTURES = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"} | {0x7F: "\u2421"}
_UNSEEN = [*range(0x80, 0xA0), 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]  # C1, direction marks
_SHOWN = _PICTURES | dict.fromkeys(_UNSEEN, "\ufffd")
_COMMANDS = re.compile("[" + "".join(map(re.escape, map(chr, _SHOWN))) + "]")


def harmless(text: str) -> str:
    """The text with LF line ends and a picture (ESC: U+241B) or U+FFFD in place of each character that commands.

    A terminal obeys control characters wherever they come from: a page or a log could change its title or clipboard,
    or overwrite what stands above; marks of direction show text in another order than it has. Tabs stay.
    """
    if not _COMMANDS.search(text):
        return text
    return text.replace("\r\n", "\n").translate(_SHOWN)


def harmless_values(value: Any) -> Any:
    """The same for every text in a value made of dicts, lists and the like; names stay."""
    if isinstance(value, str):
        return harmless(value)
    if isinstance(value, dict):
        return {name: harmless_values(item) for name, item in value.items()}
    return [harmless_values(item) for item in value] if isinstance(value, list | tuple) else value
