"""Other names for things: what the imports, and a few assignments, of a source text call them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

TextOf = Callable[["Node | None"], str]

_LONGEST = 4000
_MODULE = r"""(?:await\s+)?(?:require|import)\(\s*["'`](?:node:)?([\w/.@-]+)["'`]\s*\)"""
_JS_WHOLE = re.compile(rf"^(?:\w+\s*:\s*[\w.]+\s*)?(\w+)\s*(?::\s*[\w.]+\s*)?=\s*{_MODULE}(\.\w+)?\s*$")
_JS_PARTS = re.compile(rf"^\{{([^}}]*)\}}\s*=\s*{_MODULE}\s*$")
_JS_PROMISE = re.compile(r"^(\w+)\s*=\s*(?:\w+\.)?promisify\(\s*([\w.]+)\s*\)$")
_JS_OTHER = re.compile(r"^(\w+)\s*=\s*([\w.]+)$")


def _is_short(node: Node) -> bool:
    """False for a node that holds more than a name for something."""
    return node.end_byte - node.start_byte <= _LONGEST


def _python(nodes: list[Node], text_of: TextOf) -> dict[str, str]:
    names: dict[str, str] = {}
    for node in nodes:
        if node.type == "import_statement":
            for child in node.named_children:
                name, _, alias = text_of(child).partition(" as ")
                names[alias.strip() or name.partition(".")[0]] = name.strip() if alias else name.partition(".")[0]
        elif node.type == "import_from_statement":
            module, *imported = node.named_children
            for child in imported:
                name, _, alias = text_of(child).partition(" as ")
                if name == "*":
                    names |= {member: f"{text_of(module)}.{member}" for member in _members(text_of(module))}
                names[alias.strip() or name.strip()] = f"{text_of(module)}.{name.strip()}"
    for node in nodes:
        if node.type == "assignment" and _is_short(node) and (match := _JS_OTHER.match(text_of(node))):
            head, dot, rest = match[2].partition(".")
            if head in names:  # run = subprocess.run
                names[match[1]] = names[head] + dot + rest
    return names


def _members(module: str) -> list[str]:
    from .calls import TABLES

    return [name.removeprefix(f"{module}.") for name in TABLES["python"] if name.startswith(f"{module}.")]


def _javascript(nodes: list[Node], text_of: TextOf) -> dict[str, str]:
    names: dict[str, str] = {}
    for node in nodes:
        if node.type == "import_statement":
            module = text_of(node.child_by_field_name("source")).strip("\"'`").removeprefix("node:")
            for part in node.named_children:
                if part.type == "import_clause":
                    names |= _clause(text_of(part), module)
        elif node.type in ("variable_declarator", "assignment_expression") and _is_short(node):
            text = text_of(node)
            if match := _JS_WHOLE.match(text):
                names[match[1]] = match[2] + (match[3] or "")
            elif match := _JS_PARTS.match(text):
                names |= _braces(match[1], match[2], ":")
            elif (match := _JS_PROMISE.match(text) or _JS_OTHER.match(text)) and match[2].partition(".")[0] in names:
                head, dot, rest = match[2].partition(".")
                names[match[1]] = names[head] + dot + rest
    return names


def _clause(text: str, module: str) -> dict[str, str]:
    """`a, {b, c as d}` or `* as e` of an import."""
    names: dict[str, str] = {}
    whole, brace, parts = text.partition("{")
    for name in whole.split(","):
        if alias := name.replace("* as", "").strip():
            names[alias] = module
    return names | _braces(parts.rstrip("} \n"), module, " as ") if brace else names


def _braces(parts: str, module: str, separator: str) -> dict[str, str]:
    names = {}
    for part in parts.split(","):
        name, _, alias = part.partition("=")[0].partition(separator)
        if name.strip():
            names[alias.strip() or name.strip()] = f"{module}.{name.strip()}"
    return names


def _go(nodes: list[Node], text_of: TextOf) -> dict[str, str]:
    names: dict[str, str] = {}
    for node in nodes:
        if node.type == "import_spec":
            alias, path = (
                text_of(node.child_by_field_name("name")),
                text_of(node.child_by_field_name("path")).strip('"`'),
            )
            last = path.rpartition("/")[2]
            if alias == ".":
                names |= {"Command": f"{last}.Command", "CommandContext": f"{last}.CommandContext"}
            elif alias:
                names[alias] = last
    return names


def _rust(nodes: list[Node], text_of: TextOf) -> dict[str, str]:
    return {
        text_of(node.child_by_field_name("alias")): text_of(node.child_by_field_name("path")).replace("::", ".")
        for node in nodes
        if node.type == "use_as_clause"
    }


_ELIXIR_AS = re.compile(r"^alias[\s(]+([\w.]+)\s*,\s*as:\s*(\w+)\)?$")
_ELIXIR_IMPORT = re.compile(r"^import[\s(]+(System|Code|Port)\b")


def _elixir(nodes: list[Node], text_of: TextOf) -> dict[str, str]:
    names: dict[str, str] = {}
    for node in nodes:
        if node.type != "call" or not _is_short(node):
            continue
        if match := _ELIXIR_AS.match(text_of(node)):
            names[match[2]] = match[1]
        elif match := _ELIXIR_IMPORT.match(text_of(node)):
            names |= {name: f"{match[1]}.{name}" for name in ("cmd", "shell", "eval_string", "open")}
    return names


IMPORTS: dict[str, Callable[[list[Node], TextOf], dict[str, str]]] = {
    "python": _python, "javascript": _javascript, "typescript": _javascript, "go": _go, "rust": _rust,
    "elixir": _elixir,
}  # fmt: skip
