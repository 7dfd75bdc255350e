"""Which rule speaks of a path: `Read(...)`, `Edit(...)`, in the way of .gitignore.

A pattern begins at the root (`//etc/**`), at home (`~/.ssh/**`), at the folder of its settings (`/src`), or at the
current folder (`./x`, `a/b`, and a bare name, which is meant at any depth). What fits a folder fits all below it.
A path is judged in all its forms: as it is written, and what its links lead to.
"""

from __future__ import annotations

import os
import sys

from .globs import path_matches
from .permissions import Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .permissions import Rule, Rules

WINDOWS = os.name == "nt"
_NOT_FILES = ("/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero", "/dev/full")
_MAX_LINKS = 40


def judge(path: str, rules: Rules, *, cwd: str, access: str, windows: bool = WINDOWS) -> Verdict:
    """What the rules say of reading or changing a file.

    Args:
        path: absolute, or relative to `cwd`; it need not exist.
        cwd: the folder in which the AI tool works; rules without an anchor begin there, and those that forbid or ask
            in the project's folder too.
        access: "read" (`Read` rules) or "write" (`Edit` rules; a file that may not be read may not be changed either).
        windows: read paths as Windows does: `C:\\x`, `c:/X` and `/c/x` are one.
    """
    place = Place(path, rules, cwd=cwd, windows=windows)
    tools = ("Read",) if access == "read" else ("Edit", "Read")
    for decision, listed, kinds in (("deny", rules.deny, tools), ("ask", rules.ask, tools)):
        for rule in listed:
            if any(rule.speaks_of(tool) for tool in kinds) and place.fits(rule):
                return Verdict(decision, f"{rule.text} speaks of {path}", rule)
    if rules.notes:
        return Verdict("ask", rules.notes[0])
    for rule in rules.allow:
        if rule.tool == tools[0] and place.fits(rule, wholly=True):
            return Verdict("allow", f"{rule.text} speaks of {path}", rule)
    return Verdict("allow", "no rule speaks of it")


def require_path(path: str, rules: Rules, *, cwd: str, access: str = "read") -> None:
    """Raise when a rule forbids reading, or changing, a file.

    Raises:
        Refused: with `path`, `rule` and `source` (the rule's file) in its details.
    """
    verdict = judge(path, rules, cwd=cwd, access=access)
    if verdict.decision == "deny" and verdict.rule is not None:
        from .errors import Refused

        rule = verdict.rule
        raise Refused(
            f"{path} may not be {'read' if access == 'read' else 'changed'}: {rule.text} in {rule.source} forbids it",
            f"leave the file out, or ask the user to change {rule.source}",
            path=path, rule=rule.text, source=rule.source,
        )  # fmt: skip


class Place:
    """A path in all its forms, ready to be held against rules."""

    def __init__(self, path: str, rules: Rules, *, cwd: str, windows: bool = WINDOWS) -> None:
        self._windows = windows
        self._rules = rules
        self._cwd = cwd
        absolute = _absolute(path, cwd, windows)
        self._real_file = not (absolute in _NOT_FILES or absolute.startswith("/dev/fd/"))
        self._folds = windows or _folds_case(absolute)
        forms = [absolute] if windows and not WINDOWS else _forms(path, absolute)
        self._forms = [self._parts(form) for form in dict.fromkeys(forms)]

    def fits(self, rule: Rule, *, wholly: bool = False) -> bool:
        """True when the rule speaks of one of the path's forms, or `wholly`: of all of them."""
        if not self._real_file:
            return False
        patterns = list(self._patterns(rule, forbids=not wholly))
        hits = (any(_hit(anchor, pattern, form) for anchor, pattern in patterns) for form in self._forms)
        return all(hits) if wholly else any(hits)

    def _patterns(self, rule: Rule, *, forbids: bool) -> Iterator[tuple[list[str], list[str]]]:
        """The folders that a rule begins at, each with the pattern below it, as components."""
        spec = self._slashes(rule.spec)
        bases: tuple[str, ...] = ("/",)
        if not spec:
            spec = "**"
        elif spec.startswith("//"):
            spec = spec[2:]
        elif spec == "~" or spec.startswith("~/"):
            bases, spec = (self._rules.home or os.path.expanduser("~"),), spec[2:]
        elif self._windows and spec[1:3] == ":/":
            spec = _drive(spec)
        elif spec.startswith("/"):
            bases = (rule.base,)
        else:
            bases = (self._cwd, self._rules.project or self._cwd) if forbids else (self._cwd,)
            spec = _below_cwd(spec, forbids=forbids)
        pattern = [part for part in self._folded(spec).split("/") if part not in ("", ".")]
        for base in dict.fromkeys(bases):
            for anchor in dict.fromkeys((base, self._resolved(base))):
                yield self._parts(anchor), pattern

    def _resolved(self, folder: str) -> str:
        return folder if self._windows and not WINDOWS else os.path.realpath(folder)

    def _parts(self, path: str) -> list[str]:
        return [part for part in self._folded(self._slashes(path, drive=True)).split("/") if part]

    def _slashes(self, path: str, *, drive: bool = False) -> str:
        if not self._windows:
            return path
        path = path.replace("\\", "/").removeprefix("//?/")
        return _drive(path) if drive else path

    def _folded(self, text: str) -> str:
        if not self._folds:
            return text
        if not text.isascii():
            from unicodedata import normalize

            text = normalize("NFC", text)
        return text.casefold()


def _below_cwd(spec: str, *, forbids: bool) -> str:
    """A pattern without an anchor: a bare name is meant at any depth; so is `dir/**` where it forbids or asks."""
    inner = spec.removeprefix("./")
    bare = "/" not in inner.rstrip("/") and (forbids or not spec.startswith("./"))
    folder = forbids and inner.count("/") == 1 and inner.endswith("/**")
    return f"**/{inner}" if bare or folder else inner


def _hit(anchor: list[str], pattern: list[str], path: list[str]) -> bool:
    """True when the path, or a folder above it, fits the pattern below the anchor."""
    below = path[len(anchor) :]
    if path[: len(anchor)] != anchor:
        return False
    if not pattern:
        return True
    if pattern[-1] == "**":  # a folder's whole content: so is the folder, when a command is given it
        return path_matches(pattern[:-1], below) or path_matches(pattern, below)
    return any(path_matches(pattern, below[:end]) for end in range(1, len(below) + 1))


def _absolute(path: str, cwd: str, windows: bool) -> str:
    if windows and not WINDOWS:  # Windows' rules on another system: by text alone
        import ntpath

        return ntpath.normpath(path if path.startswith("/") else ntpath.join(cwd, path))
    return os.path.normpath(os.path.join(cwd, path))


def _forms(path: str, absolute: str) -> Iterable[str]:
    """A path as it is written, each link it leads over, and where it ends."""
    yield absolute
    real = os.path.realpath(absolute)
    step = os.path.join(os.path.realpath(os.path.dirname(absolute)), os.path.basename(absolute))
    for _ in range(_MAX_LINKS):
        yield step
        if step == real:
            return
        try:
            step = os.path.normpath(os.path.join(os.path.dirname(step), os.readlink(step)))
        except OSError:
            break
        step = os.path.join(os.path.realpath(os.path.dirname(step)), os.path.basename(step))
    yield real


def _folds_case(path: str) -> bool:
    """True when the disk takes names in upper and lower case for one; asked of the nearest name that exists."""
    while True:
        folder, name = os.path.split(path)
        if not name:
            return sys.platform in ("darwin", "win32")
        if name.swapcase() != name and os.path.lexists(path):
            other = os.path.join(folder, name.swapcase())
            return os.path.lexists(other) and os.path.samestat(os.lstat(path), os.lstat(other))
        path = folder


def _drive(path: str) -> str:
    """`C:/x` as `/C/x`."""
    return f"/{path[0]}{path[2:]}" if path[1:2] == ":" else path
