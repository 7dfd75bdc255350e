"""Does capy work here? Each package's own checks, and what only shows when all of them are together.

A check that is not well says what to do. One that is well may have a hint too: advice, not a fault.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from capy_core import config as settings
from capy_core import keys, paths
from capy_core.config import Config
from capy_core.dbfiles import file_size
from capy_core.errors import CapyError
from capy_store.health import Check

if TYPE_CHECKING:
    from capy_core.keys import Key

_PACKAGES = ("capy-core", "capy-store", "capy-exec", "capy-hook", "capy-mcp", "capy-sweep", "capy-vault", "capy-bench")
_QUICK_BYTES = 32_000_000  # of a database that is read whole even where an agent waits
_LEAST_FREE = 200_000_000


def checks(project: Path, *, key: Key | None = None, thorough: bool = False) -> list[Check]:
    """Look at everything once. Never raises for what it finds.

    Args:
        project: the project's folder.
        key: of the knowledge base, for a process that has read it already and forgot where from.
        thorough: also start what is registered, ask programs for their versions, read a large database whole.
    """
    from . import wiring

    found = [_versions(), _runtimes(thorough)]
    config, problems = _settings(project)
    found += problems
    found.append(_policy(project))
    found += _knowledge(project, config, key, thorough)
    found += wiring.checks(project, thorough=thorough)
    found += [_worktree(project), _space(project, config)]
    return found


def shown(found: list[Check]) -> str:
    """A list for people and agents: [x] well, [-] well, with advice, [ ] not well."""
    lines, said = [], {""}
    for check in found:
        mark = " " if not check.ok else "-" if check.hint else "x"
        lines.append(f"- [{mark}] {check.name}: {check.detail}")
        if check.hint not in said:
            lines.append(f"      {check.hint}")
        said.add(check.hint)
    failed = sum(not check.ok for check in found)
    summary = "all is well" if not failed else f"{failed} of {len(found)} checks failed"
    return "\n".join(["## capy doctor", "", *lines, "", summary])


def _versions() -> Check:
    found = []
    for package in _PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return Check("versions", True, f"{', '.join(found)}; Python {sys.version.split()[0]} on {sys.platform}")


def _runtimes(thorough: bool) -> Check:
    from capy_exec.runtimes import LANGUAGES, Language, describe, find_runtime

    path = os.environ.get("PATH", os.defpath)

    def told(language: Language) -> str:
        try:
            find_runtime(language, path)
        except CapyError:
            return ""
        number = describe(language, path)["version"] if thorough else None
        return f"{language.name} {number}" if number else language.name

    with ThreadPoolExecutor(4) as pool:
        found = [text for text in pool.map(told, LANGUAGES.values()) if text]
    detail = f"{len(found)} of {len(LANGUAGES)}: {', '.join(found)}"
    if any(text.split()[0] == "shell" for text in found):
        return Check("runtimes", True, detail)
    return Check("runtimes", False, detail, "install bash, and see: capy exec runtimes")


def _settings(project: Path) -> tuple[Config, list[Check]]:
    """The settings, or the defaults where they cannot be read; and what is wrong with them."""
    problems: list[Check] = []

    def warn(_code: str, message: str, hint: str) -> None:
        problems.append(Check("settings", False, message, hint))

    try:
        config = settings.load(project, warn)
    except CapyError as ex:
        return Config(), [Check("settings", False, ex.message, ex.hint)]
    return config, problems or [Check("settings", True, "read without complaint")]


def _policy(project: Path) -> Check:
    from capy_core.permissions import load

    rules = load(str(project))
    if rules.notes:
        hint = "correct the file; until then nothing is allowed without asking"
        return Check("permission rules", False, "; ".join(rules.notes), hint)
    counts = (f"{len(getattr(rules, kind))} {kind}" for kind in ("deny", "ask", "allow"))
    return Check("permission rules", True, ", ".join(counts))


def _knowledge(project: Path, config: Config, key: Key | None, thorough: bool) -> Iterator[Check]:
    """The driver, the key, the database."""
    yield _driver()
    try:
        key, problems = (key, [Check("key", True, "read by this server")]) if key else _key(config)
        yield from problems
        database = paths.database_path(config, project)
        if not database.exists():
            yield Check("database", True, f"{database} does not exist yet; the first text makes it")
            return
        yield Check("database", True, f"{database}, {file_size(database):,} bytes")
        yield from _database(database, key, thorough)
    except CapyError as ex:
        yield Check("key" if ex.code == "no_key" else "database", False, ex.message, ex.hint)


def _key(config: Config) -> tuple[Key, list[Check]]:
    """The key, and where it comes from. Reading a key file refuses one that others can read."""
    problems: list[Check] = []

    def warn(_code: str, message: str, hint: str) -> None:
        problems.append(Check("key", True, message, hint))

    try:
        key = keys.database_key(config, warn)
    except CapyError as ex:
        ex.hint = ex.hint.replace("capy-store keygen --save", "capy setup")
        raise
    return key, [Check("key", True, keys.database_key_source(config)), *problems]


def _driver() -> Check:
    """SQLCipher as it is linked here: its version, and whether it has full-text search."""
    try:
        import sqlcipher3.dbapi2 as driver

        db = driver.connect(":memory:")
        try:
            cipher = db.execute("PRAGMA cipher_version").fetchone()
            db.execute("CREATE VIRTUAL TABLE temp.t USING fts5(x, tokenize = 'trigram')")
        finally:
            db.close()
    except Exception as ex:  # a broken library raises anything
        return Check("SQLCipher", False, f"{type(ex).__name__}: {ex}", "install the package sqlcipher3 again")
    if not cipher:
        return Check("SQLCipher", False, "this driver does not encrypt", "install the package sqlcipher3 again")
    return Check("SQLCipher", True, f"{cipher[0]}, SQLite {driver.sqlite_version}, FTS5")


def _database(database: Path, key: Key, thorough: bool) -> Iterator[Check]:
    from capy_store import health

    if thorough or file_size(database) <= _QUICK_BYTES:
        yield from health.checks(database, key)
        return
    from capy_core.database import open_database
    from capy_store.migrations import MIGRATIONS

    open_database(database, key, MIGRATIONS, create=False, readonly=True).close()
    yield Check("opens", True, "yes; to read it whole, run: capy doctor")


def _worktree(project: Path) -> Check:
    main = paths.main_worktree(project)
    if main == project:
        return Check("project", True, str(project))
    return Check("project", True, f"{project}, a worktree that shares the knowledge base of {main}")


def _space(project: Path, config: Config) -> Check:
    """Room for the database; SQLite needs as much again while it rewrites a file."""
    try:
        place = paths.database_path(config, project).parent
    except CapyError as ex:
        return Check("disk space", False, ex.message, ex.hint)
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    detail = f"{free / 1e9:.1f} GB free for {place}"
    return Check("disk space", free >= _LEAST_FREE, detail, "" if free >= _LEAST_FREE else "free some space")
