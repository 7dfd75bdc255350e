"""The calls in source code, by the grammar of its language: names with aliases resolved, arguments as far as they are
literal.

One way of reading for all languages, and for each a table of what its grammar calls things.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .calls import HOLE, STARTS, TABLES, Call, Splat, Text, Value, kind_of
from .grammars import SECONDS, parse
from .imports import IMPORTS
from .languages import GRAMMARS, words_set

if TYPE_CHECKING:
    from tree_sitter import Node


_JOINS = frozenset(("+", ".", "<>", "++"))
_CONTENT = words_set(
    "string_content string_fragment quoted_content raw_string_literal_content interpreted_string_literal_content"
)
_NOT_CONTENT = frozenset(("string_start", "string_end", "sigil_name", "sigil_modifiers", "comment"))
# Calls that hand on the text they are given
_SAME_TEXT = words_set(
    "split to_charlist encode to_string to_owned into as_ptr strip dedent Path shlex.split str String.from "
    "String.raw shellwords Shellwords.split"
)
_NO_VALUES = words_set("comment keyword_argument pair block do_block lambda arrow_function function_expression")
_NOT_VALUES = words_set("attribute import_from_statement dotted_name aliased_import assignment")
_INCLUDES = words_set("include_expression include_once_expression require_expression require_once_expression")
_DEEPEST = 100
_LONGEST_NAME = 400  # of what is called, as it is written; only its end is looked up
# Functions that call the function whose name they are given
_APPLIES = defaultdict(
    frozenset,
    ruby=words_set("send public_send __send__"),
    php=words_set("call_user_func call_user_func_array"),
    elixir=words_set("apply"),
)
_CHAIN_END = frozenset(("spawn", "output", "status", "exec"))
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "0": "\0"}
# What stands for a module, so that the call behind it has its plain name
_LOADED = re.compile(
    r"""(?:await)?(?:__import__|importlib\.import_module|require|import)\(["'`](?:node:)?([\w/.]+)["'`]\)"""
)
_GETATTR = re.compile(r"""\bgetattr\(([\w.]+),["'](\w+)["']\)""")
_COMPUTED = re.compile(r"(?:child_process|os|subprocess|Bun|Deno|globalThis|globals\(\)|vars\(\w+\)|\w+\.__dict__)\[")
_SUBSCRIPT = re.compile(r"""\[["'`](\w+)["'`]\]""")


class Reader:
    """Reads one tree."""

    def __init__(self, root: Node, language: str, source: bytes, deadline: float | None = None) -> None:
        self._root, self._language, self._source = root, language, source
        self._grammar = GRAMMARS[language]
        self._deadline = deadline or time.monotonic() + 2 * SECONDS
        # Asking a node for its parent goes down the tree from its root
        self._parents: dict[int, Node] = {}
        self._nodes = list(self._walk())
        self._values = self._constants()
        self._aliases = IMPORTS[language](self._nodes, self._code) if language in IMPORTS else {}
        self.unreadable: list[str] = []

    def calls(self) -> Iterator[Call]:
        """Every call of a name that is known to us, and every literal that is run."""
        for node in self._nodes:
            self._watch_time()
            if node.type in self._grammar.calls:
                yield from self._call(node)
            elif node.type in self._grammar.commands:
                yield Call("`...`", [self._text(node)], {}, _line(node))
            elif node.type == "macro_invocation" and self._language == "rust":
                yield from self._macro(node)
            elif node.type in _INCLUDES:
                yield Call("include", [self._value(child) for child in node.named_children], {}, _line(node))
        self._find_values_of_spawns()

    def _code(self, node: Node | None) -> str:
        """The source of a node. Not `node.text`, which asks the parser's reader for it, piece by piece."""
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace") if node is not None else ""

    def _walk(self) -> Iterator[Node]:
        """All nodes, in source order, whatever the depth."""
        stack = [self._root]
        while stack:
            node = stack.pop()
            yield node
            children = node.children
            if children:
                self._watch_time()
                self._parents.update((child.id, node) for child in children)
                stack += reversed(children)

    def _watch_time(self) -> None:
        if time.monotonic() > self._deadline:
            raise TimeoutError

    def _parent(self, node: Node) -> Node | None:
        return self._parents.get(node.id)

    def _call(self, node: Node) -> Iterator[Call]:
        callee, arguments = self._parts(node)
        name = self._name(callee)
        args, named = self._arguments(arguments, node)
        if self._language == "python" and name.startswith("getattr"):
            self._note_getattr(node, arguments)
            return
        if _COMPUTED.match(name):
            self.unreadable.append(f"line {_line(node)}: {name:.60} is a name that only running can tell")
            return
        if self._language == "php" and callee is not None and callee.type == "variable_name":
            name = "".join(piece or "" for piece in self._text_of(callee))
        if arguments is not None and arguments.type == "template_string":
            name += "`"
        if name.rpartition(".")[2] in _APPLIES[self._language]:
            name, args = self._applied(name, args)
        parent = self._parent(node)
        if parent is not None and _operator(parent) == "|>" and parent.child_by_field_name("right") == node:
            args = [self._value(parent.child_by_field_name("left")), *args]
        kind = kind_of(name, self._language)
        if callee is not None and self._is_path_method(name, kind):
            args = [self._value(callee.child_by_field_name("object")), *args]
        if name.rpartition(".")[2] == "new" and kind:
            args += self._chain(node)
        yield Call(name, args, named, _line(node))

    def _is_path_method(self, name: str, kind: str) -> bool:
        """True for Python's `Path(...).read_text()` and its kin: what is opened stands before the dot."""
        table, method = TABLES["python"], f".{name.rpartition('.')[2]}"
        return (
            self._language == "python" and kind in ("read", "write", "open") and name not in table and method in table
        )

    def _note_getattr(self, node: Node, arguments: Node | None) -> None:
        """`getattr(os, x)`: only running can tell which function; one that is called has its plain name by now."""
        if arguments is None or len(arguments.named_children) < 2:
            return
        module, attribute = arguments.named_children[:2]
        if kind_of(f"{self._name(module)}.system", "python") or self._name(module) == "subprocess":
            parent = self._parent(node)
            called = parent is not None and parent.type == "call"
            name = "".join(piece or "" for piece in self._text_of(attribute))
            if not name or (not called and kind_of(f"{self._name(module)}.{name}", "python") in STARTS):
                self.unreadable.append(f"line {_line(node)}: getattr of {name or 'a name that only running can tell'}")

    def _text_of(self, node: Node) -> Text:
        value = self._value(node)
        return value if isinstance(value, tuple) else HOLE

    def _parts(self, node: Node) -> tuple[Node | None, Node | None]:
        callee_field, arguments_field = self._grammar.calls[node.type]
        callee = node.child_by_field_name(callee_field) if callee_field else node.children[0]
        if arguments_field:
            return callee, node.child_by_field_name(arguments_field)
        rest = [child for child in node.children if child.type == "arguments"]
        return callee, rest[0] if rest else node.children[-1] if node.child_count > 1 else None

    def _name(self, node: Node | None) -> str:
        """What is called, with dots between its parts; its first part, if it is another name of something, resolved."""
        if node is None:
            return ""
        text = "".join(self._code(node)[-_LONGEST_NAME:].split())
        parent = self._parent(node)
        if parent is not None and parent.type == "call" and self._language == "ruby":
            receiver = parent.child_by_field_name("receiver")
            text = f"{''.join(self._code(receiver)[-_LONGEST_NAME:].split())}.{text}" if receiver is not None else text
        if parent is not None and parent.type in ("scoped_call_expression", "member_call_expression"):
            text = f"?.{text}"  # a method of PHP: none of its functions
        text = _LOADED.sub(r"\1", text)
        text = _SUBSCRIPT.sub(r".\1", _GETATTR.sub(r"\1.\2", text))
        text = (
            text.replace("::", ".").replace("?.", ".").replace("->", ".").lstrip("\\(").replace(")", "", text[0] == "(")
        )
        head, dot, rest = text.partition(".")
        return f"{self._aliases.get(head, head)}{dot}{rest}" if head else text

    def _arguments(self, node: Node | None, call: Node) -> tuple[list[Value], dict[str, Value]]:
        if node is None:
            return [], {}
        if node.type in self._grammar.strings or node.type in self._grammar.names or node.type == "list_expression":
            children = node.named_children if node.type == "list_expression" else [node]
        elif node.type.endswith(("arguments", "argument_list")) or node.type == "parenthesized_expression":
            children = node.named_children
        else:
            children = [node]
        args: list[Value] = []
        named: dict[str, Value] = {}
        if any(child.type == "indirect_object" for child in call.children):  # `system { $program } @args`
            args.append(HOLE)
        for child in children:
            if child.type in ("keyword_argument", "pair"):
                key, value = child.named_children[0], child.named_children[-1]
                named[self._code(key).strip(" :")] = self._value(value)
            elif child.type == "keywords":
                for pair in child.named_children:
                    named[self._code(pair.named_children[0]).strip(" :")] = self._value(pair.named_children[-1])
            elif child.type not in _NO_VALUES:
                args.append(self._value(child))
        return args, named

    def _applied(self, name: str, args: list[Value]) -> tuple[str, list[Value]]:
        """`apply(System, :cmd, [...])`, `send(:system, "x")`, `call_user_func("system", "x")` as the call they make."""
        texts = ["".join(piece or "" for piece in arg).lstrip(":") if isinstance(arg, tuple) else "" for arg in args]
        if name == "apply":
            return ".".join(texts[:2]), list(args[2]) if len(args) > 2 and isinstance(args[2], list) else [Splat()]
        return (texts[0] if texts else ""), args[1:]

    def _value(self, node: Node | None, depth: int = 0) -> Value:
        """The value of an expression, as far as it is literal."""
        grammar = self._grammar
        if node is None or depth > _DEEPEST:
            return HOLE
        if node.type == "sigil" and self._code(node)[1:2] in "wW":
            return [(word,) for word in "".join(piece or "" for piece in self._text(node)).split()]
        if node.type in grammar.strings:
            return self._text(node)
        if node.type in grammar.lists or node.type == "parenthesized_expression":
            return self._list(node, depth)
        if node.type in grammar.plus:
            return self._joined(node, depth)
        if node.type in grammar.calls:
            return self._handed_on(node, depth)
        if node.type in grammar.names and (value := self._values.get(self._code(node))) is not None:
            return self._value(value, depth + 1)
        return self._compound(node, depth)

    def _joined(self, node: Node, depth: int) -> Value:
        """Texts, or lists, put together by an operator."""
        operator = _operator(node)
        if operator not in _JOINS:
            return HOLE
        left, right = (self._value(node.child_by_field_name(side), depth + 1) for side in ("left", "right"))
        if isinstance(left, tuple) and isinstance(right, tuple):
            return left + right
        if operator in ("+", "++") and (isinstance(left, list) or isinstance(right, list)):
            return [
                *(left if isinstance(left, list) else [Splat()]),
                *(right if isinstance(right, list) else [Splat()]),
            ]
        return HOLE

    def _compound(self, node: Node, depth: int) -> Value:
        if node.type in ("object", "hash"):
            return {
                self._code(pair.named_children[0]).strip("\"' :"): self._value(pair.named_children[-1], depth + 1)
                for pair in node.named_children
                if pair.type == "pair" and len(pair.named_children) == 2
            }
        if node.type in ("list_splat", "spread_element", "splat_argument", "variadic_argument", "array"):
            inner = self._value(node.named_children[-1], depth + 1) if node.named_children else HOLE
            return inner if isinstance(inner, list) else Splat()
        return self._vector(node) if node.type == "macro_invocation" else HOLE

    def _list(self, node: Node, depth: int) -> Value:
        children = [child for child in node.named_children if child.type != "comment"]
        if node.type == "composite_literal":
            body = node.child_by_field_name("body")
            return self._value(body, depth + 1)
        single = ("literal_element", "array_element_initializer", "argument", "reference_expression", "expression_list",
                  "parenthesized_expression")  # fmt: skip
        if node.type in single and len(children) == 1 and self._language != "perl":
            return self._value(children[0], depth + 1)
        if node.type == "argument" and children:  # PHP's `name: value`
            return self._value(children[-1], depth + 1)
        values = [self._value(child, depth + 1) for child in children if child.type not in _NO_VALUES]
        if node.type == "parenthesized_expression" and len(values) == 1:
            return values[0]
        return values

    def _handed_on(self, node: Node, depth: int) -> Value:
        """The text that a call hands on: `"git push".split()`, `Path(".env")`."""
        callee, arguments = self._parts(node)
        name = self._name(callee)
        if name not in _SAME_TEXT and name.rpartition(".")[2] not in _SAME_TEXT:
            return HOLE
        receiver = callee.child_by_field_name("object") if callee is not None else None
        receiver = receiver or node.child_by_field_name("receiver") or (callee and callee.child_by_field_name("value"))
        if receiver is not None and receiver.type in self._grammar.strings:
            return self._value(receiver, depth + 1)
        args, _ = self._arguments(arguments, node)
        return args[0] if args else HOLE

    def _text(self, node: Node) -> Text:
        """A literal: its pieces, with None for what is put into it."""
        if node.type in ("concatenated_string", "chained_string"):
            return tuple(piece for child in node.named_children for piece in self._text(child))
        if node.type in ("atom", "alias", "simple_symbol"):
            return (self._code(node),)
        pieces: list[str | None] = []
        for child in node.children:
            if child.type in _CONTENT:
                pieces += self._content(child)
            elif child.type == "escape_sequence":
                pieces.append(_unescaped(self._code(child)))
            elif child.is_named and child.type not in _NOT_CONTENT:
                pieces.append(None)
        return tuple(pieces) or ("",)

    def _content(self, node: Node) -> Iterator[str | None]:
        at = node.start_byte
        for child in node.children:
            yield self._source[at : child.start_byte].decode("utf-8", "replace")
            yield _unescaped(self._code(child)) if child.type == "escape_sequence" else None
            at = child.end_byte
        yield self._source[at : node.end_byte].decode("utf-8", "replace")

    def _constants(self) -> dict[str, Node]:
        """Variables that are given a value once and are else only handed to calls."""
        targets: dict[str, list[Node]] = {}
        other: set[str] = set()
        for node in self._nodes:
            holder = self._parent(node)
            if node.type not in self._grammar.names or holder is None:
                continue
            name = self._code(node)
            while holder.type in ("expression_list", "variable_declaration") and (above := self._parent(holder)):
                node, holder = holder, above
            fields = self._grammar.assigns.get(holder.type)
            if fields and holder.child_by_field_name(fields[0]) == node and _operator(holder) in ("", "=", ":="):
                value = holder.child_by_field_name(fields[1])
                targets.setdefault(name, []).extend([value] if value is not None else [])
            elif not self._is_use(holder):
                other.add(name)
        return {name: values[0] for name, values in targets.items() if len(values) == 1 and name not in other}

    def _is_use(self, holder: Node) -> bool:
        """True when a name in this node is read, not written."""
        grammar = self._grammar
        return (
            holder.type.endswith(("arguments", "argument_list", "argument"))
            or holder.type in grammar.calls
            or holder.type in grammar.lists
            or (holder.type in grammar.plus and _operator(holder) != "=")
        )

    def _chain(self, node: Node) -> list[Value]:
        """The words that Rust's `.arg(..)` and `.args(..)` behind `Command::new(..)` add."""
        words: list[Value] = []
        while (field := self._parent(node)) and field.type == "field_expression" and (above := self._parent(field)):
            node = above
            method = self._code(field.child_by_field_name("field"))
            if method in ("arg", "args"):
                args, _ = self._arguments(node.child_by_field_name("arguments"), node)
                words += args if method == "arg" or isinstance(args[0] if args else HOLE, list) else [Splat()]
            elif method in _CHAIN_END:
                return words
        return [*words, Splat()]

    def _macro(self, node: Node) -> Iterator[Call]:
        """The calls within a macro's arguments, which the grammar leaves as tokens."""
        inner = self._code(node.named_children[-1])[1:-1]
        if "(" in inner:
            root, source = parsed(f"fn main() {{ ({inner}); }}", self._language)
            yield from Reader(root, self._language, source, self._deadline).calls()

    def _vector(self, node: Node) -> Value:
        tokens = node.named_children[-1]
        if self._code(node).startswith("vec!") and all(
            child.type in self._grammar.strings for child in tokens.named_children
        ):
            return [self._text(child) for child in tokens.named_children]
        return HOLE

    def _find_values_of_spawns(self) -> None:
        """A function that starts programs, but used as a value: who calls it with what cannot be told."""
        if self._language != "python":
            return
        for node in self._nodes:
            parent = self._parent(node)
            if node.type not in ("attribute", "identifier") or parent is None or parent.type in _NOT_VALUES:
                continue
            if parent.type == "call" and parent.child_by_field_name("function") == node:
                continue
            if node.type == "identifier" and self._code(node) not in self._aliases:
                continue
            name = self._name(node)
            if name in TABLES["python"] and TABLES["python"][name] in STARTS:
                self.unreadable.append(f"line {_line(node)}: {name} is used as a value")


def parsed(code: str, language: str) -> tuple[Node, bytes]:
    """The tree of a piece of code, and its bytes; where statements alone are not valid, that of the file made of them.

    Raises:
        TimeoutError: it takes too long.
        ImportError: there is no grammar.
    """
    root, source = _parse(code, language)
    if root.has_error and language in ("go", "rust"):
        from ..runtimes import language_named
        from ..wrapping import files_for

        whole = next(iter(files_for(language_named(language), code, with_file=False).values()))
        wrapped = _parse(whole, language)
        if not wrapped[0].has_error:
            return wrapped
    return root, source


def _parse(code: str, language: str) -> tuple[Node, bytes]:
    grammar = GRAMMARS[language]
    function = "language_php_only" if language == "php" and "<?" not in code else grammar.function
    source = code.encode("utf-8", "replace")
    tree = parse(grammar.package, source, function=function)
    if tree is None:
        raise TimeoutError
    return tree.root_node, source


def _operator(node: Node) -> str:
    operator = node.child_by_field_name("operator")
    if operator is not None:
        return operator.type
    return next((child.type for child in node.children if not child.is_named and child.type in _JOINS | {"="}), "")


def _line(node: Node) -> int:
    return node.start_point[0] + 1


def _unescaped(text: str) -> str:
    """What an escape sequence stands for, in any of the languages."""
    body = text[1:]
    if body[:1] in "xuU" and len(body) > 1:
        digits = body[1:].strip("{}")
        try:
            return chr(int(digits, 16))
        except (ValueError, OverflowError):
            return text
    if body.isdigit() and body != "0":
        return chr(int(body, 8) if not set(body) & set("89") else int(body))
    if body[:1] == "\n":
        return ""
    return _ESCAPES.get(body, body)
