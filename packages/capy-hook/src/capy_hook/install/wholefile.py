"""A file that is ours altogether, known by its first line."""

from __future__ import annotations

from capy_core.errors import BadInput


class WholeFile:
    """One file.

    Args:
        content: what shall stand in it; its first line marks it as ours.
    """

    mode: int | None = None

    def __init__(self, content: str) -> None:
        self._content = content
        self._mark = content.partition("\n")[0]

    def put(self, text: str | None) -> str:
        """The content.

        Raises:
            BadInput: somebody else's file has this name.
        """
        if text is not None and not text.startswith(self._mark):
            raise BadInput("it was not written by capy-hook", "move it away, then try again")
        return self._content

    def take(self, text: str) -> str | None:
        """None for a file of ours, any other as it is."""
        return None if text.startswith(self._mark) else text
