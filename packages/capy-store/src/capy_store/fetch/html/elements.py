"""What the converter knows about HTML's elements."""

from __future__ import annotations

import re

from .flow import CODE, RAISED


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


VOID = _names("area base br col embed hr img input link meta param source track wbr")
LISTS = _names("ul ol menu dir")
HEADINGS = {f"h{level}": level for level in range(1, 7)}
TABLE_PARTS = _names("table caption thead tbody tfoot tr td th")

# They begin and end a block of text.
BLOCKS = LISTS | HEADINGS.keys() | TABLE_PARTS
BLOCKS |= _names(
    "address article aside blockquote button center dd details dialog div dl dt fieldset figcaption figure"
)
BLOCKS |= _names("figure footer form header hgroup hr legend li main nav optgroup option p pre search section summary")

UNSHOWN = _names("noscript template svg select datalist textarea iframe object canvas audio video")
FORMATS = {"b": "**", "strong": "**", "i": "*", "em": "*", "del": "~~", "s": "~~", "sup": RAISED}
FORMATS |= dict.fromkeys(("code", "kbd", "samp", "tt"), CODE)

# They matter until they are closed. A paragraph only breaks lines, and so does its end tag, wherever it stands.
STACKED = (BLOCKS - {"p", "hr"}) | UNSHOWN | FORMATS.keys() | {"a"}

# Start tag -> the open elements it closes, unless one of the second kind lies in between.
CLOSES: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "a": (_names("a"), frozenset()),
    "li": (_names("li"), LISTS),
    **dict.fromkeys(("dt", "dd"), (_names("dt dd"), _names("dl"))),
    **dict.fromkeys(("td", "th"), (_names("td th"), _names("tr table"))),
    **dict.fromkeys(("tr", "thead", "tbody", "tfoot", "caption"), (TABLE_PARTS - {"table"}, _names("table"))),
    **dict.fromkeys(HEADINGS, (frozenset(HEADINGS), frozenset())),
}

# Elements whose attributes count, and the attributes (or parts of class names) that count on any.
READ = _names("a ol td th")
TELLING = re.compile(r"role|lang|highlight|brush", re.IGNORECASE)

REGIONS = _names("main article nav header footer aside")
CHROME_ROLES = _names("navigation banner contentinfo search")
