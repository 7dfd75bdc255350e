r"""Take out of shell code what tree-sitter's grammar for bash reads wrongly: heredocs above all.

The grammar knows a heredoc only in the plainest places: nothing may follow its operator but a pipe, there may be one
on a line, and its end word is a plain one. So a small lexer finds the operators, takes the bodies away, and leaves an
ordinary redirection from a mark (`<"\1 7 \1..\1"` without the blanks). What the shell would still run in a body, its
substitutions, stands inside the mark, where the grammar reads it as text in double quotes, which means the same.
Here-strings, `<>` and patterns like `!(a|b)` are marked the same way, and so is code in backticks, where it holds any
of these or backslashes or is not the only one: the grammar takes the second pair for a part of the first.

The lexer need not be right about everything: whoever walks the tree demands each mark back, in its place and once. A
mark in what the grammar takes for a comment or a string, or a heredoc that the grammar finds and the lexer did not,
shows that the two disagree, and then the code counts as not valid. Where a shell's reading hangs on more than the
text (a subscript or an arithmetic expression with `<<` in it), that is said at once: see `Lifted.doubt`.
"""

from __future__ import annotations

from capy_exec.policy.frames import (
    ARGUMENT,
    ASSIGNED,
    AWAITED,
    BRACE,
    CODE,
    COMMAND,
    PATTERN,
    PLAIN,
    QUOTED,
    STOP,
    STOPS,
    TEXT,
    Frame,
    is_name,
)
from capy_exec.policy.heredocs import NO_WORD, Doubt, Pending, blanks, body_of, end_word, is_escaped
from capy_exec.policy.marks import (
    BACKTICKS,
    GLOB,
    HEREDOC,
    HERESTRING,
    OPEN_BOTH,
    Item,
    Lifted,
    decoded,
    has_backticks,
    last_trigger,
)
from capy_exec.policy.words import Word, unescape

_DEEPEST = 8
"""Heredocs in heredocs."""
_MOST = 20_000
"""Things to take out."""
_BACKSLASH, _DOLLAR, _BACKTICK, _NEWLINE = b"\\$`\n"
_EXPANDS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@*#?$!-{([")


def lexed(source: bytes, last: int) -> Lifted:
    """`source` with marks; what calls for them is not to be found behind `last`."""
    items: list[Item] = []
    try:
        if b"\1" in source:
            raise Doubt(source.index(b"\1"))
        return Lifted(_Lexer(source, items, 0, 0, last).code(), items)
    except Doubt as doubt:
        line = doubt.row if doubt.row is not None else source.count(b"\n", 0, doubt.at)
        return Lifted([(source, 0)], [], line + 1)


class _Lexer:
    """One pass over `source`, which begins at `row` and stands `depth` heredocs deep."""

    __slots__ = ("all_backticks", "at", "copied", "counted", "depth", "frames", "items", "last", "out", "row",
                 "shifted", "source", "stops", "substituted", "substitutions", "waiting")  # fmt: skip

    def __init__(self, source: bytes, items: list[Item], row: int, depth: int, last: int) -> None:
        self.source = source
        self.items = items
        self.row = row
        self.counted = 0
        self.depth = depth
        self.last = last
        self.all_backticks = depth > 0 or has_backticks(source)
        self.at = 0
        self.copied = 0
        self.waiting = 0  # heredocs without a body yet, and open patterns
        self.shifted = -1  # the last `<<`
        self.substituted = -1  # the last substitution
        self.substitutions = 0  # those that are open
        self.out: list[tuple[bytes, int]] = []
        self.frames: list[Frame] = []
        self.stops: dict[int, bytes] = {}

    def code(self) -> list[tuple[bytes, int]]:
        """The whole source as code: the pieces of the new one, each with the row that it comes from."""
        self.frames.append(Frame(CODE, "", 0))
        self.run(0)
        for frame in self.frames:
            for pending in frame.pending:  # no line follows: an empty body
                self.fill(pending, b"")
            frame.pending.clear()
        self.copy(len(self.source))
        return self.out

    def text(self) -> tuple[bytes, Word]:
        """The whole source as the text of a heredoc: the expansions that can run commands, and the text."""
        inlined: list[bytes] = []
        parts: list[str] = []
        known = True
        start = 0
        self.frames.append(Frame(TEXT, "", 0, quoted=True))
        while (at := self.stop(TEXT)) >= 0:
            char, following = self.source[at], self.source[at + 1 : at + 2]
            if char == _BACKSLASH or (char == _DOLLAR and not _EXPANDS.intersection(following)):
                self.at = at + (2 if char == _BACKSLASH else 1)
                continue
            known = False
            parts.append(unescape(decoded(self.source[start:at]), "$`\\"))
            self.at = start = at
            if char == _DOLLAR and following not in (b"(", b"{", b"["):
                self.at += 2
            else:
                inlined.extend([code] if (code := self.expansion()) else [])
            parts.append(decoded(self.source[start : self.at]))
            start = self.at
        parts.append(unescape(decoded(self.source[start:]), "$`\\"))
        return b" ".join(inlined), Word("".join(parts), known=known)

    def expansion(self) -> bytes:
        """Pass over the expansion that begins here; what of it has to be read for commands."""
        start = self.copied = self.at
        before = len(self.out)
        self.special(self.frames[-1])
        self.run(1)
        if len(self.frames) > 1 or self.waiting:
            raise Doubt(start, self.row_of(start))
        self.copy(self.at)
        whole = self.source[start : self.at]
        runs = b"$(" in whole[1:] or b"`" in whole
        if whole.startswith(b"$(") and not (whole.startswith(b"$((") and whole.endswith(b"))")):
            runs = True
        pieces = b"".join(piece for piece, _row in self.out[before:])
        return pieces if runs else b""

    def run(self, floor: int) -> None:
        """Go on until no more than `floor` frames are open, or nothing of interest is left."""
        while len(self.frames) > floor and (self.waiting or self.at <= self.last or floor):
            frame = self.frames[-1]
            at = self.stop(frame.kind)
            if frame.kind == CODE and (at if at >= 0 else len(self.source)) > self.at and frame.word < 0:
                frame.word = self.at
            if at < 0:
                self.at = len(self.source)
                return
            self.at = at
            if not self.special(frame):
                _BY_KIND[frame.kind](self, frame, self.source[at])

    def stop(self, kind: int) -> int:
        """The next place that matters in a frame of `kind`, or -1."""
        if kind not in self.stops:
            self.stops[kind] = self.source.translate(STOPS[kind])
        return self.stops[kind].find(STOP, self.at)

    def special(self, frame: Frame) -> bool:
        """Pass over what means the same in all frames, or open a frame for it: backslashes, expansions, backticks."""
        at, char = self.at, self.source[self.at]
        if char not in (_BACKSLASH, _DOLLAR, _BACKTICK):
            return False
        if frame.kind == CODE and frame.word < 0 and self.source[at : at + 2] != b"\\\n":
            frame.word = at
        if char == _BACKSLASH:
            self.at = min(at + 2, len(self.source))
        elif char == _BACKTICK:
            self.backticks(frame)
        else:
            self.dollar(frame)
        return True

    def dollar(self, frame: Frame) -> None:
        at = self.at
        ahead = self.source[at + 1 : at + 3]
        inside = frame.quoted
        self.at += 2
        if ahead == b"((":
            self.at += 1
            self.push(PLAIN, "$((", at, inside)
        elif ahead[:1] == b"(":
            self.push(CODE, "$(", at, False)
        elif ahead[:1] == b"{":
            self.push(BRACE, "${", at, inside)
        elif ahead[:1] == b"[":
            self.push(PLAIN, "$[", at, inside)
        elif ahead[:1] == b"'" and not inside:
            end = self.at
            while 0 <= end < len(self.source) and self.source[end] != ord("'"):
                end += 2 if self.source[end] == _BACKSLASH else 1
            self.at = min(end + 1, len(self.source))
        else:
            self.at = at + 1

    def push(self, kind: int, opening: str, start: int, quoted: bool) -> Frame:
        frame = Frame(kind, opening, start, quoted=quoted)
        if opening == "$(":
            self.substituted = start
            self.substitutions += 1
        self.frames.append(frame)
        return frame

    def backticks(self, frame: Frame) -> None:
        """Pass over code in backticks; with something to take out, it becomes a text of its own."""
        start = self.at + 1
        self.substituted = self.at
        end = self.source.find(b"`", start)
        while end >= 0 and is_escaped(self.source, start, end):
            end = self.source.find(b"`", end + 1)
        if end < 0:
            raise Doubt(start, self.row_of(start))
        inside = self.source[start:end]
        self.at = end + 1
        if self.all_backticks or b"\\" in inside or last_trigger(inside) >= 0:
            code = unescape(decoded(inside), '$`\\"' if frame.kind == QUOTED else "$`\\")
            self.copy(start - 1)
            self.out.append((b"$(", self.row_of(start)))
            self.mark(Item(BACKTICKS, self.source[start - 1 : self.at], Word(code)))
            self.out.append((b")", self.row_of(start)))
            self.copied = self.at

    def in_code(self, frame: Frame, char: int) -> None:
        if char in b"'\"[":
            self.part_of_word(frame, char)
        elif char == ord("#"):
            if frame.word >= 0:
                self.at += 1
            else:
                end = self.source.find(b"\n", self.at)
                self.at = end if end >= 0 else len(self.source)
        elif char == ord("("):
            self.parenthesis(frame)
        elif char in b"<>":
            self.redirection(frame, char)
        else:
            self.separator(frame, char)

    def part_of_word(self, frame: Frame, char: int) -> None:
        at = self.at
        self.at += 1
        named = self.source[frame.word : at] if frame.word >= 0 else b""
        frame.word = frame.word if frame.word >= 0 else at
        if char == ord("'"):
            end = self.source.find(b"'", self.at)
            self.at = end + 1 if end >= 0 else len(self.source)
        elif char == ord('"'):
            self.push(QUOTED, '"', at, True)
        elif frame.expect in (COMMAND, ASSIGNED) and is_name(named):
            self.push(PLAIN, "subscript", at, False)

    def separator(self, frame: Frame, char: int) -> None:
        """Blanks, and what ends a command."""
        at = self.at
        self.end_word(frame)
        self.at += 1
        if char in b" \t":
            return
        if char == ord(")"):
            self.shut(frame)
        elif char == ord("&") and self.source[at + 1 : at + 2] == b">":
            pass  # `&>` is a redirection and separates nothing
        elif char == ord(";") and self.source[at : at + 2] in (b";;", b";&") and frame.cases:
            self.at += 1 + (self.source[at : at + 3] == b";;&")
            frame.expect = PATTERN
        elif frame.expect not in AWAITED and not frame.fixed:
            frame.expect = COMMAND
            frame.target = False
        if char == _NEWLINE and frame.pending:
            self.bodies(frame)

    def end_word(self, frame: Frame) -> None:
        if frame.word >= 0:
            frame.ended(self.source[frame.word : self.at])
            frame.word = -1

    def parenthesis(self, frame: Frame) -> None:
        at = self.at
        before = self.source[at - 1 : at] if frame.word >= 0 else b""
        self.at += 1
        if before in (b"!", b"@", b"?", b"*", b"+"):
            if before == b"!" and frame.expect == COMMAND:  # a pattern, or `! (...)`: as the option extglob says
                raise Doubt(at, self.row_of(at))
            self.waiting += 1
            self.push(PLAIN, "pattern", at - 1, frame.quoted)
            return
        if before == b"=":
            inner = self.push(CODE, "(", at, False)
            inner.fixed, inner.expect = True, ARGUMENT
            inner.pending = frame.pending
            return
        self.end_word(frame)
        if frame.expect == PATTERN:
            return
        if self.source[at + 1 : at + 2] == b"(" and not frame.test:
            self.at += 1
            self.push(PLAIN, "((", at, False)
            return
        inner = self.push(CODE, "(", at, False)
        inner.pending = frame.pending
        if frame.test:
            inner.fixed, inner.expect, inner.test = True, ARGUMENT, True

    def shut(self, frame: Frame) -> None:
        """A closing parenthesis in code: of a pattern in `case`, or of this frame."""
        if frame.expect == PATTERN:
            frame.expect = COMMAND
        elif frame.opening:
            if frame.opening == "$(" and frame.pending:
                raise Doubt(self.at, self.row_of(self.at))
            self.frames.pop()
            self.substitutions -= frame.opening == "$("
            outer = self.frames[-1]
            if frame.opening == "(" and outer.kind == CODE and outer.word < 0 and not outer.fixed:
                outer.expect = COMMAND

    def redirection(self, frame: Frame, char: int) -> None:
        at = self.at
        ahead = self.source[at : at + 3]
        if ahead[1:2] == b"(":
            frame.word = frame.word if frame.word >= 0 else at
            self.at += 2
            self.push(CODE, "$(", at, False)
            return
        number = self.source[frame.word : at] if frame.word >= 0 else b""
        if number.startswith(b"{") and number.endswith(b"}") and is_name(number[1:-1]):  # `{fd}>f`: one that is free
            self.copy(frame.word)
            self.out.append((b"10", self.row_of(at)))
            self.copied = at
            number = b"10"
        if number.isdigit():
            frame.word = -1
        self.end_word(frame)
        frame.target = True
        if ahead == b"<<<":
            self.glued(Item(HERESTRING, ahead))
        elif ahead[:2] == b"<>":
            self.glued(Item(OPEN_BOTH, ahead[:2]))
        elif ahead[:2] == b"<<":
            self.heredoc(frame)
        else:
            self.at += 2 if (char == ord(">") and ahead[1:2] in (b">", b"&", b"|")) or ahead[1:2] == b"&" else 1

    def glued(self, item: Item) -> None:
        """Put a mark before the word behind an operator that the grammar does not know everywhere."""
        self.copy(self.at)
        self.out.append((b"<", self.row_of(self.at)))
        self.at = blanks(self.source, self.at + len(item.source))
        if self.source[self.at : self.at + 1] in NO_WORD:
            raise Doubt(self.at, self.row_of(self.at))
        self.mark(item)
        self.copied = self.at

    def heredoc(self, frame: Frame) -> None:
        start = self.shifted = self.at
        self.copy(start)
        tabs = self.source[start + 2 : start + 3] == b"-"
        at = blanks(self.source, start + 2 + tabs)
        word, quoted, self.at = end_word(self.source, at)
        broken = self.source[start + 2 : at + 1].startswith(b"\\\n-")  # then it is part of the operator
        if broken or word is None or self.source[at : at + 1] in NO_WORD:
            raise Doubt(start, self.row_of(start))
        if len(self.items) >= _MOST:
            raise Doubt(start, self.row_of(start))
        item = Item(HEREDOC, self.source[start : self.at])
        slot = len(self.out)
        self.out.append((b"", self.row_of(start)))
        self.items.append(item)
        frame.pending.append(Pending(len(self.items) - 1, slot, word, quoted, tabs, start))
        frame.target = False
        self.waiting += 1
        self.copied = self.at

    def bodies(self, frame: Frame) -> None:
        """Take away the bodies that begin here, of the heredocs of the line before."""
        self.copy(self.at)
        for pending in frame.pending:
            begin = self.at
            lines, self.at = body_of(self.source, self.at, pending, self.substitutions > 0)
            self.items[pending.number].body = self.source[begin : self.at]
            self.fill(pending, b"".join(lines))
        frame.pending.clear()
        self.copied = self.at

    def fill(self, pending: Pending, body: bytes) -> None:
        """Set the mark of a heredoc whose body is known."""
        item = self.items[pending.number]
        inlined = b""
        if pending.quoted:
            item.text = Word(decoded(body))
        elif b"$" not in body and b"`" not in body:
            item.text = Word(unescape(decoded(body), "\\"))
        else:
            if self.depth >= _DEEPEST:
                raise Doubt(pending.at, self.row_of(pending.at))
            inner = _Lexer(body, self.items, self.out[pending.slot][1] + 1, self.depth + 1, len(body))
            inlined, item.text = inner.text()
        self.out[pending.slot] = (b'<"\1%d\1%s\1"' % (pending.number, inlined), self.out[pending.slot][1])
        self.waiting -= 1

    def in_plain(self, frame: Frame, char: int) -> None:
        """Arithmetic, a subscript, a pattern: brackets are counted, quotes passed over."""
        at = self.at
        self.at += 1
        if char in b"'\"":
            self.part_of_quotes(frame, char)
        elif char == ord("<"):
            if self.source[at + 1 : at + 2] == b"<":
                self.shifted = at
                if frame.opening in ("subscript", "pattern"):
                    raise Doubt(at, self.row_of(at))
        elif char == ord("(" if frame.close == ord(")") else "["):
            frame.level += 1
        elif char == frame.close:
            if frame.level:
                frame.level -= 1
            else:
                self.shut_plain(frame)

    def part_of_quotes(self, frame: Frame, char: int) -> None:
        if char == ord('"'):
            self.push(QUOTED, '"', self.at - 1, True)
        elif not frame.quoted:
            end = self.source.find(b"'", self.at)
            self.at = end + 1 if end >= 0 else len(self.source)

    def shut_plain(self, frame: Frame) -> None:
        self.frames.pop()
        if frame.opening == "pattern":
            self.pattern(frame)
        elif frame.opening in ("((", "$(("):
            if self.source[self.at : self.at + 1] == b")":
                self.at += 1
                return
            if self.shifted >= frame.start:  # an expression, or a subshell in one
                raise Doubt(frame.start, self.row_of(frame.start))
            again = self.push(CODE, frame.opening[:-1], frame.start, False)
            if frame.opening == "((" and len(self.frames) > 1:
                again.pending = self.frames[-2].pending

    def pattern(self, frame: Frame) -> None:
        """A pattern like `!(a|b)` is over; in arguments it is marked, the grammar knows it in tests and `case`."""
        self.waiting -= 1
        outer = self.frames[-1]
        if outer.kind != CODE or outer.expect != ARGUMENT or outer.test or self.substituted >= frame.start:
            return
        whole = self.source[frame.start : self.at]
        if b"<(" not in whole and b">(" not in whole:
            self.copy(frame.start)
            self.mark(Item(GLOB, whole))
            self.copied = self.at

    def in_brace(self, frame: Frame, char: int) -> None:
        self.at += 1
        if char == ord("}"):
            self.frames.pop()
        else:
            self.part_of_quotes(frame, char)

    def in_quotes(self, _frame: Frame, _char: int) -> None:
        self.at += 1
        self.frames.pop()

    def copy(self, end: int) -> None:
        if end > self.copied:
            self.out.append((self.source[self.copied : end], self.row_of(self.copied)))
        self.copied = end

    def mark(self, item: Item) -> None:
        if len(self.items) >= _MOST:
            raise Doubt(self.at, self.row_of(self.at))
        self.out.append((b'"\1%d\1\1"' % len(self.items), self.row_of(self.copied)))
        self.items.append(item)

    def row_of(self, at: int) -> int:
        """The row of a place in the source; cheap when places only grow."""
        if at >= self.counted:
            self.row += self.source.count(b"\n", self.counted, at)
        else:
            self.row -= self.source.count(b"\n", at, self.counted)
        self.counted = at
        return self.row


_BY_KIND = {
    CODE: _Lexer.in_code,
    PLAIN: _Lexer.in_plain,
    BRACE: _Lexer.in_brace,
    QUOTED: _Lexer.in_quotes,
}
