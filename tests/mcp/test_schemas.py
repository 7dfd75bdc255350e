"""What the client sees: in the shapes that every host takes, and as the docs say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from capy_mcp.call import _TOOLS
from capy_mcp.tools.schemas import INSTRUCTIONS, TOOLS

ROOT = Path(__file__).parents[2]


def test_the_docs_say_what_the_server_sends() -> None:
    done = subprocess.run([sys.executable, ROOT / "scripts" / "write_tool_docs.py", "--check"])
    assert done.returncode == 0, "run scripts/write_tool_docs.py"


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool["name"])
def test_a_tool_is_one_that_every_host_takes(tool: dict[str, object]) -> None:
    schema = tool["inputSchema"]
    assert isinstance(schema, dict)
    Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert not {"oneOf", "anyOf", "allOf"} & schema.keys()
    assert "outputSchema" not in tool  # hosts would show structured content in the place of the text
    assert len(str(tool["description"])) < 2_000  # where Claude Code cuts


def test_each_tool_has_its_function() -> None:
    assert [tool["name"] for tool in TOOLS] == list(_TOOLS)
    assert len(INSTRUCTIONS) < 1_000
