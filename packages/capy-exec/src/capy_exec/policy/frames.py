"""What stands open at a place in shell code: quotes, brackets, and in code what the next word may be."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from capy_exec.policy.heredocs import Pending

# Kinds of frames: code; what counts brackets; `${`; double quotes; the text of a heredoc.
CODE, PLAIN, BRACE, QUOTED, TEXT = range(5)
STOP = b"\1"
_MATTERS = {  # in each kind of frame
    CODE: b" \t\n;&|<>()#'\"\\$`[",
    PLAIN: b"()[]'\"\\$`<",
    BRACE: b"}'\"\\$`",
    QUOTED: b'"\\$`',
    TEXT: b"\\$`",
}
STOPS = {kind: bytes.maketrans(chars, STOP * len(chars)) for kind, chars in _MATTERS.items()}
"""For each kind of frame, a table that puts STOP in the place of what matters in it."""

# What the next word may be: a command's name or a reserved word, the same behind an assignment, an argument, a pattern
# of `case`, a function's name, the word behind `for`, `in` or `do`, the word behind `case`, `in`.
COMMAND, ASSIGNED, ARGUMENT, PATTERN, _NAME, _FOR, _FOR_IN, CASE, CASE_IN = range(9)
AWAITED = (PATTERN, CASE, CASE_IN)
"""What a newline does not end."""
_RESERVED = {
    b"case": CASE,
    b"for": _FOR,
    b"function": _NAME,
    b"select": _FOR,
    **dict.fromkeys(b"if then else elif do while until { ! time -p -- coproc".split(), COMMAND),
}
_NEXT = {_NAME: COMMAND, _FOR: _FOR_IN, CASE: CASE_IN, PATTERN: PATTERN, CASE_IN: CASE_IN}
_AFTER_NAME = {(_FOR_IN, b"do"): COMMAND, (_FOR_IN, b"{"): COMMAND, (CASE_IN, b"in"): PATTERN}


class Frame:
    """What stands open: code, quotes or brackets."""

    __slots__ = ("cases", "close", "expect", "fixed", "kind", "level", "opening", "pending", "quoted", "start",
                 "target", "test", "word")  # fmt: skip

    def __init__(self, kind: int, opening: str, start: int, *, quoted: bool = False) -> None:
        self.kind = kind
        self.opening = opening  # "", "(", "$(", "((", "$((", "$[", "${", '"', "pattern", "subscript"
        self.close = ord("]" if opening in ("$[", "subscript") else "}" if kind == BRACE else ")")
        self.start = start
        self.quoted = quoted  # inside double quotes or a heredoc: single quotes are text
        self.level = 0
        # Of code only:
        self.expect = COMMAND
        self.cases = 0
        self.word = -1  # where the word began
        self.target = False  # the next word belongs to a redirection
        self.test = False  # inside [[ ]]
        self.fixed = False  # `expect` stays as it is
        self.pending: list[Pending] = []

    def ended(self, word: bytes) -> None:
        """Note what a word that ends here says about the next."""
        if self.fixed or self.target:
            self.target = False
        elif self.test:
            self.test = word != b"]]"
        elif word == b"esac" and self.expect in (COMMAND, PATTERN) and self.cases:
            self.cases -= 1
            self.expect = ARGUMENT
        elif self.expect == COMMAND and word in _RESERVED:
            self.expect = _RESERVED[word]
        elif (self.expect, word) in _AFTER_NAME:
            self.expect = _AFTER_NAME[self.expect, word]
            self.cases += self.expect == PATTERN
        elif self.expect in (COMMAND, ASSIGNED) and _is_assignment(word):
            self.expect = ASSIGNED
        else:
            self.test = self.expect == COMMAND and word == b"[["
            self.expect = _NEXT.get(self.expect, ARGUMENT)


def is_name(word: bytes) -> bool:
    return word.isascii() and word.decode("ascii").isidentifier()


def _is_assignment(word: bytes) -> bool:
    name, equals, _value = word.partition(b"=")
    return bool(equals) and is_name(name.removesuffix(b"+").partition(b"[")[0])
