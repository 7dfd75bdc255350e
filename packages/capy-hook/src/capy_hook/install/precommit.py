"""A guard in git's pre-commit hook: a knowledge base that is not encrypted must not be committed.

It looks at the staged blob, not at the file in the working folder. `core.hooksPath` and linked worktrees are git's
business: git itself says where its hooks are.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

from capy_core.errors import BadInput, NotFound, Refused

from .marked import Block
from .plan import Part

_SHELL = re.compile(r"#!.*\b(?:sh|bash|dash|ksh|zsh)\b")
_GUARD = """\
git diff --cached --raw --no-abbrev --no-renames --diff-filter=d -- {paths} |
  while read -r _ _ _ capy_blob _ capy_path; do
    case $(git cat-file blob "$capy_blob" 2>/dev/null | head -c 15 | tr -d '\\0') in
      "SQLite format 3") echo "capy: $capy_path is not encrypted; run: capy-store encrypt" >&2; exit 1 ;;
    esac
  done || exit 1
"""


class _Guard(Block):
    """The block, in a hook that a shell runs."""

    def put(self, text: str | None) -> str:
        if text is not None and not _SHELL.match(text.partition("\n")[0]):
            raise BadInput("this pre-commit hook is not a shell script", "call the guard from it by hand")
        return super().put(text)


def part(project: Path) -> Part:
    """The guard of the repository that a project lies in.

    Raises:
        NotFound: there is no repository, or no git.
    """
    top = Path(_git(project, "rev-parse", "--show-toplevel"))
    hooks = Path(os.path.normpath(project / _git(project, "rev-parse", "--git-path", "hooks")))
    paths = " ".join(shlex.quote(f":(top,literal){path}") for path in _databases(project, top))
    block = _Guard(_GUARD.format(paths=paths), ("# ", ""), head="#!/bin/sh\n", after_first_line=True, mode=0o755)
    return Part("guard", hooks / "pre-commit", hooks.parent, block)


def _databases(project: Path, top: Path) -> list[str]:
    """What may hold a knowledge base, relative to the repository's top: `.capy`, and where the settings put it."""
    from capy_core.config import load
    from capy_core.paths import database_path, main_worktree

    inside = os.path.relpath(project, top)
    found = [os.path.normpath(os.path.join(inside, ".capy"))]
    try:
        database = database_path(load(project, warn=lambda *_: None), project)
    except Refused:
        return found
    if database.is_relative_to(main_worktree(project)):
        relative = os.path.normpath(os.path.join(inside, database.relative_to(main_worktree(project))))
        if not Path(relative).is_relative_to(found[0]):
            found.append(relative)
    return found


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", folder, *arguments], capture_output=True, timeout=30, stdin=subprocess.DEVNULL
        )
    except FileNotFoundError:
        raise NotFound("git is not installed", "install it, or leave --platform git out") from None
    if done.returncode:
        raise NotFound(f"{folder} is in no git repository", "run git init first, or name another folder")
    return os.fsdecode(done.stdout).rstrip("\n")
