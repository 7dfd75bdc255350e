"""Libraries for Python code, provided by uv in an environment of its own that uv caches."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from capy_core.errors import BadInput, NotFound

from .runtimes import which

# https://packaging.python.org/en/latest/specifications/inline-script-metadata/ (PEP 723)
_BLOCK = r"(?m)^# /// script[ \t]*\r?\n((?:#(?:| [^\n]*)\r?\n)*?)# ///[ \t]*\r?$"


class Needs(NamedTuple):
    """What a script asks for: requirements (PEP 508), and which Pythons it accepts ("" for any)."""

    requirements: tuple[str, ...] = ()
    requires_python: str = ""

    def __bool__(self) -> bool:
        return bool(self.requirements or self.requires_python)


def needs_of(code: str, packages: Sequence[str]) -> Needs:
    """The packages asked for by name, and those in the code's PEP 723 header.

    Raises:
        BadInput: the header is not valid.
    """
    block = re.search(_BLOCK, code)
    if block is None:
        return Needs(tuple(packages))
    import tomllib

    text = "".join(line[2:] if line.startswith("# ") else line[1:] for line in block[1].splitlines(keepends=True))
    try:
        header = tomllib.loads(text)
    except ValueError as ex:
        raise BadInput(
            f"the script's PEP 723 header is not valid TOML: {ex}", "correct the `# /// script` block"
        ) from ex
    requirements, python = header.get("dependencies", []), header.get("requires-python", "")
    if not (isinstance(requirements, list) and all(isinstance(item, str) for item in [*requirements, python])):
        raise BadInput(
            "the script's PEP 723 header is not valid: dependencies must be a list of texts, requires-python a text",
            "correct the `# /// script` block",
        )
    return Needs((*packages, *requirements), python)


def uv_command(needs: Needs, python: str, path: str) -> list[str]:
    """The start of a command line that runs `python` with these libraries; the program's arguments follow.

    Args:
        python: the interpreter to use, where the needs do not ask for another.
        path: the PATH on which uv is looked for.

    Raises:
        NotFound: there is no uv.
    """
    uv = which("uv", path)
    if uv is None:
        raise NotFound(
            "uv is not on PATH; it provides the libraries that Python code asks for", "install uv (pip install uv)"
        )
    options = ["--quiet", "--no-project", f"--python={needs.requires_python or python}"]
    return [uv, "run", *options, *(f"--with={requirement}" for requirement in needs.requirements), "--", "python"]


def failure_of(stderr: str) -> str:
    """What uv complained of, in one sentence; says so when it could not reach, or was not to use, the network."""
    why = next((line.strip() for line in stderr.splitlines() if line.strip()), "no reason given")
    if re.search(r"(?i)failed to fetch|network was disabled|\bdns error|\bclient error \(connect\)", stderr):
        why += " (the network cannot be used; libraries that were provided before need none)"
    return why.removeprefix("error: ")
