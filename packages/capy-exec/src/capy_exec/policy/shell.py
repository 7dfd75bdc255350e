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
from capy_exec.policy.grammars import parse
from capy_exec.policy.words import Word, ansi, quoted, unescape, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

LONGEST = 1_000_000
"""Characters that are read, those of nested code (`sh -c`, heredocs for a shell) included."""
MOST_COMMANDS = 20_000
DEEPEST = 40
"""Levels of code in code."""

_COMMANDS = frozenset(["command", "declaration_command", "unset_command"])
_SUBSTITUTIONS = frozenset(["command_substitution", "process_substitution"])
_LITERAL = frozenset(["raw_string", "ansi_c_string", "comment"])
_ASSIGNMENT = "variable_assignment"


class Redirect:
    """One redirection: `fd` (the number it is about), `op` (`>`, `>>`, `<`, `&>`, `>&`, ...) and `target`."""

    __slots__ = ("fd", "op", "target")

    def __init__(self, fd: int, op: str, target: Word) -> None:
        self.fd = fd
        self.op = op
        self.target = target

    def __repr__(self) -> str:
        return f"Redirect({self.fd}, {self.op!r}, {str(self.target)!r})"


class Command:
    """A simple command.

    Attributes:
        words: Its name and arguments. Empty for redirections without a command (`> f`, and those of a loop or group).
        redirects: Its redirections to and from files and descriptors.
        assignments: Variables set for it alone.
        stdin: The text of a heredoc or here-string, None without one.
        pipes_into: The command that its output goes to, in the same pipeline.
        via: The wrappers it stands behind, outermost first.
        code: (language, code) when it hands inline code to an interpreter that is not a shell.
    """

    __slots__ = ("assignments", "code", "pipes_into", "redirects", "stdin", "via", "words")

    def __init__(
        self,
        words: Sequence[Word],
        *,
        redirects: Sequence[Redirect] = (),
        assignments: Sequence[tuple[str, Word]] = (),
        stdin: Word | None = None,
        via: tuple[str, ...] = (),
    ) -> None:
        self.words = tuple(words)
        self.redirects = tuple(redirects)
        self.assignments = tuple(assignments)
        self.stdin = stdin
        self.pipes_into: Command | None = None
        self.via = via
        self.code: tuple[str, Word] | None = None

    @property
    def name(self) -> str:
        """The program's name without its folder; the source text when only running can tell; "" without words."""
        if not self.words:
            return ""
        name = self.words[0].name
        return str(self.words[0]) if name is None else name

    @property
    def text(self) -> str:
        """The words joined by one space."""
        return " ".join(self.words)

    def __repr__(self) -> str:
        return f"Command({self.text!r})"


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


class _Stage:
    """One part of a pipeline, or a group with input of its own: where standard input comes from and output goes."""

    __slots__ = ("after", "before", "commands", "stdin")

    def __init__(self, before: _Stage | None = None, after: _Stage | None = None, stdin: Word | None = None) -> None:
        self.before = before
        self.after = after
        self.stdin = stdin
        self.commands: list[Command] = []

    def input(self) -> Word | None:
        """The text on standard input as far as the script tells: a group's heredoc, or what `echo` prints."""
        if self.stdin is not None or self.before is None:
            return self.stdin
        if len(self.before.commands) != 1:
            return Word("", known=False)
        return _printed(self.before.commands[0])


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
            self.note(f"code in code, more than {DEEPEST} levels deep")
            return
        if "\0" in code:
            self.note("it holds NUL bytes")
            code = code.replace("\0", "")
        source = code.replace("\r\n", "\n").encode("utf-8", "surrogatepass")
        tree = parse("tree_sitter_bash", source)
        if tree and b"\\\n" in source:
            source = _without_continuations(tree.root_node, source)
            tree = parse("tree_sitter_bash", source)
        if tree is None:
            self.note("it takes too long to parse")
            return
        if tree.root_node.has_error:
            line = _first_error(tree.root_node)
            self.note(f"line {line}: not valid shell" if not depth else f"code inside {via[-1]}: not valid shell")
            self.valid = self.valid and not known
        for found, stage in _Walk(source).over(tree.root_node):
            if len(self.commands) >= MOST_COMMANDS:
                self.note(f"more than {MOST_COMMANDS:,} commands")
                return
            if isinstance(found, str):
                self.script(found, via or ("`",), depth + 1)
            else:
                found.via = via
                self.command(found, stage, depth)

    def command(self, command: Command, stage: _Stage | None, depth: int) -> None:
        """List `command` and what it goes on to run."""
        pending = [command]
        while pending:
            command = pending.pop()
            self.commands.append(command)
            if not command.words:
                continue
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

    def nested(self, command: Command, run: wrappers.Run, stage: _Stage | None, depth: int) -> None:
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


class _Walk:
    """The first step: from a syntax tree to simple commands (and code in backticks), in source order."""

    __slots__ = ("found", "source")

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.found: list[tuple[Command | str, _Stage | None]] = []

    def over(self, root: Node) -> list[tuple[Command | str, _Stage | None]]:
        """What stands below `root`, with the part of the pipeline it belongs to. No recursion: depth is the writer's."""
        pending: list[tuple[Node, _Stage | None]] = [(root, None)]
        while pending:
            node, stage = pending.pop()
            if node.type in _COMMANDS:
                below = self.simple(node, [], stage)
            elif node.type == "redirected_statement":
                below = self.redirected(node, stage)
            elif node.type == "pipeline":
                below = _stages(node, stage)
            elif node.type in _SUBSTITUTIONS:
                below = self.substitution(node)
            elif node.type == "heredoc_body":
                below = self.heredoc(node)
            elif node.child_count:
                below = [(child, stage) for child in node.children]
            else:
                continue
            pending.extend(reversed(below))
        for command, stage in self.found:
            if isinstance(command, Command) and stage and stage.after and stage.after.commands:
                command.pipes_into = stage.after.commands[0]
        return self.found

    def add(self, command: Command, stage: _Stage | None) -> None:
        self.found.append((command, stage))
        if stage:
            stage.commands.append(command)

    def simple(self, node: Node, redirects: list[Node], stage: _Stage | None) -> list[tuple[Node, _Stage | None]]:
        """List a simple command with the redirections around it; what remains to be walked."""
        arguments: list[list[Node]] = []
        assignments: list[tuple[str, Word]] = []
        files: list[Redirect] = []
        stdin: Word | None = None
        below: list[tuple[Node, _Stage | None]] = [(child, None) for child in node.children]
        for child in [*node.children, *redirects]:
            if child.type == _ASSIGNMENT and node.type == "command":
                assignments.append(self.assignment(child))
            elif child.type.endswith("_redirect"):
                text = self.redirect(child, files, arguments)
                stdin = text if text is not None else stdin
            elif arguments and arguments[-1][-1].end_byte == child.start_byte:
                arguments[-1].append(child)
            else:
                arguments.append([child])
        got = [word for group in arguments for word in words(group, self.source)]
        self.add(Command(got, redirects=files, assignments=assignments, stdin=stdin), stage)
        for redirect in redirects:
            below.extend(_below_redirect(redirect, stage))
        return below

    def assignment(self, node: Node) -> tuple[str, Word]:
        """Name and value of `name=value`."""
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        text = self.source[name.start_byte : name.end_byte].decode("utf-8", "surrogatepass") if name else ""
        return text, words([value], self.source)[0] if value else Word("")

    def redirected(self, node: Node, stage: _Stage | None) -> list[tuple[Node, _Stage | None]]:
        """A statement with redirections behind it."""
        redirects = node.children_by_field_name("redirect")
        body = node.child_by_field_name("body")
        piped = [child for each in redirects for child in each.children if child.type == "pipeline"]
        stage = self.piped_heredoc(redirects, piped, stage)
        if body and body.type in _COMMANDS:
            return self.simple(body, redirects, stage)
        files: list[Redirect] = []
        arguments: list[list[Node]] = []
        texts = [self.redirect(each, files, arguments) for each in redirects]
        if files or arguments:
            got = [word for group in arguments for word in words(group, self.source)]
            self.found.append((Command(got, redirects=files), stage))
        stdin = [text for text in texts if text is not None]
        if stdin:
            stage = _Stage(stage and stage.before, stage and stage.after, stdin[-1])
        below: list[tuple[Node, _Stage | None]] = [(body, stage)] if body else []
        for each in redirects:
            below.extend(_below_redirect(each, stage))
        return below

    def piped_heredoc(self, redirects: list[Node], piped: list[Node], stage: _Stage | None) -> _Stage | None:
        """The stage of `cat <<E | next`, where the grammar puts the rest of the pipeline inside the redirection."""
        return _Stage(stage and stage.before, _Stage(after=stage and stage.after)) if piped else stage

    def redirect(self, node: Node, files: list[Redirect], arguments: list[list[Node]]) -> Word | None:
        """Note a redirection in `files`, and words behind it in `arguments`; the text of a heredoc or here-string."""
        if node.type == "herestring_redirect":
            value = node.children[-1]
            text = words([value], self.source)[0]
            return Word(text + "\n", known=text.known)
        if node.type == "heredoc_redirect":
            for child in node.children:
                if child.type == "file_redirect":
                    self.redirect(child, files, arguments)
                elif node.field_name_for_child(node.children.index(child)) == "argument":
                    arguments.append([child])
            return self.heredoc_text(node)
        targets = node.children_by_field_name("destination")
        descriptor = node.child_by_field_name("descriptor")
        operator = next((child.type for child in node.children if not child.is_named), ">")
        digits = self.source[descriptor.start_byte : descriptor.end_byte] if descriptor else b""
        fd = int(digits) if digits.isdigit() and len(digits) < 6 else 0 if operator.startswith("<") else 1
        target = words(targets[:1], self.source) if targets else [Word("")]
        files.append(Redirect(fd, operator, target[0]))
        arguments.extend([each] for each in targets[1:])
        return None

    def heredoc_text(self, node: Node) -> Word:
        """The text of a heredoc; not known where an expansion stands in it."""
        parts = {child.type: child for child in node.children}
        body, end = parts.get("heredoc_body"), parts.get("heredoc_end")
        start = parts["heredoc_start"]
        if body is None:
            return Word("")
        stop = end.start_byte if end else body.end_byte
        literal = any(mark in self.source[start.start_byte : start.end_byte] for mark in b"'\"\\")
        if literal:
            pieces = [(self.source[body.start_byte : stop].decode("utf-8", "surrogatepass"), False)]
        else:
            pieces = quoted(body.children, body.start_byte, stop, self.source, "$`\\")
        text = "".join(piece for piece, _unknown in pieces)
        if "<<-" in parts:
            text = "\n".join(line.lstrip("\t") for line in text.split("\n"))
        known = literal or not (any(unknown for _piece, unknown in pieces) or "`" in text)
        return Word(text, known=known)

    def heredoc(self, node: Node) -> list[tuple[Node, _Stage | None]]:
        """Substitutions in a heredoc. The grammar knows none in backticks there, so those are cut out by hand."""
        parent = node.parent
        start = next((child for child in parent.children if child.type == "heredoc_start"), None) if parent else None
        if start and any(mark in self.source[start.start_byte : start.end_byte] for mark in b"'\"\\"):
            return []
        inside = [child for child in node.children if child.type in _SUBSTITUTIONS]
        text = bytearray(self.source[node.start_byte : node.end_byte])
        for child in inside:
            begin, end = child.start_byte - node.start_byte, child.end_byte - node.start_byte
            text[begin:end] = b" " * (end - begin)
        if b"`" in text:
            pieces = text.decode("utf-8", "surrogatepass").replace("\\\\", "\0").replace("\\`", "\1").split("`")
            for piece in pieces[1::2]:
                self.found.append((piece.replace("\1", "`").replace("\0", "\\"), None))
        return [(child, None) for child in node.children]

    def substitution(self, node: Node) -> list[tuple[Node, _Stage | None]]:
        """`$(...)`, `<(...)`, or backticks, in which a backslash hides backticks of a level further in."""
        source = self.source[node.start_byte : node.end_byte]
        if source.startswith(b"`") and b"\\" in source:
            within = bool(node.parent and node.parent.type == "string")
            text = source[1:-1].decode("utf-8", "surrogatepass")
            self.found.append((unescape(text, '$`\\"' if within else "$`\\"), None))
            return []
        return [(child, None) for child in node.children]


def _stages(node: Node, stage: _Stage | None) -> list[tuple[Node, _Stage | None]]:
    """The parts of a pipeline, each with its neighbours; the ends join the pipeline around it."""
    parts: list[Node] = []
    pending = [node]
    while pending:
        part = pending.pop()
        if part.type == "pipeline":
            pending.extend(child for child in reversed(part.children) if child.is_named and child.type != "comment")
        else:
            parts.append(part)
    behind_heredoc = bool(node.children and not node.children[0].is_named)  # `cat <<E | next`: begins with the bar
    stages: list[_Stage] = []
    before = stage.before if stage and not behind_heredoc else stage
    for place, _part in enumerate(parts):
        if behind_heredoc and not place and stage and stage.after:
            current = stage.after
            current.before = stage
        else:
            current = _Stage(before)
        if stages:
            stages[-1].after = current
        stages.append(current)
        before = current
    if stages and stage and not behind_heredoc:
        stages[0].stdin = stage.stdin
        stages[-1].after = stage.after
    return list(zip(parts, stages, strict=True))


def _below_redirect(node: Node, stage: _Stage | None) -> list[tuple[Node, _Stage | None]]:
    """What to walk in a redirection: the rest of a pipeline keeps its stage, all else stands alone."""
    return [(child, stage if child.type == "pipeline" else None) for child in node.children]


def _behind(command: Command, inner: Sequence[Word], name: str) -> Command:
    """The command behind the wrapper `name`: the same redirections, input and pipeline."""
    skip = 0
    behind = Command(
        inner[skip:],
        redirects=command.redirects,
        assignments=command.assignments,
        stdin=command.stdin,
        via=(*command.via, name),
    )
    behind.pipes_into = command.pipes_into
    return behind


def _input(command: Command, stage: _Stage | None) -> Word | None:
    """The text on a command's standard input; None when nothing in the script feeds it."""
    if command.stdin is not None:
        return command.stdin
    sources = [redirect.target for redirect in command.redirects if redirect.fd == 0]
    if sources:
        return Word("", known=False) if sources[-1].startswith("<(") else None
    return stage.input() if stage else None


def _printed(command: Command) -> Word:
    """What a command writes: known for `echo`, `printf` and `cat` of literal text."""
    name, rest = command.name, list(command.words[1:])
    if command.redirects and any(redirect.fd == 1 for redirect in command.redirects):
        return Word("", known=False)
    if name == "cat" and not rest and command.stdin is not None:
        return command.stdin
    if name == "echo":
        while rest and rest[0] in ("-n", "-e", "-E", "-en", "-ne"):
            del rest[0]
        text = wrappers.joined(rest)
        return Word(ansi(text) + "\n", known=text.known)
    if name == "printf" and rest:
        known = all(word.known for word in rest)
        shape = ansi(rest[0])
        if "%" not in shape:
            return Word(shape, known=known)
        if shape in ("%s", "%s\n", "%b", "%b\n"):
            return Word("".join(shape.replace(shape[:2], ansi(word)) for word in rest[1:]), known=known)
    return Word("", known=False)


def _without_continuations(root: Node, source: bytes) -> bytes:
    r"""`source` without `\` + newline, except where they are two characters: literal quotes, comments, heredocs."""
    keep: list[tuple[int, int]] = []
    pending = [root]
    while pending:
        node = pending.pop()
        body = node.type == "heredoc_body" and not any(child.is_named for child in node.children)
        if node.type in _LITERAL or body:
            keep.append((node.start_byte, node.end_byte))
        else:
            pending.extend(reversed(node.children))
    out: list[bytes] = []
    start = 0
    for begin, end in [*keep, (len(source), len(source))]:
        out.append(source[start:begin].replace(b"\\\n", b""))
        out.append(source[begin:end])
        start = end
    return b"".join(out)


def _first_error(root: Node) -> int:
    """Line of the first place that does not parse."""
    pending = [root]
    while pending:
        node = pending.pop()
        if node.is_error or node.is_missing:
            return node.start_point[0] + 1
        pending.extend(child for child in reversed(node.children) if child.has_error or child.is_missing)
    return 1


def _short(word: str) -> str:
    line = word.replace("\n", " ")
    return line if len(line) <= 60 else line[:59] + "…"
