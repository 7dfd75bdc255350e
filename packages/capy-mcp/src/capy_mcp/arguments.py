"""A call's arguments, brought into the shapes that a tool's schema names.

Some hosts write arrays, numbers and booleans as JSON in a string. Where the schema wants something else than a string
and the string is JSON of that type, it is taken; where a string is wanted, one that looks like JSON is left alone.
"""

from __future__ import annotations

import json
from typing import Any

Schema = dict[str, Any]
_PYTHON: dict[str, type | tuple[type, ...]] = {
    "array": list,
    "object": dict,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
}
_SHOWN = 60


class BadArgument(Exception):
    """What is wrong with an argument, in a sentence for the agent that names it."""


def coerce(arguments: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """The arguments as the schema wants them; null and unknown ones are left out.

    Args:
        arguments: as the client sent them.
        schema: a tool's `inputSchema`.

    Raises:
        BadArgument: one is missing, or has a type or value that the schema does not allow.
    """
    known = schema["properties"]
    given = {name: value for name, value in arguments.items() if name in known and value is not None}
    for name in schema.get("required", ()):
        if name not in given:
            hint = f"; it takes {', '.join(known)}" if not given else ""
            raise BadArgument(f"`{name}` is missing{hint}")
    return {name: _value(name, value, known[name]) for name, value in given.items()}


def _value(name: str, value: Any, schema: Schema) -> Any:
    kind = schema.get("type", "")
    value = _decoded(value, kind)
    if kind == "array" and isinstance(value, str | dict):
        value = [value]  # one thing where a list of things is wanted
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        value = int(value)
    if kind == "object" and isinstance(value, str) and len(schema.get("required", ())) == 1:
        value = {schema["required"][0]: value}  # "ls" for {"command": "ls"}
    if not _is(value, kind):
        raise BadArgument(f"`{name}` must be {_article(kind)}, not {_shown(value)}")
    if "enum" in schema and value not in schema["enum"]:
        raise BadArgument(f"`{name}` must be one of {', '.join(schema['enum'])}, not {_shown(value)}")
    if kind == "array":
        return [_value(f"{name}[{index}]", item, schema["items"]) for index, item in enumerate(value)]
    if kind == "object" and "properties" in schema:
        try:
            return coerce(value, schema)
        except BadArgument as ex:
            raise BadArgument(f"in `{name}`: {ex}") from None
    return value


def _decoded(value: Any, kind: str) -> Any:
    """What a string holds, where something else is wanted and it is JSON of that type."""
    if kind == "string" or not isinstance(value, str):
        return value
    try:
        inner = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return inner if _is(inner, kind) else value


def _is(value: Any, kind: str) -> bool:
    if kind in ("integer", "number") and isinstance(value, bool):
        return False
    return isinstance(value, _PYTHON.get(kind, object))


def _article(kind: str) -> str:
    return {"array": "a list", "object": "an object", "integer": "a whole number", "boolean": "true or false"}.get(
        kind, f"a {kind}"
    )


def _shown(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
