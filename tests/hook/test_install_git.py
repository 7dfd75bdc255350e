"""The guard in git's pre-commit hook, with git itself."""

from __future__ import annotations

import sqlite3
import subprocess
from pathlib import Path

import pytest

from capy_core.errors import BadInput, NotFound
from capy_hook.install import apply, precommit
from capy_hook.install.state import state


def git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", "-C", folder, *who, *arguments], capture_output=True, timeout=60)


def make_database(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as db:
        db.execute("create table t (x)")
    db.close()


@pytest.fixture
def repository(project: Path) -> Path:
    assert git(project, "init", "-q").returncode == 0
    (project / "README").write_text("x\n")
    git(project, "add", "-A")
    assert git(project, "commit", "-qm", "first").returncode == 0
    return project


def guard(project: Path) -> None:
    apply.carry_out(apply.putting(precommit.part(project)))


def test_an_unencrypted_store_is_not_committed(repository: Path) -> None:
    guard(repository)
    make_database(repository / ".capy/knowledge.db")
    git(repository, "add", "-A")
    done = git(repository, "commit", "-qm", "second")
    assert done.returncode == 1
    assert b"capy: .capy/knowledge.db is not encrypted; run: capy-store encrypt" in done.stderr
    assert git(repository, "log", "--oneline").stdout.count(b"\n") == 1


def test_the_staged_blob_counts_not_the_file(repository: Path) -> None:
    guard(repository)
    database = repository / ".capy/knowledge.db"
    make_database(database)
    git(repository, "add", "-A")
    database.write_bytes(b"encrypted since, but not staged")
    assert git(repository, "commit", "-qm", "x").returncode == 1
    git(repository, "add", "-A")
    make_database(database)
    assert git(repository, "commit", "-qm", "x").returncode == 0


def test_other_commits_go_through(repository: Path) -> None:
    guard(repository)
    make_database(repository / "theirs.db")
    (repository / ".capy").mkdir()
    (repository / ".capy/notes.md").write_text("SQLite format 2\n")
    git(repository, "add", "-A")
    assert git(repository, "commit", "-qm", "x").returncode == 0
    git(repository, "rm", "-rq", ".capy")
    assert git(repository, "commit", "-qm", "y").returncode == 0


def test_the_first_commit_of_a_repository_is_guarded_too(project: Path) -> None:
    git(project, "init", "-q")
    guard(project)
    make_database(project / ".capy/knowledge.db")
    git(project, "add", "-A")
    assert git(project, "commit", "-qm", "x").returncode == 1


def test_the_place_that_the_settings_name_is_guarded(repository: Path) -> None:
    (repository / ".capy.toml").write_text('[store]\npath = "data/it\'s k.db"\n')
    guard(repository)
    make_database(repository / "data/it's k.db")
    git(repository, "add", "-A")
    assert b"data/it's k.db is not encrypted" in git(repository, "commit", "-qm", "x").stderr


def test_a_project_inside_of_a_repository_is_guarded(repository: Path) -> None:
    inside = repository / "part"
    make_database(inside / ".capy/knowledge.db")
    guard(inside)
    git(repository, "add", "-A")
    assert git(repository, "commit", "-qm", "x").returncode == 1


def test_linked_worktrees_share_the_guard(repository: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    git(repository, "worktree", "add", "-q", str(tree))
    guard(tree)
    assert (repository / ".git/hooks/pre-commit").exists()
    for folder in (repository, tree):
        make_database(folder / ".capy/knowledge.db")
        git(folder, "add", "-A")
        assert git(folder, "commit", "-qm", "x").returncode == 1


def test_core_hooks_path_is_where_the_guard_goes(repository: Path) -> None:
    git(repository, "config", "core.hooksPath", ".githooks")
    guard(repository)
    assert (repository / ".githooks/pre-commit").stat().st_mode & 0o777 == 0o755
    assert not (repository / ".git/hooks/pre-commit").exists()
    make_database(repository / ".capy/knowledge.db")
    git(repository, "add", "-A")
    assert git(repository, "commit", "-qm", "x").returncode == 1


@pytest.mark.parametrize(
    "script", ["#!/bin/sh\nexit 0\n", "#!/usr/bin/env bash\nset -euo pipefail\ntrue", "#!/bin/sh\n"]
)
def test_a_hook_that_is_there_still_runs_and_comes_back(repository: Path, script: str) -> None:
    hook = repository / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(script)
    hook.chmod(0o755)
    guard(repository)
    guard(repository)
    (repository / "README").write_text("y\n")
    git(repository, "add", "-A")
    assert git(repository, "commit", "-qm", "fine").returncode == 0
    make_database(repository / ".capy/knowledge.db")
    git(repository, "add", "-A")
    assert git(repository, "commit", "-qm", "x").returncode == 1
    apply.carry_out(apply.taking(precommit.part(repository)))
    assert hook.read_text() == script
    assert not hook.with_name("pre-commit.capy-backup").exists()


def test_a_guard_of_ours_alone_goes_altogether(repository: Path) -> None:
    guard(repository)
    assert state(precommit.part(repository)).status == "installed"
    apply.carry_out(apply.taking(precommit.part(repository)))
    assert not (repository / ".git/hooks/pre-commit").exists()
    git(repository, "config", "core.hooksPath", ".githooks")
    guard(repository)
    apply.carry_out(apply.taking(precommit.part(repository)))
    assert not (repository / ".githooks").exists()


def test_a_hook_that_git_would_not_run_is_broken(repository: Path) -> None:
    guard(repository)
    (repository / ".git/hooks/pre-commit").chmod(0o644)
    assert state(precommit.part(repository)).status == "broken"


def test_a_hook_in_another_language_is_left_alone(repository: Path) -> None:
    hook = repository / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/usr/bin/env python3\n")
    with pytest.raises(BadInput, match="is not a shell script"):
        guard(repository)
    assert hook.read_text() == "#!/usr/bin/env python3\n"


def test_outside_of_a_repository_there_is_no_guard(project: Path) -> None:
    with pytest.raises(NotFound, match="no git repository"):
        precommit.part(project)
