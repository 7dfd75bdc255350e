"""Markdown -> a chunk a section, titled with its heading path; long sections in numbered parts.

Headings as CommonMark has them: ATX (`#` to `######`) and setext (underlined), never inside a fenced block. A fence is
closed by the same character, at least as long; an unclosed one reaches to the end. Heading lines stay in the body; a
section without text of its own goes with the first one below it, and short neighbours under one parent go together.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from ..documents import Chunk
from .cut import CODE, PARAGRAPHS, next_cut, placed

SIZE = 4000
_UNBROKEN = SIZE * 3 // 2  # a table or fenced block up to this stays whole
_TITLE = 300

# Every line that can change the state; the regex engine skips all others.
_MARK = re.compile(
    r"^ {0,3}(?:(?P<level>#{1,6})(?=[ \t]|$)(?P<heading>.*)$"
    r"|(?P<fence>`{3,}|~{3,})(?P<info>.*)$"
    r"|(?P<underline>=+|-+)[ \t]*$)",
    re.MULTILINE,
)
_FRONT_MATTER = re.compile(r"---[ \t]*\n(?:(?!---|\.\.\.).*\n)*(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_NOT_A_TITLE = re.compile(r"\s*\Z|[ ]{4}|\t|\s*(?:[-*+>|]|\d+[.)])(?:\s|\Z|\|)")
_TABLE = re.compile(r"(?:^ {0,3}\|.*\n?){2,}", re.MULTILINE)


class _Heading(NamedTuple):
    start: int  # offset of its line
    end: int  # offset after its line (or its underline)
    level: int
    text: str


class _Fence(NamedTuple):
    start: int
    end: int
    language: str


class _Fences:
    """Spans that do not overlap, in order; those within a range are found by halving."""

    def __init__(self, spans: list[_Fence]) -> None:
        self._spans = spans
        self._starts = [span.start for span in spans]
        self._ends = [span.end for span in spans]

    def within(self, start: int, end: int) -> list[_Fence]:
        """Those that have a character in the range."""
        return self._spans[bisect_right(self._ends, start) : bisect_left(self._starts, end)]


class _Section(NamedTuple):
    start: int
    end: int
    path: tuple[str, ...]  # headings above it and its own; () before the first


class Markdown:
    """The chunker. The heading stack, an open fence and the part number carry over from block to block."""

    def __init__(self, title: str, *, size: int = SIZE, line: int = 1) -> None:
        self._title, self._size, self._line = title, size, line
        self._stack: list[tuple[int, str]] = []
        self._open = ""  # the fence we are in: its marker
        self._language = ""
        self._begun = False
        self._last, self._part = "", 1

    def feed(self, block: str) -> Iterator[Chunk]:
        """The chunks of a block; a block should end at the end of a line."""
        headings, found = self._scan(block)
        fences = _Fences(found)
        for group in _grouped(self._sections(block, headings), self._size // 2):
            title = _joined_title(group) or self._title
            yield from self._chunks(block, group[0].start, group[-1].end, title, fences)

    def _sections(self, block: str, headings: list[_Heading]) -> list[_Section]:
        """The sections that have text of their own; a bare heading belongs to the section that it leads into."""
        sections = []
        begin = 0
        for index, heading in enumerate(headings):
            above = headings[index - 1] if index else None
            leads = above and above.level < heading.level and not block[above.end : heading.start].strip()
            if not leads:
                sections.append(_Section(begin, heading.start, self._path()))
                begin = heading.start
            self._stack = [entry for entry in self._stack if entry[0] < heading.level]
            if heading.text:
                self._stack.append((heading.level, heading.text))
        sections.append(_Section(begin, len(block), self._path()))
        return [section for section in sections if section.end > section.start]

    def _path(self) -> tuple[str, ...]:
        return tuple(text for _, text in self._stack)

    def _scan(self, block: str) -> tuple[list[_Heading], list[_Fence]]:
        """The headings and fenced blocks, in order."""
        headings: list[_Heading] = []
        fences: list[_Fence] = []
        opened = 0
        front = None if self._begun else _FRONT_MATTER.match(block)
        self._begun = True
        for mark in _MARK.finditer(block, front.end() if front else 0):
            fence = mark["fence"]
            if self._open:
                if fence and fence[0] == self._open[0] and len(fence) >= len(self._open) and not mark["info"].strip():
                    fences.append(_Fence(opened, mark.end(), self._language))
                    self._open = ""
            elif fence:
                if fence[0] == "~" or "`" not in mark["info"]:
                    self._open, opened = fence, mark.start()
                    self._language = (mark["info"].split() or [""])[0].strip("{}.")[:30]
            elif mark["level"]:
                headings.append(_Heading(mark.start(), mark.end(), len(mark["level"]), _heading_text(mark["heading"])))
            else:
                self._underlined(block, mark, headings, fences[-1].end if fences else 0)
        if self._open:
            fences.append(_Fence(opened, len(block), self._language))
        return headings, fences

    @staticmethod
    def _underlined(block: str, mark: re.Match[str], headings: list[_Heading], last_fence: int) -> None:
        """A line above a row of = or - is a heading, unless it is an item, a row, a fence or a heading already."""
        start = block.rfind("\n", 0, max(0, mark.start() - 1)) + 1
        line = block[start : max(0, mark.start() - 1)]
        taken = max(last_fence, headings[-1].end if headings else 0)
        if start == mark.start() or _NOT_A_TITLE.match(line) or taken > start:
            return
        headings.append(_Heading(start, mark.end(), 1 if mark["underline"][0] == "=" else 2, line.strip()[:_TITLE]))

    def _chunks(self, block: str, start: int, end: int, title: str, fences: _Fences) -> Iterator[Chunk]:
        for begin, stop in self._pieces(block, start, end, fences):
            self._part = self._part + 1 if title == self._last else 1
            self._last = title
            body = block[begin:stop]
            held = fences.within(begin, stop)
            language = held[0].language if held and held[0].start < begin else ""
            yield placed(_numbered(title, self._part, language), body, self._line, is_code=bool(held))
            self._line += body.count("\n")

    def _pieces(self, block: str, start: int, end: int, fences: _Fences) -> Iterator[tuple[int, int]]:
        """Offsets of the parts of a section: one if it fits."""
        if end - start <= self._size:
            yield start, end
            return
        tables = [_Fence(*found.span(), "") for found in _TABLE.finditer(block, start, end)]
        whole = [table for table in tables if not fences.within(table.start, table.end)]
        unbroken = _Fences(sorted([*fences.within(start, end), *whole]))
        while start < end:
            stop = self._stop(block, start, end, unbroken, in_fence=bool(fences.within(start, start + 1)))
            yield start, stop
            start = stop

    def _stop(self, block: str, start: int, end: int, unbroken: _Fences, *, in_fence: bool) -> int:
        """Where the part that begins at `start` ends: before or after a table or fence rather than in it."""
        stop = min(end, next_cut(block, start, self._size, CODE if in_fence else PARAGRAPHS))
        for first, last, _ in unbroken.within(stop - 1, stop + 1):
            if first < stop < last:
                if first > start + self._size // 4:
                    return first
                if last - start <= _UNBROKEN:
                    return min(end, _after_line(block, last))
        return stop


def _grouped(sections: list[_Section], size: int) -> Iterator[list[_Section]]:
    """Neighbours under one parent go together while they are small: many short sections make few chunks."""
    group: list[_Section] = []
    for section in sections:
        if group:
            first = group[0].path
            related = section.path[: len(first) - 1] == first[:-1] if first else not section.path
            if related and section.end - group[0].start <= size:
                group.append(section)
                continue
            yield group
        group = [section]
    if group:
        yield group


def _joined_title(group: list[_Section]) -> str:
    """`A > B > C` for one section and what is below it, `A > B > C, D` for several under one parent."""
    first = group[0].path
    parent = first[:-1]
    members = dict.fromkeys(section.path[len(parent)] for section in group if len(section.path) > len(parent))
    path = " > ".join(parent)
    if len(path) > _TITLE // 2:
        path = "… > " + path[-_TITLE // 2 :].partition(" > ")[2]
    names = ", ".join(members)
    title = f"{path} > {names}" if path and names else path or names
    return title if len(title) <= _TITLE else title[: _TITLE - 1] + "…"


def _numbered(title: str, part: int, language: str) -> str:
    """A title with the number of its part, and the language of a fenced block that began in an earlier one."""
    if part == 1:
        return title
    return f"{title} ({part}, {language})" if language else f"{title} ({part})"


def _heading_text(rest: str) -> str:
    """The text of an ATX heading without its closing #s."""
    text = rest.strip()
    opened = text.rstrip("#")
    return (opened.rstrip() if not opened or opened[-1] in " \t" else text)[:_TITLE]


def _after_line(block: str, at: int) -> int:
    return at + 1 if block[at : at + 1] == "\n" else at
