"""Libraries for Python code: by name, by a PEP 723 header, and when they cannot be had. Without a network."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from capy_core.errors import BadInput, NotFound, UsageError
from capy_exec.packages import Needs, needs_of
from capy_exec.runtimes import find_runtime, language_named

from .conftest import Run


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that uv can install from this machine's disk."""
    monkeypatch.setenv("UV_OFFLINE", "1")
    path = tmp_path / "capytoy-1.0-py3-none-any.whl"
    files = {
        "capytoy.py": "value = 42\n",
        "capytoy-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: capytoy\nVersion: 1.0\n",
        "capytoy-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        archive.writestr("capytoy-1.0.dist-info/RECORD", "".join(f"{name},,\n" for name in files))
    return path


def test_a_package_by_name(wheel: Path, execute: Run) -> None:
    code = "import capytoy, sys; print(capytoy.value, sys.argv[1])"
    result = execute("python", code, packages=(str(wheel),), args=("x",))
    assert (result.stdout.head, result.stderr.head, result.outcome) == ("42 x\n", "", "ok")
    assert execute("python", "import capytoy").outcome == "error"


def test_a_package_by_header(wheel: Path, execute: Run) -> None:
    lines = [
        "/// script",
        'requires-python = ">=3.8"',
        "dependencies = [",
        f'  "capytoy @ {wheel.as_uri()}",',
        "]",
        "///",
    ]
    header = "".join(f"# {line}\n" for line in lines)
    result = execute("python", header + "import capytoy\nprint(capytoy.value)\nraise SystemExit(3)")
    assert (result.stdout.head, result.exit_code) == ("42\n", 3)


def test_what_cannot_be_had_is_said(wheel: Path, execute: Run) -> None:
    result = execute("python", "print('never')", packages=("capytoy==99",))
    assert (result.outcome, result.exit_code, result.stdout.head) == ("not_started", None, "")
    assert result.reason.startswith("uv could not provide the libraries: ")
    assert "capytoy==99" in result.stderr.head


@pytest.mark.parametrize("setting", [("UV_OFFLINE", "1"), ("UV_DEFAULT_INDEX", "http://127.0.0.1:9/")])
def test_a_missing_network_is_named(
    setting: tuple[str, str], execute: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv(*setting)
    result = execute("python", "1", packages=("capytoy",))
    assert (result.outcome, "the network cannot be used" in result.reason) == ("not_started", True)


def test_a_requirement_is_never_taken_for_an_option(wheel: Path, execute: Run) -> None:
    result = execute("python", "print('never')", packages=("--help",))
    assert result.outcome == "not_started"


def test_only_python_has_packages(execute: Run) -> None:
    with pytest.raises(UsageError, match="--with is for python"):
        execute("ruby", "", packages=("x",))


def test_without_uv(project: Path, execute: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = project / "bin"
    folder.mkdir()
    python = find_runtime(language_named("python"), "/usr/local/bin:/usr/bin:/bin").path
    (folder / "python3").symlink_to(python)
    monkeypatch.setenv("PATH", str(folder))
    with pytest.raises(NotFound, match="uv is not on PATH"):
        execute("python", "", packages=("x",))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("print(1)", Needs(())),
        ("# /// script\n# dependencies = ['a', \"b>1\"]\n# ///\n", Needs(("a", "b>1"))),
        ("#!/usr/bin/env python\n# /// script\n#\n# requires-python = '>=3.9'\n# ///\r\nx", Needs((), ">=3.9")),
        ("# /// script\n# dependencies = ['a']\n", Needs(())),  # never closed
        ("'''\n # /// script\n'''", Needs(())),
    ],
)
def test_headers(code: str, expected: Needs) -> None:
    assert needs_of(code, ()) == expected
    assert bool(expected) == (expected != Needs(()))


@pytest.mark.parametrize(
    "text", ["dependencies = [", "dependencies = 'a'", "dependencies = [1]", "requires-python = 3"]
)
def test_a_broken_header_is_an_error(text: str) -> None:
    with pytest.raises(BadInput, match="PEP 723"):
        needs_of(f"# /// script\n# {text}\n# ///\n", ())
