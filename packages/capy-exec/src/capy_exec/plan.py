"""A request checked, and laid out as files and steps."""

from __future__ import annotations

import os
import stat
from functools import partial
from pathlib import Path
from typing import NamedTuple

from capy_core.errors import BadInput, NotFound, UsageError

from .environment import DEFAULT_PATH
from .packages import Needs, needs_of, uv_command
from .request import Request, encode
from .runtimes import PRELUDES, Language, Runtime, find_runtime, language_named
from .wrapping import files_for


class Prepared(NamedTuple):
    """A request that was checked: nothing about it can fail any more but the code itself."""

    request: Request
    runtime: Runtime
    needs: Needs
    cwd: Path
    file: Path | None

    @property
    def language(self) -> Language:
        return self.runtime.language


def prepare(request: Request) -> Prepared:
    """Check a request.

    Raises:
        UsageError: no such language; packages for another language than Python; a timeout of 0 or less.
        NotFound: no runtime, no uv, no such folder or file.
        BadInput: the file is no regular file, or cannot be read; an argument holds a NUL.
    """
    language = language_named(request.language)
    if request.packages and language.name != "python":
        raise UsageError(f"--with is for python, not for {language.name}", "leave it out")
    if request.timeout is not None and not request.timeout > 0:
        raise UsageError(f"the timeout must be more than 0 seconds, not {request.timeout:g}", "leave it out")
    if any("\0" in argument for argument in request.args):
        raise BadInput("an argument holds a NUL character", "no program can be given one")
    needs = needs_of(request.code, request.packages) if language.name == "python" else Needs()
    runtime = find_runtime(language, search_path())
    if needs:
        uv_command(needs, runtime.path, search_path())
    return Prepared(request, runtime, needs, _folder(request.cwd), _regular_file(request.file))


def lay_out(prepared: Prepared, scratch: Path) -> tuple[list[list[str]], dict[str, str]]:
    """Write the run's files; returns the steps to run, and variables that they need."""
    language, candidate = prepared.language, prepared.runtime.candidate
    files = files_for(language, prepared.request.code, with_file=prepared.file is not None)
    for name, content in files.items():
        with open(scratch / name, "wb") as stream:  # noqa: PTH123 - counts: this is on the path of every run
            stream.write(encode(content))
    paths = {"preludes": str(PRELUDES), "script": str(scratch / next(iter(files))), "binary": str(scratch / "main")}
    fill = partial(_fill, paths=paths)
    env = {}
    if prepared.file is not None:
        env["FILE_CONTENT_PATH"] = _utf8_path(prepared.file, scratch)
        if language.prelude:
            env["CAPY_PRELUDE"] = str(PRELUDES / language.prelude)
    program, args = [prepared.runtime.path], list(prepared.request.args)
    if candidate.build:
        beside = [str(scratch / name) for name in list(files)[1:]]
        return [[*program, *fill(candidate.build), *beside], [paths["binary"], *args]], env
    options = [*(fill(candidate.file_options) if prepared.file else ()), *fill(candidate.options)]
    if prepared.needs:
        program = uv_command(prepared.needs, prepared.runtime.path, search_path())
        return [[*program, "-c", "pass"], [*program, *options, paths["script"], *args]], env
    if language.name in ("javascript", "typescript"):
        _link_node_modules(prepared.cwd, scratch)
    if language.name == "elixir" and (prepared.cwd / "mix.exs").exists():
        options += ["-pz", str(prepared.cwd / "_build/dev/lib/*/ebin")]
    return [[*program, *options, paths["script"], *args]], env


def _utf8_path(file: Path, scratch: Path) -> str:
    """A path to the file that every runtime can open: some read their environment as UTF-8 or not at all."""
    try:
        str(file).encode("utf-8")
    except UnicodeEncodeError:
        link = scratch / "file"
        link.symlink_to(file)
        return str(link)
    return str(file)


def _fill(words: tuple[str, ...], paths: dict[str, str]) -> list[str]:
    for name, path in paths.items():
        words = tuple(word.replace(f"{{{name}}}", path) for word in words)
    return list(words)


def _link_node_modules(cwd: Path, scratch: Path) -> None:
    """Let `import` and `require`, which look beside the script, find the project's libraries."""
    for folder in (cwd, *cwd.parents):
        if (folder / "node_modules").is_dir():
            (scratch / "node_modules").symlink_to(folder / "node_modules")
            return


def search_path() -> str:
    """The PATH that runtimes are looked for on; the code gets the same."""
    return os.environ.get("PATH") or DEFAULT_PATH


def _folder(cwd: Path | None) -> Path:
    folder = Path(os.path.abspath(cwd or "."))
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise NotFound(f"the working folder {folder} {what}", "correct --cwd", path=str(folder))
    return folder


def _regular_file(file: Path | None) -> Path | None:
    """The file as an absolute path. A folder, a pipe or a device is refused: reading it may never end."""
    if file is None:
        return None
    path = Path(os.path.abspath(file))
    try:
        mode = path.stat().st_mode
    except OSError as ex:
        raise NotFound(f"cannot find the file {file}: {ex.strerror}", "correct --file", path=str(file)) from ex
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
        raise BadInput(f"{file} is {kind}", "--file takes a regular file", path=str(file))
    if not os.access(path, os.R_OK):
        raise BadInput(f"{file} cannot be read", "check its permissions", path=str(file))
    return path
