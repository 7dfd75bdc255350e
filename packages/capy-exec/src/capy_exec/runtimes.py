"""The eleven languages as data, and which of their runtimes this machine has.

A runtime is the first candidate on PATH. How a script becomes what it is given: wrapping.py. How FILE_CONTENT gets into
a script: the files in preludes/, each of which says what it makes of bytes that are not text.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from capy_core.errors import NotFound, UsageError

PRELUDES = Path(__file__).parent / "preludes"


class Candidate(NamedTuple):
    """One program that can run a language.

    Args:
        program: its name on PATH.
        options: between the program and the script.
        file_options: before `options` when there is a FILE_CONTENT.
        build: for compiled languages, the arguments that make `{binary}` of `{script}`; the binary is then run.

    `{preludes}`, `{script}` and `{binary}` stand for paths.
    """

    program: str
    options: tuple[str, ...] = ()
    file_options: tuple[str, ...] = ()
    build: tuple[str, ...] = ()


class Language(NamedTuple):
    """One language.

    Args:
        name: as records and labels have it.
        aliases: other names on the command line.
        script: the file name that the code is stored under.
        candidates: programs, in the order of preference.
        install: how to get one, for people.
        version: arguments that make the program print its version.
        file_prefix: text in front of the code (on its first line) when there is a FILE_CONTENT, see `prelude`.
        prelude: the file in preludes/ that CAPY_PRELUDE names for `file_prefix`.
        file_suffix: the file in preludes/ that is appended to the code.
        file_beside: the file in preludes/ that is compiled together with the code.
    """

    name: str
    aliases: tuple[str, ...]
    script: str
    candidates: tuple[Candidate, ...]
    install: str
    version: tuple[str, ...] = ("--version",)
    file_prefix: str = ""
    prelude: str = ""
    file_suffix: str = ""
    file_beside: str = ""


_REQUIRE = ("--require", "{preludes}/file_content.cjs")
_PRELOAD = ("--preload", "{preludes}/file_content.cjs")
_ELIXIR_FILE = (
    '{{file_content_path, file_content}, _} = Code.eval_file(System.fetch_env!("CAPY_PRELUDE")); '
    "_ = {file_content_path, file_content}; "
)

_ALL = (
    Language(
        "javascript", ("js", "node"), "script.js",
        (Candidate("bun", ("run",), _PRELOAD), Candidate("node", (), _REQUIRE)),
        "install Node.js or Bun (Debian: apt install nodejs; macOS: brew install node)",
    ),
    Language(
        "typescript", ("ts",), "script.ts",
        (Candidate("bun", ("run",), _PRELOAD), Candidate("tsx", (), _REQUIRE), Candidate("ts-node", ("-T",), _REQUIRE)),
        "install tsx (npm install -g tsx) or Bun",
    ),
    Language(
        "python", ("py",), "script.py",
        tuple(Candidate(name, ("{preludes}/python_main.py",)) for name in ("python3", "python")),
        "install Python 3 (Debian: apt install python3; macOS: brew install python)",
    ),
    Language(
        "shell", ("sh", "bash"), "script.sh",
        (Candidate("bash"), Candidate("sh")),
        "install bash (Debian: apt install bash)",
        file_prefix='. "$CAPY_PRELUDE"; ', prelude="file_content.sh",
    ),
    Language(
        "ruby", ("rb",), "script.rb",
        (Candidate("ruby", (), ("-r{preludes}/file_content.rb",)),),
        "install Ruby (Debian: apt install ruby; macOS: brew install ruby)",
    ),
    Language(
        "go", ("golang",), "main.go",
        (Candidate("go", build=("build", "-o", "{binary}", "{script}")),),
        "install Go (Debian: apt install golang-go; macOS: brew install go)",
        version=("version",), file_beside="file_content.go",
    ),
    Language(
        "rust", ("rs",), "main.rs",
        (Candidate("rustc", build=("--edition=2021", "-Awarnings", "-Cdebuginfo=0", "-o", "{binary}", "{script}")),),
        "install Rust with rustup (Debian: apt install rustc; macOS: brew install rust)",
        file_suffix="file_content.rs",
    ),
    Language(
        "php", (), "script.php",
        (
            # errors once, on stderr
            Candidate(
                "php", ("-d", "display_errors=stderr", "-d", "log_errors=0"),
                ("-d", "auto_prepend_file={preludes}/file_content.php"),
            ),
        ),
        "install PHP (Debian: apt install php-cli; macOS: brew install php)",
    ),
    Language(
        "perl", ("pl",), "script.pl",
        (Candidate("perl", (), ("-I{preludes}", "-MCapyFile")),),
        "install Perl (Debian: apt install perl)",
    ),
    Language(
        # --vanilla: a project's .Rprofile and .RData are not loaded
        "r", ("rscript",), "script.R",
        (Candidate("Rscript", ("--vanilla",)), Candidate("r", ("--vanilla",))),
        "install R (Debian: apt install r-base-core; macOS: brew install r)",
        file_prefix='source(Sys.getenv("CAPY_PRELUDE")); ', prelude="file_content.R",
    ),
    Language(
        "elixir", ("ex", "exs"), "script.exs",
        (Candidate("elixir"),),
        "install Elixir (Debian: apt install elixir; macOS: brew install elixir)",
        file_prefix=_ELIXIR_FILE, prelude="file_content.exs",
    ),
)  # fmt: skip

LANGUAGES: dict[str, Language] = {language.name: language for language in _ALL}
ALIASES: dict[str, str] = {alias: language.name for language in _ALL for alias in language.aliases}


class Runtime(NamedTuple):
    """A language's runtime as found on this machine: the program's absolute path, and how it wants to be called."""

    language: Language
    candidate: Candidate
    path: str


def language_named(name: str) -> Language:
    """A language by its name or one of its aliases, in any case.

    Raises:
        UsageError: there is no such language.
    """
    lower = name.lower()
    language = LANGUAGES.get(ALIASES.get(lower, lower))
    if language is None:
        raise UsageError(f"no language {name!r}", f"use one of: {', '.join(LANGUAGES)}")
    return language


def find_runtime(language: Language, path: str) -> Runtime:
    """The runtime of a language.

    Args:
        path: the PATH that is searched.

    Raises:
        NotFound: none of the candidates is on PATH.
    """
    runtime = _detect(language.name, path)
    if runtime is None:
        names = " or ".join(candidate.program for candidate in language.candidates)
        raise NotFound(f"no {language.name} runtime: {names} is not on PATH", language.install, language=language.name)
    return runtime


def describe(language: Language, path: str) -> dict[str, object]:
    """The `capy.exec.runtime/1` record of a language; asks the program for its version, which may take a second."""
    runtime = _detect(language.name, path)
    return {
        "schema": "capy.exec.runtime/1",
        "language": language.name,
        "aliases": list(language.aliases),
        "available": runtime is not None,
        "runtime": runtime.candidate.program if runtime else None,
        "path": runtime.path if runtime else None,
        "version": _version(runtime.path, language.version) if runtime else None,
        "hint": "" if runtime else language.install,
    }


def which(program: str, path: str) -> str | None:
    """The absolute path of a program on PATH (`shutil.which` in short: importing shutil costs more than the search)."""
    for folder in path.split(os.pathsep):
        file = os.path.abspath(os.path.join(folder or ".", program))
        if os.access(file, os.X_OK) and os.path.isfile(file):
            return file
    return None


@cache
def _detect(name: str, path: str) -> Runtime | None:
    language = LANGUAGES[name]
    for candidate in language.candidates:
        found = which(candidate.program, path)
        if found:
            return Runtime(language, candidate, found)
    return None


@cache
def _version(program: str, arguments: tuple[str, ...]) -> str | None:
    import subprocess

    try:
        done = subprocess.run(
            [program, *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=20,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    text = done.stdout.decode("utf-8", "replace")
    found = re.search(r"\d+(?:\.\d+)+", text.partition("Elixir")[2] or text)  # Elixir names Erlang's version first
    return found[0] if found else None
