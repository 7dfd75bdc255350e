"""What the grammars of nine languages call the things that syntax.py looks for."""

from __future__ import annotations

from typing import NamedTuple


class Grammar(NamedTuple):
    """What a language's grammar calls things.

    Attributes:
        package: the module of the grammar; `function` gives the language.
        calls: type of a call -> names of the fields that hold what is called and its arguments.
        strings: literals, of one or several parts.
        lists: list literals, and wrappers around one argument.
        plus: types of binary operations, whose operator joins texts.
        commands: literals that are run as shell.
        assigns: type of an assignment -> fields of target and value.
        names: types of a variable's name.
    """

    package: str
    calls: dict[str, tuple[str, str]]
    strings: frozenset[str]
    lists: frozenset[str]
    plus: frozenset[str]
    commands: frozenset[str]
    assigns: dict[str, tuple[str, str]]
    names: frozenset[str]
    function: str = "language"


def words_set(words: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(words.split())


_set = words_set


_JS = Grammar(
    "tree_sitter_javascript",
    {"call_expression": ("function", "arguments"), "new_expression": ("constructor", "arguments")},
    _set("string template_string"), _set("array"), _set("binary_expression"), _set(""),
    {"variable_declarator": ("name", "value"), "assignment_expression": ("left", "right")}, _set("identifier"),
)  # fmt: skip
GRAMMARS = {
    "python": Grammar(
        "tree_sitter_python", {"call": ("function", "arguments")}, _set("string concatenated_string"),
        _set("list tuple"), _set("binary_operator"), _set(""), {"assignment": ("left", "right")}, _set("identifier"),
    ),
    "javascript": _JS,
    "typescript": _JS._replace(package="tree_sitter_typescript", function="language_typescript"),
    "ruby": Grammar(
        "tree_sitter_ruby", {"call": ("method", "arguments")}, _set("string chained_string bare_string simple_symbol"),
        _set("array string_array"), _set("binary"), _set("subshell"), {"assignment": ("left", "right")},
        _set("identifier constant"),
    ),
    "go": Grammar(
        "tree_sitter_go",
        {"call_expression": ("function", "arguments"), "type_conversion_expression": ("type", "operand")},
        _set("interpreted_string_literal raw_string_literal"),
        _set("composite_literal literal_value literal_element expression_list"), _set("binary_expression"), _set(""),
        {"short_var_declaration": ("left", "right"), "var_spec": ("name", "value"), "const_spec": ("name", "value"),
         "assignment_statement": ("left", "right")}, _set("identifier"),
    ),
    "rust": Grammar(
        "tree_sitter_rust", {"call_expression": ("function", "arguments")}, _set("string_literal raw_string_literal"),
        _set("array_expression reference_expression"), _set(""), _set(""),
        {"let_declaration": ("pattern", "value"), "const_item": ("name", "value")}, _set("identifier"),
    ),
    "php": Grammar(
        "tree_sitter_php",
        {"function_call_expression": ("function", "arguments"), "scoped_call_expression": ("name", "arguments"),
         "member_call_expression": ("name", "arguments")},
        _set("string encapsed_string"), _set("array_creation_expression array_element_initializer argument"),
        _set("binary_expression"), _set("shell_command_expression"), {"assignment_expression": ("left", "right")},
        _set("variable_name"), function="language_php",
    ),
    "perl": Grammar(
        "tree_sitter_perl",
        {"function_call_expression": ("function", "arguments"), "func1op_call_expression": ("", ""),
         "ambiguous_function_call_expression": ("function", "arguments"), "eval_expression": ("", "")},
        _set("string_literal interpolated_string_literal"), _set("list_expression parenthesized_expression"),
        _set("binary_expression"), _set("command_string"), {"assignment_expression": ("left", "right")},
        _set("scalar"),
    ),
    "elixir": Grammar(
        "tree_sitter_elixir", {"call": ("target", "")}, _set("string charlist sigil atom alias"), _set("list tuple"),
        _set("binary_operator"), _set(""), {"binary_operator": ("left", "right")}, _set("identifier"),
    ),
}  # fmt: skip
