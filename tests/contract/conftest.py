"""Shared by the contract tests: the installed tools, their commands, and the record schemas."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import click
import pytest
from jsonschema import Draft202012Validator, FormatChecker

FORMATS = Path(__file__).parents[2] / "docs" / "formats"

Record = dict[str, Any]
Records = Callable[[bytes], list[Record]]


def groups() -> dict[str, click.Command]:
    """The installed tools of this workspace and their click commands; capy-qualstat does without click."""
    found = {}
    for entry in entry_points(group="console_scripts"):
        if entry.module.startswith("capy_"):
            entry.load()
            if hasattr(sys.modules[entry.module], "parser"):
                continue
            # Some entry points have a fast path of their own before click; theirs is in the package's cli
            beside = getattr(sys.modules[entry.module], "group", None)
            found[entry.name] = beside or import_module(f"{entry.module.partition('.')[0]}.cli").group
    return dict(sorted(found.items()))


def commands() -> list[tuple[str, ...]]:
    """Every command line prefix: ("capy-store",), ("capy-store", "index"), ..."""
    found: list[tuple[str, ...]] = []
    for tool, group in groups().items():
        found.append((tool,))
        if isinstance(group, click.Group):
            found += [(tool, name) for name in group.list_commands(click.Context(group, info_name=tool))]
    return found


def schemas() -> dict[str, Record]:
    """Every schema of docs/formats by the name of its record."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(FORMATS.glob("*.schema.json"))]
    return {schema["properties"]["schema"]["const"]: schema for schema in found}


@pytest.fixture(scope="session")
def records() -> Records:
    """Parse the lines a tool printed and hold each to the schema it names."""
    checker = FormatChecker()
    checker.checks("date-time", ValueError)(_is_date_time)
    validators = {name: Draft202012Validator(schema, format_checker=checker) for name, schema in schemas().items()}

    def parse(output: bytes) -> list[Record]:
        assert output == b"" or output.endswith(b"\n")
        lines = output.split(b"\n")[:-1]
        parsed = [json.loads(line) for line in lines]
        for record in parsed:
            problems = [error.message for error in validators[record["schema"]].iter_errors(record)]
            assert problems == [], record
        return parsed

    return parse


def _is_date_time(value: object) -> bool:
    from datetime import datetime

    return not isinstance(value, str) or datetime.fromisoformat(value).utcoffset() is not None
