"""Write docs/mcp-tools.md from the schemas that the server sends; `--check` exits 1 when it is out of date."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from capy_mcp.tools.schemas import INSTRUCTIONS, TOOLS

PAGE = Path(__file__).parent.parent / "docs" / "mcp-tools.md"
_HEAD = f"""# The tools of capy-mcp

Written by scripts/write_tool_docs.py from what the server sends. A reply is always text.

Arguments that a host sends as JSON in a string are taken where the meaning is plain; null and unknown ones are passed
over. What is wrong with a call is a reply with `isError` that names the argument.

What the server tells the model:

> {INSTRUCTIONS}
"""


def page() -> str:
    """The whole page."""
    return "\n".join([_HEAD, *(_section(tool) for tool in TOOLS)])


def _section(tool: dict[str, Any]) -> str:
    schema = tool["inputSchema"]
    lines = [f"## {tool['name']}", "", tool["description"], ""]
    if schema["properties"]:
        lines += ["| Argument | Type | |", "|---|---|---|"]
        lines += [_row(name, its, name in schema.get("required", ())) for name, its in schema["properties"].items()]
        lines.append("")
    return "\n".join(lines)


def _row(name: str, schema: dict[str, Any], required: bool) -> str:
    about = [schema.get("description", "")]
    if "enum" in schema:
        about.append("one of " + ", ".join(schema["enum"]))
    return f"| `{name}`{' (required)' if required else ''} | {_type(schema)} | {'; '.join(filter(None, about))} |"


def _type(schema: dict[str, Any]) -> str:
    if schema["type"] == "array":
        return f"list of {_type(schema['items'])}"
    if "properties" in schema:
        return f"{{{', '.join(schema['properties'])}}}"
    return str(schema["type"])


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
