"""The calls in R code, by its tokens: there is no grammar of R to install, and strings and calls are simple in it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from .calls import HOLE, Call, Value, kind_of
from .grammars import SECONDS

_TOKEN = re.compile(
    r"""(?P<skip>\s+|\#[^\n]*)
    |(?P<raw>[rR](?P<quote>["'])(?P<dashes>-*)(?P<open>[\[({]))
    |(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    |(?P<name>[A-Za-z.][\w.]*(?:::{1,2}[\w.]+)?)
    |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|u\{?[0-9a-fA-F]{1,4}\}?|[0-7]{1,3}|.)", re.DOTALL)
_SHORT = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_CLOSE = {"(": ")", "[": "]", "{": "}"}
_DEEPEST = 50


class _Token:
    __slots__ = ("kind", "line", "text")

    def __init__(self, kind: str, text: str, line: int) -> None:
        self.kind, self.text, self.line = kind, text, line


def calls_in(code: str) -> Iterator[Call]:
    """Every call, with its arguments as far as they are literal."""
    deadline = time.monotonic() + SECONDS
    tokens = list(_tokens(code, deadline))
    for at in range(len(tokens) - 1):
        if tokens[at].kind == "name" and tokens[at + 1].text == "(" and kind_of(_dotted(tokens[at].text), "r"):
            if time.monotonic() > deadline:
                raise TimeoutError
            args, named, _ = _arguments(tokens, at + 2, 0)
            yield Call(_dotted(tokens[at].text), args, named, tokens[at].line)


def _dotted(name: str) -> str:
    return name.replace(":::", ".").replace("::", ".")


def _tokens(code: str, deadline: float) -> Iterator[_Token]:
    line, at = 1, 0
    while match := _TOKEN.match(code, at):
        at, text = match.end(), match[0]
        if match["raw"] is not None:
            if time.monotonic() > deadline:
                raise TimeoutError
            close = _CLOSE[match["open"]] + match["dashes"] + match["quote"]
            end = code.find(close, at)
            end = len(code) if end < 0 else end
            text = code[at:end]
            yield _Token("string", text, line)
            at = end + len(close)
        elif match["string"] is not None:
            yield _Token("string", _ESCAPE.sub(_unescaped, text[1:-1]), line)
        elif match["skip"] is None:
            yield _Token(match.lastgroup or "", text, line)
        line += text.count("\n")


def _arguments(tokens: list[_Token], at: int, depth: int) -> tuple[list[Value], dict[str, Value], int]:
    """The arguments from behind the bracket on, and where they end."""
    args: list[Value] = []
    named: dict[str, Value] = {}
    while at < len(tokens) and tokens[at].text != ")":
        name = ""
        if tokens[at].kind == "name" and at + 1 < len(tokens) and tokens[at + 1].text == "=":
            name, at = tokens[at].text, at + 2
        value, at = _expression(tokens, at, depth)
        if name in ("", "command", "args"):
            args.append(value)
        else:
            named[name] = value
        if at < len(tokens) and tokens[at].text == ",":
            at += 1
    return args, named, at + 1


def _expression(tokens: list[_Token], at: int, depth: int) -> tuple[Value, int]:
    """One argument: a text, `c(...)` and `paste0(...)` of texts, or what only running can tell."""
    begin = at
    value: Value = HOLE
    if depth < _DEEPEST and at < len(tokens):
        if tokens[at].kind == "string":
            value, at = (tokens[at].text,), at + 1
        elif tokens[at].kind == "name" and at + 1 < len(tokens) and tokens[at + 1].text == "(":
            args, named, after = _arguments(tokens, at + 2, depth + 1)
            value, at = _called(tokens[at].text, args, named), after
    if at < len(tokens) and tokens[at].kind != "string" and tokens[at].text in (",", ")"):
        return value, at
    return HOLE, _end(tokens, begin)


def _called(name: str, args: list[Value], named: dict[str, Value]) -> Value:
    if name == "c":
        return args
    if name in ("paste0", "paste") and all(isinstance(arg, tuple) for arg in args) and set(named) <= {"sep"}:
        separator = named.get("sep", (" " if name == "paste" else "",))
        texts = [arg for arg in args if isinstance(arg, tuple)]
        joined: tuple[str | None, ...] = texts[0] if texts else ("",)
        for text in texts[1:]:
            joined += (separator if isinstance(separator, tuple) else HOLE) + text
        return joined
    return args[0] if name == "shQuote" and args else HOLE


def _end(tokens: list[_Token], at: int) -> int:
    """Where an expression ends: at a comma or bracket that is not in brackets of its own."""
    depth = 0
    while at < len(tokens):
        text = tokens[at].text if tokens[at].kind != "string" else ""
        if depth == 0 and text in (",", ")"):
            break
        depth += (text in ("(", "[", "{")) - (text in (")", "]", "}"))
        at += 1
    return at


def _unescaped(match: re.Match[str]) -> str:
    body = match[1]
    if body[0] in "xu" and len(body) > 1:
        return chr(int(body[1:].strip("{}"), 16))
    if body.isdigit() and body != "0":
        return chr(int(body, 8))
    return _SHORT.get(body, body)
