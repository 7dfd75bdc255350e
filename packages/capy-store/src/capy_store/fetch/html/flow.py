"""Text that runs together (the page, one table cell) and how it falls into Markdown blocks.

Formats (emphasis, code, links) are closed and reopened at the end of each block, so that an unclosed `<b>` or a link
around headings gives well-formed Markdown.
"""

from __future__ import annotations

import re

from .blocks import HEADING, ITEM, PRE, TEXT, Block

LINK, CODE, RAISED = "a", "`", "^"  # other marks are written before and after: "**", "*", "~~"

_DEEPEST_MARGIN = 6  # deeper lists and quotes go on at this depth: 5,000 levels would cost 10,000 characters a line
_SPACE = re.compile(r"[ \t\r\n\f]+")
_SPACES_AND_BREAKS = re.compile(r" *\n[ \n]*| {2,}")
_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]")  # soft hyphen, zero-width space and joiner: they split words
_LOOKS_LIKE_MARKUP = re.compile(r"^(?=#{1,6}(?:\s|$)|`{3}|~{3}|>|(?:-+|=+)[ \t]*$)", re.MULTILINE)
_BACKTICKS = re.compile(r"`+")
_ANCHOR_SIGNS = frozenset("¶#§🔗∞⚓")


class Flow:
    """Collects text, and appends a block to `blocks` at each `end_block`.

    Args:
        blocks: where the blocks go.
        region: the part of the page they belong to (see `blocks`).
    """

    def __init__(self, blocks: list[Block], region: int) -> None:
        self.region = region
        self.pre = False
        self.language = ""
        self.heading = 0  # level of the next block, 0 for an ordinary one
        self._blocks = blocks
        self._pieces: list[str] = []
        self._formats: list[tuple[str, int, str]] = []  # mark, where it begins in the pieces, link
        self._margin: list[str] = []  # what stands before each line: "> ", or spaces as wide as a bullet
        self._bullets: dict[int, str] = {}  # place in the margin -> bullet still to be written there

    def text(self, text: str) -> None:
        """Add text; white space counts in preformatted text only."""
        if self.pre:
            self._pieces.append(text)
        elif self._pieces or not text.isspace():
            self._pieces.append(_SPACE.sub(" ", text))

    def line_break(self) -> None:
        self._pieces.append("\n")

    def image(self, alt: str, link: str) -> None:
        """Add an image: its description, linked where there is a link."""
        alt = " ".join(alt.split())
        if alt and not self.pre:
            self._pieces.append(f"![{alt}]({link})" if link and not self._within(CODE) else alt)

    def open_format(self, mark: str, link: str = "") -> bool:
        """Begin a format; False when it has no effect here and must not be closed."""
        if self.pre or self._within(mark) or self._within(CODE):
            return False
        self._formats.append((mark, len(self._pieces), link))
        return True

    def close_format(self) -> None:
        """End the format that was opened last."""
        mark, start, link = self._formats.pop()
        self._wrap(mark, start, link)

    @property
    def depth(self) -> int:
        """Number of margins, to be handed to `dedent` later."""
        return len(self._margin)

    def indent(self, margin: str, bullet: str = "") -> None:
        """Go one level deeper; `bullet` replaces the margin on the first line that is written."""
        if len(self._margin) < _DEEPEST_MARGIN:
            self._margin.append(margin)
        if bullet:
            self._bullets[len(self._margin) - 1] = bullet

    def dedent(self, depth: int) -> None:
        """Go back to a depth."""
        del self._margin[depth:]
        self._bullets = {place: bullet for place, bullet in self._bullets.items() if place < depth}

    def end_block(self) -> None:
        """What was collected becomes a block; in preformatted text only the line ends."""
        if self.pre:
            if self._pieces and not self._pieces[-1].endswith("\n"):
                self._pieces.append("\n")
        elif self._pieces:
            text = self._take()
            if text and self.heading:
                self._bullets.clear()
                self._blocks.append(Block(HEADING, f"{'#' * self.heading} {' '.join(text.split())}", self.region))
                self.heading = 0
            elif text:
                self.add(Block(TEXT, _LOOKS_LIKE_MARKUP.sub(r"\\", text), self.region))

    def end_pre(self) -> None:
        """What was collected becomes a fenced block, with a fence longer than any in it."""
        self.pre = False
        text = "".join(self._pieces).removeprefix("\n").rstrip()
        self._pieces.clear()
        if text:
            fence = "`" * max([2, *map(len, _BACKTICKS.findall(text))]) + "`"
            self.add(Block(PRE, f"{fence}{self.language}\n{text}\n{fence}", self.region))

    def add(self, block: Block) -> None:
        """Append a block that begins here: it gets the margin and the bullet."""
        listed = any(margin.isspace() for margin in self._margin)
        kind = ITEM if self._bullets and block.kind == TEXT else block.kind
        self._blocks.append(Block(kind, self._with_margin(block.text), block.region, listed))

    def _within(self, mark: str) -> bool:
        return any(open_mark == mark for open_mark, _, _ in self._formats)

    def _take(self) -> str:
        """The collected text, with open formats closed for now."""
        for place in range(len(self._formats) - 1, -1, -1):
            mark, start, link = self._formats[place]
            written = self._wrap(mark, start, link)
            self._formats[place] = mark, 0, "" if written else link
        text = "".join(self._pieces).replace("\u00a0", " ")
        self._pieces.clear()
        text = _SPACES_AND_BREAKS.sub(lambda match: "\n" if "\n" in match[0] else " ", text).strip()
        return text if text.isascii() else _INVISIBLE.sub("", text)

    def _wrap(self, mark: str, start: int, link: str) -> bool:
        """Put a mark around the pieces from `start` on; False when there is nothing to mark."""
        text = "".join(self._pieces[start:])
        core = text.strip()
        if not core:
            return False
        before, _, after = text.partition(core)
        del self._pieces[start:]
        self._pieces.append(before + self._marked(mark, core, link) + after)
        return True

    def _marked(self, mark: str, text: str, link: str) -> str:
        if mark == LINK:
            if text in _ANCHOR_SIGNS:  # a heading's link to itself
                return ""
            return f"[{text}]({link})" if link and text != link else text
        if mark == CODE:
            longest = max(map(len, _BACKTICKS.findall(text)), default=0)
            fence, space = "`" * (longest + 1), " " if longest else ""
            return f"{fence}{space}{text}{space}{fence}"
        if mark == RAISED:
            return text if text.startswith("[") else f"^{text}" if text.isalnum() else f"^({text})"  # [1] is a note
        return text if self.heading else f"{mark}{text}{mark}"

    def _with_margin(self, text: str) -> str:
        if not self._margin:
            return text
        first = "".join(self._bullets.get(place, margin) for place, margin in enumerate(self._margin))
        rest = "".join(self._margin)
        self._bullets.clear()
        head, *lines = text.split("\n")
        return "\n".join([first + head, *((rest + line).rstrip() if not line else rest + line for line in lines)])
