"""From a syntax tree of bash to its simple commands, each with its words, redirections, input and pipeline."""

from __future__ import annotations

from capy_exec.policy.marks import BACKTICKS, GLOB, HEREDOC, HERESTRING, OPEN_BOTH
from capy_exec.policy.words import Word, unescape, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

    from capy_exec.policy.marks import Item, Lifted

    Found = tuple["Command | Code", "Stage | None"]
    Pending = list[tuple[Node, "Stage | None"]]

_COMMANDS = frozenset(["command", "declaration_command", "unset_command"])
_SUBSTITUTIONS = frozenset(["command_substitution", "process_substitution"])
LITERAL = frozenset(["raw_string", "ansi_c_string", "comment"])
_JOINED = frozenset(["pipeline", "list", "negated_command"])
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


class Code:
    """Shell code that is read on its own, and a Command that stands for it (what it is `around` and `captured`)."""

    __slots__ = ("place", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = Command(())


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

    __slots__ = ("behind", "found", "lifted", "marks", "misread", "source", "spans")

    def __init__(self, source: bytes, lifted: Lifted) -> None:
        self.source = source  # that of `lifted`, written plainly
        self.lifted = lifted
        self.behind: dict[int, list[Node]] = {}  # redirections of the node with this number
        self.marks: set[int] = set()  # those that were met where they belong
        self.misread: Node | None = None  # where the tree cannot be what a shell would read
        self.found: list[Found] = []
        self.spans: list[tuple[int, int, Command | None]] = []  # from, to, the command; None: a substitution

    def over(self, root: Node, most: int) -> list[Found]:
        """What stands below `root` in source order, with its part of a pipeline; ends after more than `most`."""
        pending: Pending = [(root, None)]
        while pending and len(self.found) <= most:  # no recursion: depth is the writer's
            node, stage = pending.pop()
            kind = node.type
            if kind == "redirected_statement":
                below = self.redirected(node, stage)
            elif kind in _COMMANDS or node.id in self.behind:
                below = self.under(node, self.behind.pop(node.id, []), stage, node)
            elif kind == "pipeline":
                below = _stages(node, stage)
            elif kind in _SUBSTITUTIONS:
                below = self.substitution(node)
            elif self.is_astray(node, kind):
                self.misread = self.misread or node
                continue
            elif node.child_count:
                below = [(child, stage) for child in node.children]
            else:
                if node.is_named and kind not in LITERAL:
                    self.hidden(node)
                continue
            pending.extend(reversed(below))
        for command, stage in self.found:
            if isinstance(command, Command) and stage and stage.after and stage.after.commands:
                command.pipes_into = stage.after.commands[0]
        _surround(self.spans)
        if len(self.marks) < len(self.lifted.items) and not pending:
            self.misread = self.misread or root
        return self.found

    def is_astray(self, node: Node, kind: str) -> bool:
        """True for a heredoc (the lexer took those that are), and for `{a,b} c`; notes the mark of a pattern."""
        if kind == "heredoc_redirect":
            return True
        if kind == "string" and self.lifted.items:
            self.item(node, GLOB)
        opens = kind == "{" and not (node.parent and node.parent.type == "brace_expression")
        return opens and bool(self.source[node.end_byte : node.end_byte + 1].strip())

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
        return [(child, None) for child in (*node.children, *redirects)]

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
        inputs: list[tuple[int, Word]] = []
        for child in children:
            if child.type == _ASSIGNMENT and node.type == "command":
                assignments.append(self.assignment(child))
            elif child.type.endswith("_redirect"):
                self.redirect(child, files, arguments, inputs)
            elif arguments and arguments[-1][-1].end_byte == child.start_byte:
                arguments[-1].append(child)
            else:
                arguments.append([child])
        got = [word for group in arguments for word in self.words(group)]
        self.add(Command(got, redirects=files, assignments=assignments, stdin=_standard_input(inputs)), stage, node)

    def words(self, nodes: list[Node]) -> list[Word]:
        """The words of nodes that touch; a blank or an operator in one means that the grammar went astray."""
        for node in nodes:
            for leaf in (node, *node.children) if node.child_count else (node,):
                if leaf.type == "word" and _ENDS.intersection(self.source[leaf.start_byte : leaf.end_byte]):
                    self.misread = self.misread or leaf
        if not self.lifted.items:
            return words(nodes, self.source)
        return [self.restored(word) for word in words(nodes, self.source, marked=True)]

    def restored(self, word: Word) -> Word:
        """A word with what was taken out of it back in its place."""
        if "\1" not in word:
            return word
        text, glob = self.lifted.restore(word)
        return Word(text, known=word.known, glob=word.glob or glob, splits=word.splits)

    def item(self, node: Node, *kinds: str) -> tuple[Item, int] | None:
        """What the mark at the beginning of a node stands for, if it is of `kinds`, and where the mark ends."""
        begin = node.start_byte
        if node.type == "command_substitution":
            begin = self.source.find(b"(", begin) + 1  # there may be blanks before it
        if self.source[begin : begin + 2] != b'"\1':
            return None
        end = self.source.find(b"\1", begin + 2)
        number = int(self.source[begin + 2 : end])
        if self.lifted.items[number].kind not in kinds:
            return None
        self.marks.add(number)
        return self.lifted.items[number], end + 3

    def assignment(self, node: Node) -> tuple[str, Word]:
        """Name and value of `name=value`."""
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        text = self.source[name.start_byte : name.end_byte].decode("utf-8", "replace") if name else ""
        return text, self.words([value])[0] if value else Word("")

    def redirected(self, node: Node, stage: Stage | None) -> Pending:
        """A statement with redirections behind it; those behind a pipeline or a list are its last command's."""
        redirects = [*node.children_by_field_name("redirect"), *self.behind.pop(node.id, ())]
        body = last = node.child_by_field_name("body")
        while last and last.type in _JOINED:
            last = next(
                (child for child in reversed(last.children) if child.is_named and child.type != "comment"), None
            )
        if body and last and last != body:
            self.behind[last.id] = redirects
            return [(body, stage)]
        return self.under(body, redirects, stage, node)

    def under(self, body: Node | None, redirects: list[Node], stage: Stage | None, node: Node) -> Pending:
        """A command, or a group of them, with its redirections."""
        if body and body.type in _COMMANDS:
            return self.simple(body, redirects, stage)
        files: list[Redirect] = []
        arguments: list[list[Node]] = []
        inputs: list[tuple[int, Word]] = []
        for each in redirects:
            self.redirect(each, files, arguments, inputs)
        if files or arguments:
            got = [word for group in arguments for word in self.words(group)]
            self.found.append((group := Command(got, redirects=files), stage))
            self.spans.append((node.start_byte, node.end_byte, group))
        if inputs:
            stage = Stage(stage and stage.before, stage and stage.after, _standard_input(inputs))
        return [*([(body, stage)] if body else []), *((each, None) for each in redirects)]

    def redirect(
        self, node: Node, files: list[Redirect], arguments: list[list[Node]], inputs: list[tuple[int, Word]]
    ) -> None:
        """Note a redirection in `files`, words behind it in `arguments`, the text of a heredoc in `inputs`."""
        targets = node.children_by_field_name("destination")
        descriptor = node.child_by_field_name("descriptor")
        operator = next((child.type for child in node.children if not child.is_named), ">")
        digits = self.source[descriptor.start_byte : descriptor.end_byte] if descriptor else b""
        fd = int(digits) if digits.isdigit() and len(digits) < 6 else 0 if operator.startswith("<") else 1
        arguments.extend([each] for each in targets[1:])
        marked = self.item(targets[0], HEREDOC, HERESTRING, OPEN_BOTH) if targets and self.lifted.items else None
        if marked and marked[0].kind == HEREDOC:
            inputs.append((fd, marked[0].text or Word("")))
            return
        target = self.words(targets[:1])[0] if targets else Word("")
        if marked:
            operator = marked[0].kind
            target = Word(target[len(operator) :], known=target.known, glob=target.glob, splits=target.splits)
        if operator == HERESTRING:
            inputs.append((fd, Word(target + "\n", known=target.known)))
        else:
            files.append(Redirect(fd, operator, target))

    def hidden(self, node: Node) -> None:
        """Note code in what the grammar takes for plain text, as in `${x:-...}` in quotes."""
        text = self.source[node.start_byte : node.end_byte]
        if b"`" not in text and b"$(" not in text:
            return
        if self.lifted.items and b"\1" in text:
            self.misread = self.misread or node
            return
        plain = text.decode("utf-8", "replace").replace("\\\\", "\0").replace("\\`", "\1").replace("\\$", "\2")
        outside, *inside = plain.split("`")
        for place, code in enumerate(inside):
            if place % 2:
                outside += " " + code
            else:
                self.nested(node, code.replace("\1", "`").replace("\2", "$").replace("\0", "\\"))
        if "$(" in outside:  # parsed in a heredoc whose first line begins with text, all is found
            end = "E"
            while end in outside:
                end += "E"
            text_again = outside.replace("\1", "").replace("\2", "").replace("\0", "")
            self.nested(node, f": <<{end}\nx{text_again}\n{end}\n")

    def nested(self, node: Node, text: str) -> None:
        """Note code in a substitution that is read on its own."""
        code = Code(text)
        self.found.append((code, None))
        self.spans.append((node.start_byte, node.end_byte, None))
        self.spans.append((node.start_byte + 1, node.end_byte, code.place))

    def substitution(self, node: Node) -> Pending:
        """`$(...)`, `<(...)`, or backticks, in which a backslash hides backticks of a level further in."""
        source = self.source[node.start_byte : node.end_byte].lstrip()
        marked = self.item(node, BACKTICKS) if self.lifted.items else None
        if marked:
            self.nested(node, str(marked[0].text))
            return []
        if source.startswith(b"`") and b"\\" in source:
            within = bool(node.parent and node.parent.type == "string")
            text = source[1:-1].decode("utf-8", "replace")
            self.nested(node, unescape(text, '$`\\"' if within else "$`\\"))
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
    stages: list[Stage] = []
    before = stage.before if stage else None
    for _part in parts:
        current = Stage(before)
        if stages:
            stages[-1].after = current
        stages.append(current)
        before = current
    if stages and stage:
        stages[0].stdin = stage.stdin
        stages[-1].after = stage.after
    return list(zip(parts, stages, strict=True))


def _standard_input(inputs: list[tuple[int, Word]]) -> Word | None:
    """Of heredocs and here-strings with their descriptors, what is read: the last, unless descriptors are mixed."""
    own = [text for fd, text in inputs if fd == 0]
    others = [text for fd, text in inputs if fd]
    if own and others:  # another one may be made the standard input
        return Word(own[-1], known=False)
    return (own or others)[-1] if inputs else None
