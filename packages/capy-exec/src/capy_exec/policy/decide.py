"""May this code run: `decide(code, language, rules, cwd=...)`. enforce.py refuses what it denies.

Shell is taken apart into simple commands, and each is held against the rules. Other languages are searched for calls
that start a program or a shell, whose arguments are then judged as shell. Deny goes before ask before allow.
"""

from __future__ import annotations

from capy_core.permissions import UNREADABLE, Verdict

from .commands import MAYBE, YES, BashRule, Forms, bash_rules
from .files import WRITE, Folders, files_of, paths_of
from .hidden import lines_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from capy_core.permissions import Rule, Rules

    from .shell import Command

_SHELLS = ("shell", "sh", "bash")
_MAX_DEPTH = 5  # code in a command in code in a command ...
_MAX_ALLOWED = 10_000  # Claude Code asks about anything longer, whatever allows it

# Wrappers that an allow rule looks through; what others run is allowed with them
_TRANSPARENT = frozenset(("timeout", "time", "nice", "nohup", "stdbuf", "command", "builtin", "noglob", "xargs"))
_HARMLESS = frozenset(("ls", "cat", "echo", "pwd", "head", "tail", "grep", "wc", "which", "diff", "stat", "du", "cd"))
_BY_NAME_ONLY = frozenset(("watch", "setsid", "ionice", "flock"))  # allowed by exact rules only: they run anything
_SAFE_VARIABLES = frozenset(
    ("LANG", "LANGUAGE", "TZ", "TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CI", "NODE_ENV",
     "RUST_BACKTRACE", "RUST_LOG", "GOOS", "GOARCH", "CGO_ENABLED", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE")
)  # fmt: skip


def decide(code: str, language: str, rules: Rules, *, cwd: str) -> Verdict:
    """What the rules say of a piece of code.

    Args:
        code: the source.
        language: a name or alias of capy-exec's languages.
        rules: from `capy_core.permissions.load`.
        cwd: the folder in which it would run, absolute.

    Returns:
        "deny": a deny rule fits one of its commands or files. "ask": an ask rule does; or it cannot be read where a
        rule might fit (`Rules.unreadable`); or a settings file cannot be read. Else "allow", with a rule when allow
        rules fit all of it.
    """
    if not rules:
        return Verdict("allow", "there are no rules")
    judge = _Judge(rules, cwd)
    if judge.has_work:
        judge.code(code, language)
    return judge.verdict(code)


class _Judge:
    """Collects what the rules say while the code is taken apart."""

    def __init__(self, rules: Rules, cwd: str) -> None:
        self._rules, self._cwd = rules, cwd
        self._deny = bash_rules(rules.deny, forbids=True)
        self._ask = bash_rules(rules.ask, forbids=True)
        self._allow = bash_rules(rules.allow, forbids=False)
        self._has_paths = any(
            rule.speaks_of(tool) for listed in (rules.deny, rules.ask) for rule in listed for tool in ("Read", "Edit")
        )
        self._denied: Verdict | None = None
        self._asked: Verdict | None = None
        self._unclear: list[tuple[bool, str, Rule | None, str]] = []  # (a deny rule, reason, rule, command)
        self._invalid = ""
        self._allowed_by: BashRule | None = None
        self._all_allowed = True
        self.has_work = bool(self._deny or self._ask or self._allow or self._has_paths)

    def code(self, code: str, language: str, depth: int = 0) -> None:
        """Judge code in any language."""
        if language.lower() in _SHELLS:
            self._shell(code, depth)
            return
        from .embedded import read

        found = read(code, language)
        for line in dict.fromkeys(found.shell):
            self._shell(line, depth + 1)
        for inner in dict.fromkeys(found.code):
            self._inner(inner, language, depth)
        for access, path in dict.fromkeys(found.files) if self._has_paths else ():
            self._path(path, access, [self._cwd], path)
        self._cannot_read(found.unreadable)
        self._all_allowed = self._all_allowed and not found.unreadable

    def verdict(self, code: str) -> Verdict:
        """What came of it."""
        if self._denied:
            return self._denied
        if self._invalid and self._deny:
            return Verdict("deny", f"it cannot be read ({self._invalid}), and {self._deny[0].rule.text} may forbid it")
        unclear = self._settled_unclear()
        if unclear is not None and unclear.decision == "deny":
            return unclear
        if self._asked:
            return self._asked
        if self._rules.notes:
            return Verdict("ask", self._rules.notes[0])
        if unclear is not None:
            return unclear
        if self._allowed_by and self._all_allowed and len(code) <= _MAX_ALLOWED:
            rule = self._allowed_by.rule
            return Verdict("allow", f"{rule.text} allows it", rule, "")
        return Verdict("allow", "no rule speaks of it")

    def _settled_unclear(self) -> Verdict | None:
        """What becomes of that which could not be read."""
        if self._invalid and (self._ask or self._has_paths):
            self._unclear.append((False, f"it cannot be read ({self._invalid})", None, ""))
        if self._rules.unreadable == UNREADABLE[0] or not self._unclear:
            return None
        for forbids, reason, rule, command in sorted(self._unclear, key=lambda entry: not entry[0]):
            strict = self._rules.unreadable if forbids else "ask"
            return Verdict(strict, reason, rule, command)
        return None

    def _shell(self, code: str, depth: int) -> None:
        from .shell import read

        script = read(code)
        folders = Folders(self._cwd, code)
        for command in script.commands:
            self._command(command, folders, depth)
            folders.follow(command)
        for rule in (*self._deny, *self._ask):
            if rule.spans_commands and rule.fits_text(code.strip()):
                self._hit(rule, code.strip())
        if not script.valid and not self._invalid:
            self._invalid = next((reason for reason in script.unreadable if "not valid" in reason), "not valid shell")
        self._cannot_read(script.unreadable)
        self._all_allowed = self._all_allowed and not script.unreadable

    def _command(self, command: Command, folders: Folders, depth: int) -> None:
        if command.words:
            forms = Forms(command)
            for forbids, listed in ((True, self._deny), (False, self._ask)):
                for rule in listed:
                    fits = rule.fits(forms)
                    if fits == YES:
                        self._hit(rule, command.text)
                    elif fits == MAYBE:
                        reason = f"only running it would tell whether {rule.rule.text} fits {command.text}"
                        self._unclear.append((forbids, reason, rule.rule, command.text))
            self._note_allowed(command)
        if self._has_paths:
            for access, word in files_of(command):
                self._operand(word, access, folders.all, command)
        if command.code is not None:
            language, inner = command.code
            self._inner(inner, language, depth)
        self._hidden(command, depth)

    def _hidden(self, command: Command, depth: int) -> None:
        """Judge what a program is told to run; what cannot be read there (`rsync -e ssh`) is no reason to ask."""
        invalid, unclear = self._invalid, len(self._unclear)
        for line in lines_of(command):
            self._inner(line, "shell", depth)
        self._invalid = invalid
        self._unclear[unclear:] = [entry for entry in self._unclear[unclear:] if entry[2] is not None]

    def _inner(self, code: str, language: str, depth: int) -> None:
        if depth < _MAX_DEPTH:
            self.code(code, language, depth + 1)
        else:
            self._cannot_read((f"{language} code, {depth} levels deep",))

    def _operand(self, word: str, access: str, folders: list[str], command: Command) -> None:
        for folder, path in paths_of(word, folders, self._rules.home):
            self._path(path, access, [folder], command.text or word)
        if "$" in word and not getattr(word, "known", True) and self._rules.unreadable == "deny":
            self._unclear.append((True, f"only running it would tell which file {word} is", None, command.text))

    def _path(self, path: str, access: str, folders: list[str], command: str) -> None:
        from os.path import join

        from capy_core.pathrules import judge

        for folder in folders:
            verdict = judge(join(folder, path), self._rules, cwd=self._cwd, access=access)
            if verdict.rule is None or verdict.decision == "allow":
                continue
            verdict.reason = f"{verdict.rule.text} ({verdict.rule.source}) speaks of {path}"
            verdict.command = command
            self._keep(verdict)

    def _hit(self, rule: BashRule, command: str) -> None:
        decision = "deny" if rule in self._deny else "ask"
        word = "forbids" if decision == "deny" else "asks about"
        self._keep(Verdict(decision, f"{rule.rule.text} in {rule.rule.source} {word} it", rule.rule, command))

    def _keep(self, verdict: Verdict) -> None:
        if verdict.decision == "deny":
            self._denied = self._denied or verdict
        else:
            self._asked = self._asked or verdict

    def _cannot_read(self, reasons: Iterable[str]) -> None:
        for reason in reasons:
            if self._deny or (self._has_paths and self._rules.unreadable == "deny"):
                self._unclear.append((True, f"it cannot be read: {reason}", None, ""))
            elif self._ask:
                self._unclear.append((False, f"it cannot be read: {reason}", None, ""))

    def _note_allowed(self, command: Command) -> None:
        """Keep track of whether allow rules fit everything."""
        if not self._allow or not self._all_allowed:
            return
        by = next((rule for rule in self._allow if rule.allows(command) and _may_allow(rule, command)), None)
        covered = any(wrapper not in _TRANSPARENT for wrapper in command.via) or command.name in _TRANSPARENT
        self._all_allowed = covered or by is not None or command.name in _HARMLESS
        self._all_allowed = self._all_allowed and all(self._may_write(target) for target in _targets(command))
        self._allowed_by = self._allowed_by or by

    def _may_write(self, target: str) -> bool:
        from capy_core.pathrules import judge

        return target == "/dev/null" or judge(target, self._rules, cwd=self._cwd, access=WRITE).rule is not None


def _targets(command: Command) -> Iterator[str]:
    return (word for access, word in files_of(command) if access == WRITE and word not in command.words)


def _may_allow(rule: BashRule, command: Command) -> bool:
    """False where a beginning of a command is not enough to allow it."""
    runs_others = command.name in _BY_NAME_ONLY or (
        command.name == "find" and any(word.startswith(("-exec", "-ok", "-delete")) for word in command.words)
    )
    if runs_others and not rule.is_exact:
        return False
    variables = {variable for variable, _ in command.assignments}
    safe = all(name in _SAFE_VARIABLES or name.startswith("LC_") for name in variables)
    return safe or any(f"{name}=" in rule.rule.spec for name in variables)
