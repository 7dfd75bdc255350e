"""From a syntax tree of bash to its simple commands, each with its words, redirections, input and pipeline."""

from __future__ import annotations

from capy_exec.policy.words import Word, quoted, unescape, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

    Found = tuple["Command | str", "Stage | None"]
    Pending = list[tuple[Node, "Stage | None"]]

_COMMANDS = frozenset(["command", "declaration_command", "unset_command"])
_SUBSTITUTIONS = frozenset(["command_substitution", "process_substitution"])
LITERAL = frozenset(["raw_string", "ansi_c_string", "comment", "heredoc_start", "heredoc_end"])
_ASSIGNMENT = "variable_assignment"
_ENDS = frozenset(b" \t\n;|&<>()")


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
        around: The command in whose arguments it stands (`echo $(date)`), or the redirections of the group around it
            (`{ date; } > f`, a Command without words); else None.
        captured: True when a substitution that is no command's argument takes its output (`now=$(date)`).
    """

    __slots__ = ("around", "assignments", "captured", "code", "pipes_into", "redirects", "stdin", "via", "words")

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
        self.around: Command | None = None
        self.captured = False

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


class Stage:
    """One part of a pipeline, or a group with input of its own: where standard input comes from and output goes."""

    __slots__ = ("after", "before", "commands", "stdin")

    def __init__(self, before: Stage | None = None, after: Stage | None = None, stdin: Word | None = None) -> None:
        self.before = before
        self.after = after
        self.stdin = stdin
        self.commands: list[Command] = []


class Walk:
    """From a syntax tree to simple commands, and the code in backticks that the grammar leaves as text."""

    __slots__ = ("found", "misread", "source", "spans")

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.misread: Node | None = None  # where the tree cannot be what a shell would read
        self.found: list[Found] = []
        self.spans: list[tuple[int, int, Command | None]] = []  # from, to, the command; None: a substitution

    def over(self, root: Node, most: int) -> list[Found]:
        """What stands below `root` in source order, with its part of a pipeline; ends after more than `most`."""
        pending: Pending = [(root, None)]
        while pending and len(self.found) <= most:  # no recursion: depth is the writer's
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
            elif self.is_astray(node):
                self.misread = self.misread or node
                continue
            elif node.child_count:
                below = [(child, stage) for child in node.children]
            else:
                if node.is_named and node.type not in LITERAL:
                    self.hidden(self.source[node.start_byte : node.end_byte])
                continue
            pending.extend(reversed(below))
        for command, stage in self.found:
            if isinstance(command, Command) and stage and stage.after and stage.after.commands:
                command.pipes_into = stage.after.commands[0]
        _surround(self.spans)
        return self.found

    def is_astray(self, node: Node) -> bool:
        """True for a heredoc's end beyond ASCII (see `plain`: to the grammar, all of it is dots) and for `{a,b} c`."""
        if node.type == "heredoc_start":
            return not self.source[node.start_byte : node.end_byte].isascii()
        return node.type == "{" and bool(self.source[node.end_byte : node.end_byte + 1].strip())

    def add(self, command: Command, stage: Stage | None, node: Node) -> None:
        self.found.append((command, stage))
        self.spans.append((node.start_byte, node.end_byte, command))
        if stage:
            stage.commands.append(command)

    def simple(self, node: Node, redirects: list[Node], stage: Stage | None) -> Pending:
        """List a simple command with the redirections around it; what remains to be walked.

        The grammar runs over the end of a line in `echo ==` and the like, so what follows one is a command of its own.
        """
        starts = [0, *self.new_lines(node.children)]
        ends = [*starts[1:], len(node.children)]
        for start, end in zip(starts, ends, strict=True):
            self.part(node, node.children[start:end] + (redirects if end == ends[-1] else []), stage)
        below: Pending = [(child, None) for child in node.children]
        for redirect in redirects:
            below.extend(_below_redirect(redirect, stage))
        return below

    def new_lines(self, nodes: list[Node]) -> list[int]:
        """Places in `nodes` before which there is a newline."""
        gaps = ((nodes[place - 1], nodes[place]) for place in range(1, len(nodes)))
        return [
            place
            for place, (before, node) in enumerate(gaps, 1)
            if b"\n" in self.source[before.end_byte : node.start_byte]
        ]

    def part(self, node: Node, children: list[Node], stage: Stage | None) -> None:
        """List the command that `children`, of `node` and around it, make."""
        arguments: list[list[Node]] = []
        assignments: list[tuple[str, Word]] = []
        files: list[Redirect] = []
        stdin: Word | None = None
        for child in children:
            if child.type == _ASSIGNMENT and node.type == "command":
                assignments.append(self.assignment(child))
            elif child.type.endswith("_redirect"):
                text = self.redirect(child, files, arguments)
                stdin = text if text is not None else stdin
            elif arguments and arguments[-1][-1].end_byte == child.start_byte:
                arguments[-1].append(child)
            else:
                arguments.append([child])
        got = [word for group in arguments for word in self.words(group)]
        self.add(Command(got, redirects=files, assignments=assignments, stdin=stdin), stage, node)

    def words(self, nodes: list[Node]) -> list[Word]:
        """The words of nodes that touch; a blank or an operator in one means that the grammar went astray."""
        for node in nodes:
            for leaf in (node, *node.children):
                if leaf.type == "word" and _ENDS.intersection(self.source[leaf.start_byte : leaf.end_byte]):
                    self.misread = self.misread or leaf
        return words(nodes, self.source)

    def assignment(self, node: Node) -> tuple[str, Word]:
        """Name and value of `name=value`."""
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        text = self.source[name.start_byte : name.end_byte].decode("utf-8", "replace") if name else ""
        return text, words([value], self.source)[0] if value else Word("")

    def redirected(self, node: Node, stage: Stage | None) -> Pending:
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
            got = [word for group in arguments for word in self.words(group)]
            self.found.append((group := Command(got, redirects=files), stage))
            self.spans.append((node.start_byte, node.end_byte, group))
        stdin = [text for text in texts if text is not None]
        if stdin:
            stage = Stage(stage and stage.before, stage and stage.after, stdin[-1])
        below: Pending = [(body, stage)] if body else []
        for each in redirects:
            below.extend(_below_redirect(each, stage))
        return below

    def piped_heredoc(self, redirects: list[Node], piped: list[Node], stage: Stage | None) -> Stage | None:
        """The stage of `cat <<E | next`, where the grammar puts the rest of the pipeline inside the redirection."""
        return Stage(stage and stage.before, Stage(after=stage and stage.after)) if piped else stage

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
        if body is None:
            return Word("")
        stop = end.start_byte if end else body.end_byte
        before = max(child.end_byte for child in node.children if child not in (body, end))
        begin = self.source.find(b"\n", before, body.start_byte + 1) + 1 or body.start_byte  # blank lines are not in it
        literal = is_literal(node, self.source)
        if literal:
            pieces = [(self.source[begin:stop].decode("utf-8", "replace"), False)]
        else:
            pieces = quoted(body.children, begin, stop, self.source, "$`\\")
        text = "".join(piece for piece, _unknown in pieces)
        if "<<-" in parts:
            text = "\n".join(line.lstrip("\t") for line in text.split("\n"))
        source = self.source[begin:stop].replace(b"\\\\", b"").replace(b"\\`", b"").replace(b"\\$", b"")
        live = any(unknown for _piece, unknown in pieces) or b"`" in source or b"$" in source
        return Word(text, known=literal or not live)

    def heredoc(self, node: Node) -> Pending:
        """Substitutions in a heredoc. The grammar knows none in backticks there, so those are cut out by hand."""
        parent = node.parent
        if parent and is_literal(parent, self.source):
            return []
        text = bytearray(self.source[node.start_byte : node.end_byte])
        for child in node.children:
            if child.type in _SUBSTITUTIONS:
                begin, end = child.start_byte - node.start_byte, child.end_byte - node.start_byte
                text[begin:end] = b" " * (end - begin)
        self.hidden(bytes(text))
        return [(child, None) for child in node.children if child.child_count]

    def hidden(self, text: bytes) -> None:
        """Note code in what the grammar takes for plain text: some heredocs, and `${x:-...}` in quotes."""
        if b"`" not in text and b"$(" not in text:
            return
        plain = text.decode("utf-8", "replace").replace("\\\\", "\0").replace("\\`", "\1").replace("\\$", "\2")
        outside, *inside = plain.split("`")
        for place, code in enumerate(inside):
            if place % 2:
                outside += " " + code
            else:
                self.found.append((code.replace("\1", "`").replace("\2", "$").replace("\0", "\\"), None))
        if "$(" in outside:  # parsed in a heredoc whose first line begins with text, all is found
            end = "E"
            while end in outside:
                end += "E"
            text_again = outside.replace("\1", "").replace("\2", "").replace("\0", "")
            self.found.append((f": <<{end}\nx{text_again}\n{end}\n", None))

    def substitution(self, node: Node) -> Pending:
        """`$(...)`, `<(...)`, or backticks, in which a backslash hides backticks of a level further in."""
        source = self.source[node.start_byte : node.end_byte]
        if source.startswith(b"`") and b"\\" in source:
            within = bool(node.parent and node.parent.type == "string")
            text = source[1:-1].decode("utf-8", "replace")
            self.found.append((unescape(text, '$`\\"' if within else "$`\\"), None))
            return []
        self.spans.append((node.start_byte, node.end_byte, None))
        return [(child, None) for child in node.children]


def _surround(spans: list[tuple[int, int, Command | None]]) -> None:
    """Note for each command what takes its output from outside: what it stands in, by the places in the source."""
    outer: list[tuple[int, Command | None]] = []
    for begin, end, command in sorted(spans, key=lambda span: (span[0], -span[1])):
        while outer and outer[-1][0] <= begin:
            outer.pop()
        if command is not None and outer:
            taker = outer[-1][1]
            if taker is None:
                taker = outer[-2][1] if len(outer) > 1 else None
                command.captured = taker is None or not taker.words
            command.around = None if command.captured else taker
        outer.append((end, command))


def _stages(node: Node, stage: Stage | None) -> Pending:
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
    stages: list[Stage] = []
    before = stage.before if stage and not behind_heredoc else stage
    for place, _part in enumerate(parts):
        if behind_heredoc and not place and stage and stage.after:
            current = stage.after
            current.before = stage
        else:
            current = Stage(before)
        if stages:
            stages[-1].after = current
        stages.append(current)
        before = current
    if stages and stage and not behind_heredoc:
        stages[0].stdin = stage.stdin
        stages[-1].after = stage.after
    return list(zip(parts, stages, strict=True))


def _below_redirect(node: Node, stage: Stage | None) -> Pending:
    """What to walk in a redirection: the rest of a pipeline keeps its stage, all else stands alone."""
    return [(child, stage if child.type == "pipeline" else None) for child in node.children]


def is_literal(heredoc: Node, source: bytes) -> bool:
    """True when the word that ends a heredoc is quoted: then its text is taken as it stands."""
    starts = [child for child in heredoc.children if child.type == "heredoc_start"]
    return any(mark in source[start.start_byte : start.end_byte] for start in starts for mark in b"'\"\\")
