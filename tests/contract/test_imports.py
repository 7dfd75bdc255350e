"""No command pays for another's imports: what is loaded after each path, not how many milliseconds it took."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

NETWORK = {"ssl", "http.client", "certifi", "idna", "charset_normalizer", "requests", "urllib3", "bs4", "markdownify"}
SCREEN = {"rich", "textual", "pygments"}
DATABASE = {"sqlcipher3", "sqlite3", "zstandard"}
OTHER = {"asyncio", "jsonschema", "importlib.metadata", "pkg_resources", "email"}

RUN = """
import sys
from {module} import main
sys.argv = {argv!r}
try:
    main()
except SystemExit:
    pass
print(*sys.modules, sep="\\n", file=open({report!r}, "w"))
"""


def loaded(tmp_path: Path, *argv: str, stdin: bytes = b"") -> set[str]:
    """The modules in a process that ran a tool's main in-process."""
    report = tmp_path / "modules.txt"
    module = "capy_mcp.umbrella" if argv[0] == "capy" else f"{argv[0].replace('-', '_')}.cli"
    script = RUN.format(module=module, argv=list(argv), report=str(report))
    subprocess.run([sys.executable, "-c", script], input=stdin, capture_output=True, check=True, env=os.environ)
    return set(report.read_text().split())


@pytest.mark.parametrize(
    "argv",
    [
        ("capy-store", "--help"),
        ("capy-store", "--version"),
        ("capy-exec", "--version"),
        ("capy-hook", "--help"),
        ("capy", "--version"),
    ],
)
def test_help_and_version_load_no_machinery(tmp_path: Path, argv: tuple[str, ...]) -> None:
    assert loaded(tmp_path, *argv) & (NETWORK | SCREEN | DATABASE | OTHER | {"rapidfuzz", "tomllib"}) == set()


def test_indexing_a_small_document_loads_neither_network_nor_screen(tmp_path: Path, project: Path, key: str) -> None:
    (project / "a.md").write_text("# Title\n\nSome text about lighthouses.\n")
    modules = loaded(tmp_path, "capy-store", "index", "a.md")
    assert "sqlcipher3" in modules
    assert modules & (NETWORK | SCREEN | OTHER | {"rapidfuzz"}) == set()


def test_searching_loads_neither_network_nor_screen(tmp_path: Path, project: Path, key: str) -> None:
    loaded(tmp_path, "capy-store", "index", "--label", "a", stdin=b"Some text about lighthouses.\n")
    modules = loaded(tmp_path, "capy-store", "search", "lighthouses")
    assert "sqlcipher3" in modules
    assert modules & (NETWORK | SCREEN | OTHER) == set()


def test_evidence_loads_no_database(tmp_path: Path, project: Path) -> None:
    modules = loaded(tmp_path, "capy-store", "evidence", "which job failed", stdin=b"job 1 ok\njob 2 failed\n" * 900)
    assert "capy_store.evidence" in modules
    assert modules & (NETWORK | SCREEN | DATABASE | OTHER) == set()


def test_running_code_loads_no_database_network_or_screen(tmp_path: Path, project: Path) -> None:
    modules = loaded(tmp_path, "capy-exec", "shell", "-c", "echo hello")
    assert "capy_exec" in modules
    assert modules & (NETWORK | SCREEN | DATABASE | OTHER | {"rapidfuzz"}) == set()
