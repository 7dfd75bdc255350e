"""Read shell as shell: every simple command that a script could run, however it is spelled or wrapped.

The script is parsed by tree-sitter's grammar for bash. A first walk lists its simple commands in source order, from
lists, pipelines, functions, substitutions and heredocs; a second step takes each of them apart: wrappers, `sh -c`,
`eval`, aliases, text piped into a shell, and code for other interpreters. What cannot be read is said in words, never
passed over: whoever judges the commands decides what that means.

Not followed: files (a script that is run or sourced, even one written by the same code), variables (`x=sudo; $x` is
not read), and languages inside other programs' arguments (see `wrappers`).
"""

from __future__ import annotations

from capy_exec.policy import wrappers
from capy_exec.policy.marks import lift
from capy_exec.policy.plain import TooHard, parse_plainly
from capy_exec.policy.walk import Code, Command, Redirect, Walk
from capy_exec.policy.words import Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

    from capy_exec.policy.walk import Stage

__all__ = ["Command", "Redirect", "Script", "Word", "read"]

LONGEST = 1_000_000
"""Characters that are read, those of nested code (`sh -c`, heredocs for a shell) included."""
MOST_COMMANDS = 20_000
DEEPEST = 40
"""Levels of code in code, and of wrappers around a command."""

_TOO_DEEP = f"code in code, more than {DEEPEST} levels deep"


class Script:
    """What `read` found.

    Attributes:
        commands: Every simple command, in source order; behind a wrapper, first the wrapper's, then the inner one.
        unreadable: Reasons why there may be more to it, in words, each once.
        valid: False when it, or shell code inside it, does not parse.
    """

    __slots__ = ("commands", "unreadable", "valid")

    def __init__(self, commands: Sequence[Command], unreadable: Sequence[str], valid: bool) -> None:
        self.commands = tuple(commands)
        self.unreadable = tuple(unreadable)
        self.valid = valid


def read(code: str) -> Script:
    """List every simple command that `code`, a shell script, could run. Any text is fine; nothing is raised for it."""
    reader = _Reader()
    reader.script(code, (), 0)
    return Script(reader.commands, list(reader.unreadable), reader.valid)


class _Reader:
    """One reading: what was found so far, and what is left of the limits."""

    __slots__ = ("aliases", "commands", "left", "unreadable", "valid")

    def __init__(self) -> None:
        self.commands: list[Command] = []
        self.unreadable: dict[str, None] = {}
        self.valid = True
        self.aliases: dict[str, Word] = {}
        self.left = LONGEST

    def note(self, reason: str) -> None:
        self.unreadable[reason] = None

    def script(self, code: str, via: tuple[str, ...], depth: int, *, known: bool = True) -> None:
        """Read `code`, which stands behind `via`; `known` False says that it holds expansions of an outer shell."""
        self.left -= len(code)
        if self.left < 0:
            self.note(f"longer than {LONGEST:,} characters")
            return
        if depth > DEEPEST:
            self.note(_TOO_DEEP)
            return
        if "\0" in code:
            self.note("it holds NUL bytes")
            code = code.replace("\0", "")
        code = code.replace("\r\n", "\n") if "\\\r" not in code else code
        if "\r" in code:
            self.note("it holds carriage returns that end no line")
        lifted = lift(code.encode("utf-8", "surrogatepass"))
        try:
            root, source = parse_plainly(lifted.source)
        except TooHard as reason:
            self.note(str(reason))
            return
        walk = Walk(source, lifted)
        found = walk.over(root, MOST_COMMANDS)
        if known and (lifted.doubt or root.has_error or walk.misread):
            row = _first_error(root) if root.has_error else walk.misread.start_point[0] if walk.misread else 0
            line = lifted.doubt or lifted.line(row)
            inside = f"code inside {via[-1]}" if via else "code in a substitution"
            self.note(f"{inside if depth else f'line {line}'}: not valid shell")
            self.valid = False
        for each, stage in found:
            if len(self.commands) >= MOST_COMMANDS:
                self.note(f"more than {MOST_COMMANDS:,} commands")
                return
            if isinstance(each, Code):
                self.within(each, via, depth)
            else:
                each.via = via
                self.command(each, stage, depth)

    def within(self, code: Code, via: tuple[str, ...], depth: int) -> None:
        """Read code in a substitution."""
        start = len(self.commands)
        self.script(code.text, via, depth + 1)
        for command in self.commands[start:]:
            if command.around is None and not command.captured:
                command.around, command.captured = code.place.around, code.place.captured

    def command(self, command: Command, stage: Stage | None, depth: int) -> None:
        """List `command` and what it goes on to run."""
        pending = [command]
        while pending:
            command = pending.pop()
            self.commands.append(command)
            if not command.words:
                continue
            if len(command.via) > DEEPEST:
                self.note(_TOO_DEEP)
                return
            first = command.words[0]
            if first.name is None:
                self.note(f"the command's name is only known when it runs: {_short(first)}")
                if first.splits and len(command.words) > 1:  # it may be empty, or a wrapper
                    pending.append(_behind(command, command.words[1:], str(first)))
                continue
            alias = self.aliases.get(first.name)
            if alias is not None and first.name not in command.via:
                code = f"{alias} {wrappers.requoted(command.words[1:])}"
                self.script(code, (*command.via, first.name), depth + 1, known=alias.known)
            inner = []
            for run in wrappers.runs(command.words):
                if run[0] == wrappers.EXEC:
                    inner.append(_behind(command, run[1], first.name))
                else:
                    self.nested(command, run, stage, depth)
            pending.extend(reversed(inner))

    def nested(self, command: Command, run: wrappers.Run, stage: Stage | None, depth: int) -> None:
        """Read the code that `command` hands to a shell, or keep that for another interpreter."""
        kind, payload, detail = run
        name = command.name
        if kind == wrappers.UNKNOWN:
            self.note(payload[0])
            return
        if kind in (wrappers.SHELL_STDIN, wrappers.CODE_STDIN):
            text = _input(command, stage)
            if text is None:
                return
            if not text.known:
                self.note(f"what {name} reads from its standard input is not known")
        else:
            text = payload[0]
            if not text.known:
                self.note(f"the code given to {name} is only known when it runs: {_short(text)}")
        if kind in (wrappers.CODE, wrappers.CODE_STDIN):
            command.code = (detail, text)
            return
        if kind == wrappers.ALIAS:
            self.aliases[detail] = text
        if text:
            self.script(text, (*command.via, name), depth + 1, known=text.known)


def _behind(command: Command, inner: Sequence[Word], name: str) -> Command:
    """The command behind the wrapper `name`: the same redirections, input and pipeline."""
    behind = Command(
        inner,
        redirects=command.redirects,
        assignments=command.assignments,
        stdin=command.stdin,
        via=(*command.via, name),
    )
    behind.pipes_into = command.pipes_into
    return behind


def _input(command: Command, stage: Stage | None) -> Word | None:
    """The text on a command's standard input; None when nothing in the script feeds it."""
    if command.stdin is not None:
        return command.stdin
    sources = [redirect.target for redirect in command.redirects if redirect.fd == 0]
    if sources:
        return Word("", known=False) if sources[-1].startswith("<(") else None
    if stage is None or stage.stdin is not None or stage.before is None:
        return stage.stdin if stage else None
    feeders = stage.before.commands
    return _printed(feeders[0]) if len(feeders) == 1 else Word("", known=False)


def _printed(command: Command) -> Word:
    """What a command writes: known for `echo`, `printf` and `cat` of plain text."""
    name, rest = command.name, list(command.words[1:])
    if any(redirect.fd == 1 for redirect in command.redirects):
        return Word("", known=False)
    if name == "cat" and not rest and command.stdin is not None:
        return command.stdin
    if name == "echo":
        while rest and rest[0] in ("-n", "-e", "-E", "-en", "-ne"):
            del rest[0]
        text = wrappers.joined(rest)
        return Word(text + "\n", known=text.known and "\\" not in text)  # shells differ in what a backslash does
    if name == "printf" and rest:
        shape = rest[0].replace("\\n", "\n")
        known = all(word.known for word in rest) and "\\" not in shape
        if "%" not in shape:
            return Word(shape, known=known)
        if shape.strip("\n") == "%s":
            return Word("".join(shape.replace("%s", word) for word in rest[1:]), known=known)
    return Word("", known=False)


def _first_error(root: Node) -> int:
    """Row, from 0, of the first place that does not parse."""
    pending = [root]
    while pending:
        node = pending.pop()
        if node.is_error or node.is_missing:
            return node.start_point[0]
        pending.extend(child for child in reversed(node.children) if child.has_error or child.is_missing)
    return 0


def _short(word: str) -> str:
    line = word.replace("\n", " ")
    return line if len(line) <= 60 else line[:59] + "…"
