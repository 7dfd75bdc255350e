"""A table of ours in a TOML file of the user's: a marked block at its end; the file is read before and after."""

from __future__ import annotations

from json import dumps
from typing import Any

from capy_core.errors import BadInput

from .marked import Block


class Table(Block):
    """One table.

    Args:
        name: its path, e.g. ("mcp_servers", "capy").
        values: its values: texts, numbers, lists of texts.
    """

    def __init__(self, name: tuple[str, ...], values: dict[str, Any]) -> None:
        # A text, a number and a list of texts look in JSON as in TOML
        lines = [f"{key} = {dumps(value)}\n" for key, value in values.items()]
        super().__init__(f"[{'.'.join(name)}]\n{''.join(lines)}", ("# ", ""))
        self._name, self._values = name, values

    def put(self, text: str | None) -> str:
        """As `Block.put`.

        Raises:
            BadInput: the file is not TOML, or it defines this table in its own way.
        """
        there = _parsed(text or "")
        if text is None or self._find(text) is None:
            for key in self._name:
                there = there.get(key, {}) if isinstance(there, dict) else {}
            if there:
                raise BadInput(
                    f"[{'.'.join(self._name)}] stands there, and is not of capy-hook's making",
                    "remove it, then try again",
                )
        new = super().put(text)
        try:
            _parsed(new)
        except BadInput as ex:
            raise BadInput(
                f"[{'.'.join(self._name)}] cannot be added at its end ({ex.message})", "write the table by hand"
            ) from ex
        return new

    def take(self, text: str) -> str | None:
        _parsed(text)
        return super().take(text)


def _parsed(text: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as ex:
        raise BadInput(f"it is not TOML: {ex}", "correct the file") from ex
