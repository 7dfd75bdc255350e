"""Which files a simple command reads or changes: the operands of well-known programs, and redirections.

A program that is not listed here may read what it likes (SECURITY.md): this finds what is plain to see.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .shell import Command

READ, WRITE = "read", "write"
_MAX_EXPANDED = 1000
_MAX_FOLDERS = 16

_READERS = frozenset(
    """
    cat head tail less more most bat wc sort uniq xxd od hexdump hd base64 base32 strings diff diff3 sdiff cmp comm nl
    tac rev cut paste fold fmt pr column expand join file md5sum sha1sum sha256sum sha512sum b2sum cksum sum source .
    view grep egrep fgrep zgrep rg ag ack sed awk gawk mawk jq yq tar zip gzip gunzip zcat bzip2 bunzip2 bzcat xz unxz
    xzcat zstd zstdcat lz4 7z cp ln install rsync scp split csplit iconv gpg openssl xdg-open open curl wget look zless
    """.split()  # noqa: SIM905 - a list of so many would fill a page
)
_WRITERS = frozenset(
    """
    mv rm rmdir unlink shred truncate tee touch chmod chown chgrp setfacl vim vi nvim nano emacs ed ex patch
    """.split()  # noqa: SIM905
)
_TARGET_IS_LAST = frozenset(("cp", "ln", "install", "rsync", "scp"))
_IN_PLACE = frozenset(("sed", "yq"))

_PATTERN_OPTIONS = frozenset(
    ("--regexp", "--expression", "--include", "--exclude", "--exclude-dir", "--glob", "--iglob")
)
# Programs whose first operand is no file: options that take its place, and single letters that take a value
_SKIPS_FIRST = {
    **dict.fromkeys(("grep", "egrep", "fgrep", "zgrep"), (("-e", "-f", "--regexp", "--file"), "ABCmefdD")),
    **dict.fromkeys(("rg", "ag", "ack"), (("-e", "-f", "--regexp", "--file", "--files"), "ABCmefgtTjMEr")),
    **dict.fromkeys(("sed",), (("-e", "-f", "--expression", "--file"), "efl")),
    **dict.fromkeys(("awk", "gawk", "mawk"), (("-f", "--file"), "fvF")),
    **dict.fromkeys(("jq", "yq"), (("-f", "--from-file"), "fL")),
    **dict.fromkeys(("chmod", "chown", "chgrp"), (("--reference",), "")),
}  # fmt: skip


def files_of(command: Command) -> Iterator[tuple[str, str]]:
    """The files that a command names: (READ or WRITE, the word as written)."""
    for redirect in command.redirects:
        yield from _redirected(redirect.op, redirect.target)
    name = command.name
    if name == "dd":
        for word in command.words[1:]:
            key, _, value = word.partition("=")
            if key in ("if", "of"):
                yield READ if key == "if" else WRITE, value
    elif name in _READERS or name in _WRITERS:
        words = list(_file_words(name, command.words[1:]))
        access = WRITE if name in _WRITERS or (name in _IN_PLACE and _edits_in_place(command.words[1:])) else READ
        yield from ((access, word) for word in words)
        if name in _TARGET_IS_LAST and words:
            yield WRITE, words[-1]


def paths_of(word: str, folders: list[str], home: str) -> Iterator[tuple[str, str]]:
    """The paths that a word may stand for: (folder it is relative to, path).

    `~`, `$HOME` and `$PWD` are put in; a pattern is expanded as the shell would, to files that exist.
    """
    for short in ("~", "$HOME", "${HOME}"):
        if word == short or word.startswith(f"{short}/"):
            word = home + word[len(short) :]
    word = word.removeprefix("$PWD/").removeprefix("${PWD}/")
    for folder in folders:
        yield folder, word
        if "*" in word or "?" in word or "[" in word:
            from glob import iglob
            from itertools import islice

            for found in islice(iglob(word, root_dir=folder), _MAX_EXPANDED):
                yield folder, found


class Folders:
    """Where a script's commands may be: its first folder, and those that it changes to by a name that is known.

    Whether a `cd` works, and whether it happens in a subshell, only running would tell, so a relative path is taken
    from all of them; only in a plain chain of `&&` the last `cd` is sure.
    """

    def __init__(self, cwd: str, code: str) -> None:
        self.all = [cwd]
        self._sure = not any(char in code.replace("&&", "").strip() for char in ";\n(|`&{")

    def follow(self, command: Command) -> None:
        """Take a `cd` into account."""
        if command.name not in ("cd", "pushd") or len(command.words) < 2:
            return
        target = command.words[-1]
        if getattr(target, "known", True) and target not in ("-", "--"):
            reached = [os.path.normpath(os.path.join(folder, os.path.expanduser(target))) for folder in self.all]
            self.all = list(dict.fromkeys(reached if self._sure else self.all + reached))[:_MAX_FOLDERS]


def _redirected(op: str, target: str) -> Iterator[tuple[str, str]]:
    if op.startswith("<<") or op == "<&":
        return
    if op.startswith("<"):
        yield READ, target
    if ">" in op and not (op == ">&" and (target.isdigit() or target.rstrip("-").isdigit() or target == "-")):
        yield WRITE, target


def _file_words(name: str, words: tuple[str, ...]) -> Iterator[str]:
    """The operands that are files, and what stands behind `=` or `@` in an option."""
    instead, value_letters = _SKIPS_FIRST.get(name, ((), ""))
    skip = name in _SKIPS_FIRST and not any(word.partition("=")[0] in instead for word in words)
    rest = iter(words)
    for word in rest:
        if word == "--":
            yield from list(rest)[skip:]
        elif word.startswith("-") and len(word) > 1:
            option, _, value = word.partition("=")
            if value and option not in _PATTERN_OPTIONS:
                yield value.removeprefix("@")
            if value_letters and not word.startswith("--") and word[-1] in value_letters:
                its_value = next(rest, "")
                if word[-1] == "f" and its_value:
                    yield its_value
        elif skip:
            skip = False
        else:
            yield word.rpartition("=@")[2].removeprefix("@") if "@" in word else word


def _edits_in_place(words: tuple[str, ...]) -> bool:
    return any(word.startswith(("-i", "--in-place", "--inplace")) for word in words)
