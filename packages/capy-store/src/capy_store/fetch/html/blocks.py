"""The blocks a page falls into, and which of them are its content."""

from __future__ import annotations

from typing import NamedTuple

TEXT, ITEM, HEADING, PRE, TABLE = range(5)

# Parts of a page, from the wanted to what is left out unless nothing else is there.
MAIN = 0  # in <main> or <article>
BODY = 1
CHROME = 2  # navigation, banner, footer, side column
HIDDEN = 3  # what browsers do not show as text: noscript, template, svg, select, ...


class Block(NamedTuple):
    """A piece of Markdown that stands on lines of its own.

    Args:
        kind: TEXT, ITEM (the first block of a list item), HEADING, PRE or TABLE.
        text: Markdown, without blank lines around it.
        region: MAIN, BODY, CHROME or HIDDEN.
        listed: it stands in a list.
    """

    kind: int
    text: str
    region: int
    listed: bool = False


def document(blocks: list[Block]) -> str:
    """The page's content as Markdown.

    The main part alone when it holds at least half of the text, else the whole body. Only a page without any such
    text yields its navigation, and only one without that its hidden parts: no page loses the only text it has.
    """
    sizes = [0, 0, 0, 0]
    for block in blocks:
        sizes[block.region] += len(block.text)
    if sizes[MAIN] and sizes[MAIN] >= sizes[BODY]:
        wanted = MAIN
    else:
        wanted = next((region for region in (BODY, CHROME, HIDDEN) if sum(sizes[: region + 1])), HIDDEN)
    return _joined([block for block in blocks if block.region <= wanted])


def _joined(blocks: list[Block]) -> str:
    pieces: list[str] = []
    previous: Block | None = None
    for block in blocks:
        if previous is not None:
            pieces.append("\n" if block.kind == ITEM and previous.listed else "\n\n")
        pieces.append(block.text)
        previous = block
    return "".join(pieces)
