from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from capy_core.display import harmless, harmless_values


def test_control_characters_become_visible_and_line_ends_stay() -> None:
    assert harmless("a\x1b[2Jb\x07\x00\x7f\tc\r\nd\re\n") == "a␛[2Jb␇␀␡\tc\nd␍e\n"
    assert harmless("\x9b2J \u202egpj.exe") == "\ufffd2J \ufffdgpj.exe"
    assert harmless("Größe 日本 👩\u200d👧") == "Größe 日本 👩\u200d👧"
    assert harmless_values({"a": ["\x1b", 1], "b": None}) == {"a": ["␛", 1], "b": None}


@given(st.text(st.characters(categories=["Cc", "Cf", "L"])))
def test_no_control_character_is_left(text: str) -> None:
    left = {c for c in harmless(text) if unicodedata.category(c) == "Cc"}
    assert left <= {"\n", "\t"}
