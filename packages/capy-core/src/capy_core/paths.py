"""Which project is this, and where do its files live. No process is started: git's own files are read.

The project of a place is the nearest folder upwards that holds `.git`, `.capy.toml` or `.capy`; the home folder and
what lies above it count only for a place that is that very folder. Without such a mark the place is its own project.
All worktrees of a repository are one project: they share the main worktree's store.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import BadConfig, NotFound, Refused, Unwritable

if TYPE_CHECKING:
    from .config import Config


def project_root(start: Path | None = None) -> Path:
    """The project of `start` (from `--project-dir`), else of `$CLAUDE_PROJECT_DIR`, else of the current folder.

    Returns:
        An absolute path without symbolic links.

    Raises:
        NotFound: the folder does not exist.
    """
    place = start if start is not None else Path(os.environ.get("CLAUDE_PROJECT_DIR") or ".")
    if not place.is_dir():
        what = "does not exist" if not place.exists() else "is not a folder"
        source = "--project-dir" if start is not None else "CLAUDE_PROJECT_DIR"
        raise NotFound(f"the project folder {place} {what}", f"correct {source}", path=str(place))
    return project_of(place)


def project_of(place: Path) -> Path:
    """The project that a folder belongs to, whatever the environment says. Absolute, links resolved."""
    here = Path(os.path.realpath(place))
    home = Path(os.path.realpath(_home()))
    for folder in (here, *here.parents):
        if folder != here and (folder == home or folder in home.parents):
            break
        if _is_project(folder):
            return folder
    return here


def main_worktree(root: Path) -> Path:
    """The main worktree of the repository whose linked worktree `root` is; any other folder is returned as it is.

    Read as git documents it (gitrepository-layout): `root/.git` is a file that names
    `<common>/worktrees/<id>`, and `gitdir` in there names `root/.git` again. A folder that the repository does not
    know (a copy of a worktree, a forged `.git` file) fails that second look. A submodule has no `commondir`. For a bare
    repository, which has no main worktree, the answer is the folder that holds it as `.git`, else its own folder.
    """
    git_dir = _git_dir(root)
    if git_dir is None:
        return root
    common, back = _pointer(git_dir / "commondir"), _pointer(git_dir / "gitdir")
    if common is None or back is None or back != Path(os.path.realpath(root / ".git")):
        return root
    if git_dir.parent != common / "worktrees" or ".git" in common.parent.parts:  # the second: .git/modules/<submodule>
        return root
    return common.parent if _git_dir(common.parent) == common else common


def database_path(config: Config, root: Path) -> Path:
    """Where the knowledge base of a project lies; nothing is created.

    `store.path` absolute: that file. Relative: below the project's main worktree. Empty:
    `$XDG_DATA_HOME/capy/<16 hex>/knowledge.db`, the first 8 bytes of SHA-256 of the main worktree's absolute path.

    Raises:
        Refused: a relative path leaves the project, directly or by a symbolic link.
    """
    project = main_worktree(Path(os.path.realpath(root)))
    if not config.store.path:
        from hashlib import sha256

        return data_dir() / sha256(os.fsencode(project)).hexdigest()[:16] / "knowledge.db"
    path = Path(config.store.path).expanduser()
    if path.is_absolute():
        return path
    target = Path(os.path.realpath(project / path))
    if not target.is_relative_to(project) or target == project:
        raise Refused(
            f"store.path {config.store.path!r} leads out of the project {project}",
            f"use an absolute path in {config_dir() / 'config.toml'}, or a file below the project",
        )
    return target


def claim_folder(database: Path, root: Path) -> None:
    """Make a database's folder (0700); where its name is a hash, note the project's path in `.project` beside it."""
    make_private(database.parent)
    if database.parent.parent == data_dir():
        note = database.parent / ".project"
        if not note.exists():
            from .atomic import write_file

            write_file(note, os.fsencode(main_worktree(root)) + b"\n", mode=0o600)


def make_private(folder: Path) -> None:
    """Create a folder and its missing parents, readable by its owner only; one that exists keeps its mode.

    Raises:
        Unwritable: it cannot be made (read-only disk, a file in the way, no permission).
    """
    for part in (*reversed(folder.parents), folder):
        try:
            part.mkdir(mode=0o700)
        except FileExistsError:
            continue
        except OSError as ex:
            if part.is_dir():  # e.g. "/" on a read-only disk
                continue
            raise Unwritable(
                f"cannot create the folder {folder}: {ex.strerror}", "choose another place or fix its permissions"
            ) from ex
    if not folder.is_dir():
        raise Unwritable(f"{folder} is not a folder", "move the file away or choose another place")


def config_dir() -> Path:
    """`$XDG_CONFIG_HOME/capy`, else `~/.config/capy`."""
    return _xdg("XDG_CONFIG_HOME", ".config")


def data_dir() -> Path:
    """`$XDG_DATA_HOME/capy`, else `~/.local/share/capy`."""
    return _xdg("XDG_DATA_HOME", ".local/share")


def state_dir() -> Path:
    """`$XDG_STATE_HOME/capy`, else `~/.local/state/capy`."""
    return _xdg("XDG_STATE_HOME", ".local/state")


def cache_dir() -> Path:
    """`$XDG_CACHE_HOME/capy`, else `~/.cache/capy`."""
    return _xdg("XDG_CACHE_HOME", ".cache")


def _xdg(variable: str, fallback: str) -> Path:
    # The XDG base directory specification: a relative value is invalid and must be ignored
    base = Path(os.environ.get(variable, ""))
    return (base if base.is_absolute() else _home() / fallback) / "capy"


def _home() -> Path:
    home = Path(os.path.expanduser("~"))  # Path.home() fails in other words when there is none
    if os.environ.get("HOME") == "" or not home.is_absolute():
        raise BadConfig("your home folder is unknown", "set HOME to an absolute path")
    return home


def _is_project(folder: Path) -> bool:
    if (folder / ".capy.toml").exists() or (folder / ".capy").exists() or _git_dir(folder) is not None:
        return True
    bare = os.path.lexists(folder / "HEAD") and (folder / "objects").is_dir() and (folder / "refs").is_dir()
    return bare and ".git" not in folder.parts  # a place inside .git belongs to the project around it


def _git_dir(folder: Path) -> Path | None:
    """The git directory that `folder/.git` is or names, resolved; None when there is none."""
    dot_git = folder / ".git"
    found = Path(os.path.realpath(dot_git)) if dot_git.is_dir() else _pointer(dot_git, "gitdir:")
    # git's own test, short: an empty `.git` folder makes no repository
    return found if found is not None and os.path.lexists(found / "HEAD") else None


def _pointer(file: Path, prefix: str = "") -> Path | None:
    """The path written in one of git's one-line files, relative to the file's folder; None when it is no such file."""
    try:
        if not file.is_file():  # reading a pipe or a device may never end
            return None
        with file.open("rb") as stream:
            text = os.fsdecode(stream.read(8192)).rstrip("\r\n")
    except OSError:
        return None
    if not text.startswith(prefix) or "\0" in text:
        return None
    return Path(os.path.realpath(file.parent / text.removeprefix(prefix).strip()))
