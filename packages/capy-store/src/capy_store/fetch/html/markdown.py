"""HTML to Markdown in one pass without recursion: time and memory grow with the page's length, not with its depth.

Own code instead of markdownify, which needs a tree (BeautifulSoup), recurses once per level and takes quadratic time on
deep trees and wide lists; measured in docs/adr/0010-fetch.md.

Open elements that matter lie on a stack, and each knows what to undo when it closes. Text gathers in the current flow:
the page's, a table cell's, or that of a hidden element.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from .blocks import BODY, CHROME, HEADING, HIDDEN, MAIN, Block, document
from .elements import (
    BLOCKS,
    CHROME_ROLES,
    CLOSES,
    FORMATS,
    HEADINGS,
    LISTS,
    READ,
    REGIONS,
    STACKED,
    TABLE_PARTS,
    TELLING,
    UNSHOWN,
    VOID,
)
from .flow import LINK, Flow
from .tables import Table
from .tokens import END, START, TEXT, attributes, tokens

_LONGEST_TITLE = 300
_MOST_TAGS = 600_000  # more than in 10 MB of dense documentation (55,000 a MB); past it only the text is taken
_ITEM = frozenset(("li",))
_NO_ATTRIBUTES: dict[str, str] = {}
_DEEPEST_TABLE = 8  # a table in a table in a table: the inner ones' cells join the one at this depth

_LANGUAGE = re.compile(r"(?:^|\s)(?:language-|lang-|highlight-source-|highlight-|brush:\s*)([\w+#.]+)", re.IGNORECASE)
_NO_LANGUAGE = frozenset(("default", "none", "text", "plain", "plaintext", "source", "console-output"))
_REFRESH_URL = re.compile(r"\burl\s*=\s*[\"']?([^\"'\s]+)", re.IGNORECASE)
_LINK_MARKUP = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_IN_LINKS = str.maketrans({" ": "%20", "(": "%28", ")": "%29", "<": "%3C", ">": "%3E"})


@dataclass(frozen=True)
class Converted:
    """A page as Markdown.

    Args:
        text: Markdown, without final newline; "" when the page shows no text.
        title: of `<title>`, else of the first `<h1>`, else "".
        refresh: where a `<meta http-equiv=refresh>` points, absolute, or "".
    """

    text: str
    title: str
    refresh: str


def to_markdown(html: str, url: str, *, xml: bool = False) -> Converted:
    """Convert a page. Any input gives a result.

    Args:
        html: the page.
        url: where it came from; relative links are made absolute against it.
        xml: it is XHTML.
    """
    writer = _Writer(url)
    handlers: dict[int, Callable[[str, str], None]] = {START: writer.start, END: writer.end}
    tags = 0
    for kind, name, source in tokens(html, xml=xml):
        if kind == TEXT:
            writer.text(name)
            continue
        tags += 1
        if tags == _MOST_TAGS:
            writer.end_layout()
            handlers = dict.fromkeys(handlers, writer.only_break)
        handlers[kind](name, source)
    return writer.finish()


@dataclass(slots=True)
class _Open:
    """An open element, and what closing it restores."""

    name: str
    flow: Flow
    region: int
    depth: int
    language: str
    close: Callable[[], None] | None = None
    number: int = 0  # of a list: that of its last item
    bullet: str = ""  # of a list: the last one


class _Writer:
    def __init__(self, url: str) -> None:
        self._url = url
        self._base = ""
        self._title = ""
        self._in_title = False
        self._refresh = ""
        self._language = ""
        self._page: list[Block] = []
        self._flow = Flow(self._page, BODY)
        self._stack: list[_Open] = []
        self._places: dict[str, list[int]] = {name: [] for name in STACKED}  # name -> where it lies on the stack
        self._cells: list[int] = []  # where the open cells lie on the stack
        self._tables: list[Table] = []

    def text(self, text: str) -> None:
        if self._in_title:
            self._title = self._title or " ".join(text.split())
        else:
            self._flow.text(text)

    def start(self, name: str, source: str) -> None:
        self._in_title = name == "title" and not self._places["svg"]
        if name in CLOSES:
            self._close_implied(name)
        if name in BLOCKS:
            self._flow.end_block()
        if name in STACKED:
            self._push(name, source)
        elif name in VOID:
            self._void(name, source)

    def end(self, name: str, _source: str = "") -> None:
        places = self._places.get(name)
        if places and places[-1] >= self._barrier(name):
            self._pop_to(places[-1])
        elif name in BLOCKS:
            self._flow.end_block()
        elif name == "title":
            self._in_title = False
        elif name == "br":
            self._flow.line_break()

    def end_layout(self) -> None:
        """Close all; what follows is content, whatever part it stands in."""
        self._close_all()
        self._flow.region = MAIN

    def only_break(self, name: str, _source: str = "") -> None:
        """Handle a start or end tag as the mere end of a line."""
        if name in BLOCKS or name == "br":
            self._flow.line_break()

    def finish(self) -> Converted:
        self._close_all()
        first = next((block.text for block in self._page if block.kind == HEADING and block.text[:2] == "# "), "")
        title = self._title or _LINK_MARKUP.sub(r"\1", first[2 : 2 + _LONGEST_TITLE])
        return Converted(document(self._page), title[:_LONGEST_TITLE], self._refresh)

    def _close_all(self) -> None:
        self._pop_to(0)
        self._flow.end_block()

    # The stack

    def _push(self, name: str, source: str) -> None:
        flow = self._flow
        element = _Open(name, flow, flow.region, flow.depth, self._language)
        given = attributes(source) if source and (name in READ or TELLING.search(source)) else _NO_ATTRIBUTES
        if name in REGIONS or "role" in given:
            self._enter_region(name, given.get("role", ""))
        if "class" in given:
            self._language = _language(given["class"]) or self._language
        opener = _OPENERS.get(name)
        if opener and not (flow.pre and name in BLOCKS):  # blocks are only lines in preformatted text
            opener(self, element, given)
        self._places[name].append(len(self._stack))
        self._stack.append(element)

    def _pop_to(self, place: int) -> None:
        """Close the element at this place of the stack and all inside of it."""
        while len(self._stack) > place:
            element = self._stack.pop()
            self._places[element.name].pop()
            if element.name in BLOCKS or self._flow is not element.flow:
                self._flow.end_block()
            self._flow = element.flow
            if element.close is not None:
                element.close()
            self._flow.region, self._language = element.region, element.language
            if element.depth < self._flow.depth:
                self._flow.dedent(element.depth)

    def _close_implied(self, name: str) -> None:
        closed, protecting = CLOSES[name]
        barrier = max(self._last(protecting), self._barrier(name))
        places = [self._places[other][-1] for other in closed if self._places[other]]
        places = [place for place in places if place > barrier]
        if places:
            self._pop_to(min(places))

    def _last(self, names: frozenset[str]) -> int:
        """The place of the innermost open element of these, or -1."""
        return max((self._places[name][-1] for name in names if self._places[name]), default=-1)

    def _barrier(self, name: str) -> int:
        """Elements below this place are out of reach: a tag in a cell does not close what is outside of the table."""
        if name in TABLE_PARTS:
            return self._places["table"][-1] if self._places["table"] else -1
        return self._cells[-1] if self._cells else -1

    # The elements

    def _enter_region(self, name: str, role: str) -> None:
        region = self._flow.region
        if region == BODY and (name in ("main", "article") or role == "main"):
            self._flow.region = MAIN
        elif name == "nav" or role in CHROME_ROLES:
            self._flow.region = max(region, CHROME)
        elif region == BODY and name in ("header", "footer", "aside"):  # in an article they belong to it
            self._flow.region = CHROME

    def _open_format(self, element: _Open, given: dict[str, str]) -> None:
        flow, name = self._flow, element.name
        if name == "code" and flow.pre:
            flow.language = self._language
        elif flow.open_format(FORMATS.get(name, LINK), self._link(given.get("href", ""))):
            element.close = flow.close_format

    def _open_unshown(self, _element: _Open, _given: dict[str, str]) -> None:
        self._flow = Flow(self._page, HIDDEN)

    def _open_heading(self, element: _Open, _given: dict[str, str]) -> None:
        self._flow.heading = HEADINGS[element.name]
        element.close = self._end_heading

    def _end_heading(self) -> None:
        self._flow.heading = 0

    def _open_pre(self, element: _Open, _given: dict[str, str]) -> None:
        self._flow.pre, self._flow.language = True, self._language
        element.close = self._flow.end_pre

    def _open_quote(self, _element: _Open, _given: dict[str, str]) -> None:
        self._flow.indent("> ")

    def _open_list(self, element: _Open, given: dict[str, str]) -> None:
        start = given.get("start", "")
        element.number = int(start) - 1 if re.fullmatch(r"[0-9]{1,9}", start) else 0
        place = self._last(LISTS)
        if place > max(self._last(_ITEM), self._barrier("ul")):
            self._flow.indent(" " * len(self._stack[place].bullet))  # not in an item: below the one before it

    def _open_item(self, _element: _Open, _given: dict[str, str]) -> None:
        place = self._last(LISTS)
        bullet = "- "
        if place > self._barrier("li"):
            items = self._stack[place]
            items.number += 1
            bullet = items.bullet = f"{items.number}. " if items.name == "ol" else "- "
        self._flow.indent(" " * len(bullet), bullet)

    def _open_table(self, element: _Open, _given: dict[str, str]) -> None:
        if len(self._tables) < _DEEPEST_TABLE:
            table = Table()
            self._tables.append(table)
            self._flow = Flow(table.loose, self._flow.region)
            element.close = self._end_table

    def _end_table(self) -> None:
        for block in self._tables.pop().blocks(self._flow.region):
            self._flow.add(block)

    def _open_row(self, _element: _Open, _given: dict[str, str]) -> None:
        if self._tables:
            self._tables[-1].rows.append([])

    def _open_cell(self, element: _Open, given: dict[str, str]) -> None:
        if self._tables:
            cell = self._tables[-1].add_cell(element.name == "th", given)
            self._flow = Flow(cell.blocks, self._flow.region)
            self._cells.append(len(self._stack))
            element.close = self._end_cell

    def _end_cell(self) -> None:
        self._cells.pop()

    def _void(self, name: str, source: str) -> None:
        if name == "br":
            self._flow.line_break()
        elif name == "img":
            given = attributes(source)
            self._flow.image(given.get("alt", ""), self._link(given.get("src", "")))
        elif name == "base" and not self._base:
            self._base = self._link(attributes(source).get("href", ""))
        elif name == "meta" and not self._places["noscript"]:
            given = attributes(source)
            match = _REFRESH_URL.search(given.get("content", ""))
            if match and given.get("http-equiv", "").lower() == "refresh":
                self._refresh = self._refresh or self._link(match[1])

    def _link(self, href: str) -> str:
        """An absolute link to another page, or "": javascript:, data: and links within the page are left out."""
        if not href or href.startswith("#"):
            return ""
        try:
            link = urljoin(self._base or self._url, href.strip())
            scheme = urlsplit(link).scheme
        except ValueError:
            return ""
        if scheme not in ("http", "https", "mailto", "ftp") or link.partition("#")[0] == self._url:
            return ""
        return link.translate(_IN_LINKS)


_OPENERS: dict[str, Callable[[_Writer, _Open, dict[str, str]], None]] = {
    **dict.fromkeys((*FORMATS, "a"), _Writer._open_format),
    **dict.fromkeys(UNSHOWN, _Writer._open_unshown),
    **dict.fromkeys(HEADINGS, _Writer._open_heading),
    **dict.fromkeys(LISTS, _Writer._open_list),
    **dict.fromkeys(("td", "th"), _Writer._open_cell),
    "li": _Writer._open_item,
    "pre": _Writer._open_pre,
    "blockquote": _Writer._open_quote,
    "table": _Writer._open_table,
    "tr": _Writer._open_row,
}


def _language(classes: str) -> str:
    match = _LANGUAGE.search(classes)
    return match[1].lower() if match and match[1].lower() not in _NO_LANGUAGE else ""
