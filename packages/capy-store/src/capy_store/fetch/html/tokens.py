"""HTML to tags and text, in one pass and in time linear in its length, whatever it holds.

A reduced form of the WHATWG tokenizer (HTML, "tokenization"). html.parser, the standard library's, needs quadratic
time on unclosed constructs in the Python versions we support, and a page is an untrusted input.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

START, END, TEXT = 1, 2, 3
Token = tuple[int, str, str]  # START name attributes; END name ""; TEXT text ""

_NAME = re.compile(r"[a-zA-Z][^\s/>]*")
# The usual shape of a tag's rest, matched at once (up to a number of attributes, for a repeat needs memory) ...
_REST = re.compile(r"((?:\s+[\w:@.-]+(?:=\"[^\"]*\"|='[^']*'|=[^\s\"'>]+)?){0,40}\s*/?)>")
# ... and one attribute (or the end) of any other.
_ATTRIBUTE = re.compile(r"[\s/]*(?:(>)|([^\s/>][^\s/>=]*)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>]*)))?)")
_COMMENT_END = re.compile(r"--!?>")
# The content of these is text, not markup; entities count in the second kind.
_RAW = frozenset(("script", "style", "xmp", "iframe"))
_ESCAPABLE = frozenset(("title", "textarea"))
_CODE = frozenset(("script", "style"))  # no reader's text at all
_CLOSING = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in _RAW | _ESCAPABLE}


def tokens(html: str, *, xml: bool = False) -> Iterator[Token]:
    """Tags with lower-case names, and text with its entities resolved; not the content of script and style.

    Args:
        html: the page.
        xml: it is XHTML: `<script/>` has no content.
    """
    position, size = 0, len(html)
    unclosed: set[str] = set()
    while position < size:
        mark = html.find("<", position)
        if mark < 0:
            mark = size
        if mark > position:
            yield TEXT, unescape(html[position:mark]), ""
        position, token = _markup(html, mark)
        if token is None:
            continue
        yield token
        kind, name, attributes = token
        if kind != START:
            continue
        if attributes.endswith("/") and (xml or name == "svg"):
            yield END, name, ""
        elif name in _CLOSING:
            start, position = position, _end_of_raw(html, position, name, unclosed)
            if position > start and name not in _CODE:
                raw = html[start:position]
                yield TEXT, unescape(raw) if name in _ESCAPABLE else raw, ""


def attributes(source: str) -> dict[str, str]:
    """The attributes of a START token, the first of each name: lower-case names, values with entities resolved."""
    found: dict[str, str] = {}
    position = 0
    while (match := _ATTRIBUTE.match(source, position)) and match[2]:  # finditer would be quadratic on blanks
        found.setdefault(match[2].lower(), unescape(match[3] or match[4] or match[5] or ""))
        position = match.end()
    return found


def unescape(text: str) -> str:
    """The text with its entities resolved."""
    if "&" not in text:
        return text
    from html import unescape as resolve

    try:
        return resolve(text)
    except ValueError:  # an entity of more than 4,300 digits
        return text


def _markup(html: str, mark: int) -> tuple[int, Token | None]:
    """What begins at `html[mark] == "<"`: where it ends, and its token unless it is to be skipped."""
    following = html[mark + 1 : mark + 2]
    if following.isascii() and following.isalpha():
        return _tag(html, mark, START, mark + 1)
    if following == "/" and _NAME.match(html, mark + 2):
        return _tag(html, mark, END, mark + 2)
    if html.startswith("<![CDATA[", mark):
        end = html.find("]]>", mark)
        end = len(html) if end < 0 else end
        return end + 3, (TEXT, html[mark + 9 : end], "")
    if html.startswith("<!--", mark):
        closed = _COMMENT_END.search(html, mark + 2)
        return (closed.end() if closed else len(html)), None
    if following in ("!", "?", "/"):
        end = html.find(">", mark)
        return (len(html) if end < 0 else end + 1), None
    return mark + 1, (TEXT, html[mark : mark + 1], "")


def _tag(html: str, mark: int, kind: int, at: int) -> tuple[int, Token | None]:
    match = _NAME.match(html, at)
    assert match is not None
    name, at = match[0].lower(), match.end()
    usual = _REST.match(html, at)
    if usual:
        return usual.end(), (kind, name, usual[1])
    end = at
    while attribute := _ATTRIBUTE.match(html, end):
        end = attribute.end()
        if attribute[1]:
            return end, (kind, name, html[at : end - 1])
    return len(html), (TEXT, unescape(html[mark:]), "")  # no ">" to the end of the page


def _end_of_raw(html: str, start: int, name: str, unclosed: set[str]) -> int:
    """Where the content of a raw element ends. `unclosed` remembers a search in vain, so that none is repeated.

    After an unclosed script nothing follows. A title ends at the next tag then, because losing the whole page to a
    typing slip is worse than what browsers do.
    """
    match = None if name in unclosed else _CLOSING[name].search(html, start)
    if match:
        return match.start()
    unclosed.add(name)
    next_tag = html.find("<", start) if name in _ESCAPABLE else -1
    return next_tag if next_tag >= 0 else len(html)
