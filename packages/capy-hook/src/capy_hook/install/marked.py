"""A block of ours between two marker lines in a text file of the user's: Markdown, TOML, shell.

As in `jsonfile`, taking out undoes putting in: at the end of a file the block brings one empty line before it, and ends
with a newline exactly if the file did.
"""

from __future__ import annotations

from capy_core.errors import BadInput

MARKER = "capy:begin"


class Block:
    """One block in one file.

    Args:
        body: the lines of the block, without the markers, ending with a newline.
        comment: how a comment begins and ends in this kind of file.
        head: what a new file begins with.
        after_first_line: put it below the file's first line instead of at the end.
        mode: permission bits of a new file.
    """

    def __init__(
        self,
        body: str,
        comment: tuple[str, str],
        *,
        head: str = "",
        after_first_line: bool = False,
        mode: int | None = None,
    ) -> None:
        opening, closing = comment
        self.begin, self.end = f"{opening}{MARKER}{closing}", f"{opening}capy:end{closing}"
        self._block = f"{self.begin}\n{body}{self.end}"
        # The empty line tells a new file from one that held nothing but this head
        self._head = head + ("\n" if after_first_line else "")
        self._after_first_line, self.mode = after_first_line, mode

    def put(self, text: str | None) -> str:
        """The text with the block; the very same when it stands there already. None is a missing file.

        Raises:
            BadInput: one marker is there without the other.
        """
        if text is None:
            return f"{self._head}{self._block}\n"
        place = self._find(text)
        newline = self._newline(text, place)
        block = self._block.replace("\n", newline)
        if place:
            return text[: place[0]] + block + text[place[1] :]
        if self._after_first_line:
            end = text.find("\n") + 1
            return text[:end] + block + newline + text[end:] if end else text + newline + block
        if text == "" or text.endswith("\n"):
            return text + newline + block + newline
        return text + newline * 2 + block

    def take(self, text: str) -> str | None:
        """The text without the block, byte for byte as it was before; None when the file was ours altogether.

        Raises:
            BadInput: one marker is there without the other.
        """
        place = self._find(text)
        if not place:
            return text
        before, after = text[: place[0]], text[place[1] :]
        newline = self._newline(text, place)
        if before == self._head.replace("\n", newline) and after == newline:
            return None
        if after:
            after = after.removeprefix(newline)
            return before + after if self._after_first_line else before.removesuffix(newline) + after
        return before.removesuffix(newline).removesuffix("" if self._after_first_line else newline)

    def _newline(self, text: str, place: tuple[int, int] | None) -> str:
        """How lines end: in our block where it stands already, else in the file."""
        if place:
            return "\r\n" if text.startswith("\r\n", place[0] + len(self.begin)) else "\n"
        return "\r\n" if "\r\n" in text else "\n"

    def _find(self, text: str) -> tuple[int, int] | None:
        start, end = text.find(self.begin), text.find(self.end)
        if start < 0 and end < 0:
            return None
        if start < 0 or end < start:
            missing, there = (self.begin, self.end) if start < 0 else (self.end, self.begin)
            raise BadInput(f"it has the line {there!r}, but {missing!r} is missing", "remove what is left of the block")
        return start, end + len(self.end)
