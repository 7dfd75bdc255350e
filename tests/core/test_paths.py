from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capy_core import paths
from capy_core.config import Config, StoreConfig
from capy_core.errors import BadConfig, NotFound, Refused, Unwritable


def git(*args: str | Path, cwd: Path) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "protocol.file.allow=always")
    subprocess.run(["git", *identity, *map(str, args)], cwd=cwd, check=True, capture_output=True)


def new_repository(folder: Path) -> Path:
    folder.mkdir(parents=True)
    git("init", "-q", cwd=folder)
    git("commit", "-q", "--allow-empty", "-m", "first", cwd=folder)
    (folder / "sub" / "deep").mkdir(parents=True)
    return folder


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "acme" / "app")


def database_of(place: Path) -> Path:
    return paths.database_path(Config(), paths.project_of(place))


# --- which project ---


def test_the_option_beats_the_variable_and_the_variable_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("option", "variable", "here"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert paths.project_root() == tmp_path / "here"
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(tmp_path / "variable"))
    assert paths.project_root() == tmp_path / "variable"
    assert paths.project_root(tmp_path / "option") == tmp_path / "option"
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", "")
    assert paths.project_root() == tmp_path / "here"


def test_every_way_to_name_a_subfolder_gives_the_repository(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = repository / "sub" / "deep"
    assert paths.project_root(deep) == repository
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(deep))
    assert paths.project_root() == repository
    monkeypatch.delenv("CLAUDE_PROJECT_DIR")
    monkeypatch.chdir(deep)
    assert paths.project_root() == repository


@pytest.mark.parametrize("mark", [".capy.toml", ".capy/config.toml"])
def test_a_capy_mark_makes_a_project_without_git_and_inside_a_repository(repository: Path, mark: str) -> None:
    folder = repository / "sub"
    (folder / mark).parent.mkdir(exist_ok=True)
    (folder / mark).write_text("")
    assert paths.project_of(folder / "deep") == folder
    assert paths.project_of(repository) == repository


def test_folders_without_a_mark_are_projects_of_their_own(tmp_path: Path) -> None:
    for name in ("app", "app/sub", "app-extra"):
        (tmp_path / name).mkdir()
        assert paths.project_of(tmp_path / name) == tmp_path / name
    assert len({database_of(tmp_path / name) for name in ("app", "app/sub", "app-extra")}) == 3


def test_an_empty_git_folder_and_a_forged_git_file_make_no_repository(tmp_path: Path) -> None:
    (tmp_path / "a" / "sub").mkdir(parents=True)
    (tmp_path / "a" / ".git").mkdir()
    assert paths.project_of(tmp_path / "a" / "sub") == tmp_path / "a" / "sub"
    (tmp_path / "b" / "sub").mkdir(parents=True)
    for content in (b"", b"gitdir: nowhere\n", b"gitdir: \0\n", b"\xff\xfe" * 9000):
        (tmp_path / "b" / ".git").write_bytes(content)
        assert paths.project_of(tmp_path / "b" / "sub") == tmp_path / "b" / "sub"


def test_a_home_folder_under_git_does_not_swallow_what_lies_in_it(home: Path) -> None:
    git("init", "-q", cwd=home)
    (home / ".capy.toml").write_text("")
    (home / "notes").mkdir()
    assert paths.project_of(home / "notes") == home / "notes"
    assert paths.project_of(home) == home


def test_the_root_folder_is_a_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    assert paths.project_root() == Path("/")
    assert paths.database_path(Config(), Path("/")).name == "knowledge.db"


def test_git_is_not_needed_on_the_path(repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    git("worktree", "add", "-q", tmp_path / "wt", cwd=repository)
    monkeypatch.setenv("PATH", "")
    assert shutil.which("git") is None
    assert paths.project_of(repository / "sub") == repository
    assert paths.main_worktree(tmp_path / "wt") == repository


def test_a_symbolic_link_leads_to_the_same_project(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(repository)
    assert paths.project_of(tmp_path / "link" / "sub") == repository
    assert database_of(tmp_path / "link") == database_of(repository)


@pytest.mark.parametrize("name", ["missing", "file"])
def test_a_project_folder_that_is_none_is_refused(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotFound, match=name):
        paths.project_root(tmp_path / name)
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(tmp_path / name))
    with pytest.raises(NotFound, match=name) as caught:
        paths.project_root()
    assert "CLAUDE_PROJECT_DIR" in caught.value.hint


# --- worktrees, submodules, bare repositories ---


@pytest.mark.parametrize("place", [".worktrees/x", "../outside", "../../deep er/ü"])
def test_a_worktree_shares_the_main_worktrees_database(repository: Path, place: str) -> None:
    worktree = Path(os.path.normpath(repository / place))
    git("worktree", "add", "-q", worktree, cwd=repository)
    (worktree / "sub").mkdir()
    assert paths.project_of(worktree / "sub") == worktree
    assert paths.main_worktree(worktree) == repository
    assert database_of(worktree / "sub") == database_of(repository)
    relative = Config(store=StoreConfig(path=".capy/kb.db"))
    assert paths.database_path(relative, worktree) == repository / ".capy" / "kb.db"


def test_projects_of_the_same_name_never_mix(repository: Path, tmp_path: Path) -> None:
    other = new_repository(tmp_path / "other" / "app")
    git("worktree", "add", "-q", tmp_path / "wt", cwd=other)
    assert database_of(repository) != database_of(other) == database_of(tmp_path / "wt")


def test_a_copy_of_a_worktree_and_a_forged_one_are_projects_of_their_own(repository: Path, tmp_path: Path) -> None:
    git("worktree", "add", "-q", tmp_path / "wt", cwd=repository)
    shutil.copytree(tmp_path / "wt", tmp_path / "copy")
    assert paths.main_worktree(tmp_path / "copy") == tmp_path / "copy"
    (tmp_path / "forged").mkdir()
    (tmp_path / "forged" / ".git").write_text(f"gitdir: {repository / '.git'}\n")
    assert paths.main_worktree(tmp_path / "forged") == tmp_path / "forged"
    assert database_of(tmp_path / "forged") != database_of(repository)


def test_a_submodule_is_a_project_of_its_own(repository: Path, tmp_path: Path) -> None:
    library = new_repository(tmp_path / "library")
    git("submodule", "add", "-q", library, "vendored", cwd=repository)
    git("commit", "-q", "-m", "add", cwd=repository)
    submodule = repository / "vendored"
    assert paths.project_of(submodule) == paths.main_worktree(submodule) == submodule
    git("worktree", "add", "-q", tmp_path / "wt", cwd=repository)
    git("submodule", "update", "-q", "--init", cwd=tmp_path / "wt")
    inside = tmp_path / "wt" / "vendored"
    assert paths.project_of(inside) == paths.main_worktree(inside) == inside
    git("worktree", "add", "-q", tmp_path / "subwt", cwd=submodule)
    assert paths.main_worktree(tmp_path / "subwt") == tmp_path / "subwt"


def test_worktrees_of_a_bare_repository_share_one_database(repository: Path, tmp_path: Path) -> None:
    bare = tmp_path / "app.git"
    git("clone", "-q", "--bare", repository, bare, cwd=tmp_path)
    git("worktree", "add", "-q", tmp_path / "one", cwd=bare)
    git("worktree", "add", "-q", tmp_path / "two", "-b", "two", cwd=bare)
    assert paths.project_of(bare / "refs" / "heads") == bare
    assert paths.main_worktree(tmp_path / "one") == paths.main_worktree(tmp_path / "two") == bare
    assert database_of(tmp_path / "one") == database_of(bare)


def test_a_folder_that_holds_its_bare_repository_is_the_project_of_its_worktrees(
    repository: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    git("clone", "-q", "--bare", repository, folder / ".bare", cwd=tmp_path)
    (folder / ".git").write_text("gitdir: ./.bare\n")
    git("worktree", "add", "-q", folder / "one", cwd=folder)
    assert paths.main_worktree(folder / "one") == folder == paths.project_of(folder)


def test_a_place_inside_git_belongs_to_the_repository(repository: Path, tmp_path: Path) -> None:
    git("worktree", "add", "-q", tmp_path / "wt", cwd=repository)
    assert paths.project_of(repository / ".git" / "refs") == repository
    assert paths.project_of(repository / ".git" / "worktrees" / "wt") == repository


def test_the_same_answer_as_git_gives(repository: Path, tmp_path: Path) -> None:
    git("worktree", "add", "-q", tmp_path / "wt", cwd=repository)
    for place in (repository, repository / "sub" / "deep", tmp_path / "wt"):
        command = ["git", "rev-parse", "--show-toplevel"]
        said = subprocess.run(command, cwd=place, check=True, capture_output=True).stdout
        assert paths.project_of(place) == Path(os.fsdecode(said.removesuffix(b"\n")))


# --- where the database lies ---


def test_the_default_is_named_after_the_projects_path(home: Path, tmp_path: Path) -> None:
    name = hashlib.sha256(os.fsencode(tmp_path)).digest()[:8].hex()
    assert paths.database_path(Config(), tmp_path) == home / ".local/share/capy" / name / "knowledge.db"


def test_an_absolute_path_is_taken_as_it_is_and_the_home_folder_is_known(home: Path, tmp_path: Path) -> None:
    assert paths.database_path(Config(store=StoreConfig(path="/x/../y.db")), tmp_path) == Path("/x/../y.db")
    assert paths.database_path(Config(store=StoreConfig(path="~/y.db")), tmp_path) == home / "y.db"


@pytest.mark.parametrize("path", ["../kb.db", ".", "a/../../kb.db", "link/kb.db", "file"])
def test_a_relative_path_never_leaves_the_project(tmp_path: Path, path: str) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "link").symlink_to(tmp_path)
    (project / "file").symlink_to(tmp_path / "precious")
    with pytest.raises(Refused, match="leads out"):
        paths.database_path(Config(store=StoreConfig(path=path)), project)
    assert paths.database_path(Config(store=StoreConfig(path="a/../kb.db")), project) == project / "kb.db"


def test_a_claimed_folder_is_private_and_names_its_project(repository: Path, tmp_path: Path) -> None:
    git("worktree", "add", "-q", tmp_path / "wt", cwd=repository)
    database = database_of(tmp_path / "wt")
    paths.claim_folder(database, tmp_path / "wt")
    paths.claim_folder(database, repository)
    note = database.with_name(".project")
    assert note.read_bytes() == os.fsencode(repository) + b"\n"
    assert (note.stat().st_mode & 0o777, database.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    paths.claim_folder(repository / ".capy" / "kb.db", repository)
    assert list((repository / ".capy").iterdir()) == []


@pytest.mark.parametrize("folder", ["/dev/null/x", "/proc/none/x"])
def test_a_folder_that_cannot_be_made_is_named(folder: str) -> None:
    with pytest.raises(Unwritable, match=folder):
        paths.make_private(Path(folder))


def test_a_folder_without_permission_is_named(
    open_folder: Path, without_privileges: Callable[[Callable[[], Any]], Any]
) -> None:
    open_folder.chmod(0o555)

    def attempt() -> str:
        try:
            paths.make_private(open_folder / "new" / "deeper")
        except Unwritable as ex:
            return ex.message
        return "made"

    assert (
        without_privileges(attempt) == f"cannot create the folder {open_folder / 'new' / 'deeper'}: Permission denied"
    )


# --- XDG ---


@pytest.mark.parametrize(
    ("variable", "function", "fallback"),
    [
        ("XDG_CONFIG_HOME", paths.config_dir, ".config"),
        ("XDG_DATA_HOME", paths.data_dir, ".local/share"),
        ("XDG_STATE_HOME", paths.state_dir, ".local/state"),
        ("XDG_CACHE_HOME", paths.cache_dir, ".cache"),
    ],
)
def test_xdg_folders_count_when_absolute(
    variable: str, function: Callable[[], Path], fallback: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "/some/where")
    assert function() == Path("/some/where/capy")
    for invalid in ("", "relative/x", "./x"):
        monkeypatch.setenv(variable, invalid)
        assert function() == home / fallback / "capy"
    monkeypatch.delenv(variable)
    assert function() == home / fallback / "capy"


def test_a_home_that_is_no_absolute_path_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_DATA_HOME")
    for value in ("", "relative"):
        monkeypatch.setenv("HOME", value)
        with pytest.raises(BadConfig, match="home folder"):
            paths.data_dir()


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_git_file_that_never_ends_is_no_repository(kind: str, tmp_path: Path) -> None:
    here = tmp_path / "clone"
    here.mkdir()
    if kind == "pipe":
        os.mkfifo(here / ".git")
    else:
        (here / ".git").symlink_to("/dev/zero")
    assert paths.project_of(here) == here
    assert paths.main_worktree(here) == here
