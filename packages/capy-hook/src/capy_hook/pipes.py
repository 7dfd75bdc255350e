"""Where a command's output ends: in the context, in a file, or in a filter that lets little through."""

from __future__ import annotations

from .fetchers import SCREENS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from capy_exec.policy.shell import Command

_MAX_LINES = 200
_MAX_BYTES = 20_000
_CONTEXT, _PIPE, _FILE = "context", "pipe", "file"
_PRINTERS = ("echo", "printf", "print", "cat", "less", "more")
_MAX_PIPELINE = 50  # commands that are followed; longer ones are read as printing


def reaches_context(command: Command, commands: Sequence[Command]) -> tuple[bool, bool]:
    """Whether a command's stdout, and its stderr, come back to the agent more or less whole.

    Args:
        command: one of `commands`.
        commands: all of the script, in source order; a wrapper (`timeout`, `sh -c`) stands before what it runs.
    """
    return _reaches(command, commands, _MAX_PIPELINE)


def _reaches(command: Command, commands: Sequence[Command], left: int) -> tuple[bool, bool]:
    out, err = _sinks(command)
    piped = _CONTEXT
    if _PIPE in (out, err) and left and command.pipes_into is not None:
        piped = _CONTEXT if _passes_on(command.pipes_into, commands, left - 1) else _FILE
    shown_out, shown_err = (_CONTEXT in (sink, piped if sink == _PIPE else sink) for sink in (out, err))
    if out == _CONTEXT and command.captured:
        shown_out = False  # into a variable, a list of a loop, a test
    around = command.around or _wrapper(command, commands)
    if around is None or not left or not (shown_out or shown_err):
        return shown_out, shown_err
    outside = _reaches(around, commands, left - 1)
    if command.around is not None and around.words:  # a substitution: what is printed is its stdout, by the command
        return shown_out and outside[0] and around.name in _PRINTERS, shown_err and outside[1]
    return shown_out and outside[0], shown_err and outside[1]


def _sinks(command: Command) -> tuple[str, str]:
    """Stdout and stderr after the redirects, read from left to right as the shell does."""
    sinks = {1: _PIPE if command.pipes_into is not None else _CONTEXT, 2: _CONTEXT}
    for redirect in command.redirects:
        if not redirect.op.startswith((">", "&>")):
            continue
        target = str(redirect.target)
        if redirect.op == ">&" and target.isdecimal():
            sinks[redirect.fd] = sinks.get(int(target), _FILE)
            continue
        both = redirect.op.startswith("&>") or (redirect.op == ">&" and target != "-")
        sink = _CONTEXT if target in SCREENS and target != "-" else _FILE
        for descriptor in (1, 2) if both else (redirect.fd,):
            sinks[descriptor] = sink
    return sinks[1], sinks[2]


def _passes_on(reader: Command, commands: Sequence[Command], left: int) -> bool:
    """Whether what is piped into a command comes out of it again, and reaches the context."""
    inner = _wrapped(reader, commands)
    while inner is not None:
        reader, inner = inner, _wrapped(inner, commands)
    bounds = _BOUNDED.get(reader.name)
    through = reader.name in _THROUGH if bounds is None else not bounds(reader.words[1:])
    if reader.name in ("python", "python3") and "json.tool" in reader.words:
        through = True
    return through and _reaches(reader, commands, left)[0]


def _wrapper(command: Command, commands: Sequence[Command]) -> Command | None:
    """The command that runs this one (`timeout 5 curl`, `sh -c 'curl'`), or None."""
    if not command.via:
        return None
    place = next(at for at, other in enumerate(commands) if other is command)
    for other in reversed(commands[:place]):
        if other.name == command.via[-1] and other.via == command.via[:-1]:
            return other
    return None


def _wrapped(wrapper: Command, commands: Sequence[Command]) -> Command | None:
    place = next((at for at, other in enumerate(commands) if other is wrapper), len(commands))
    after = commands[place + 1] if place + 1 < len(commands) else None
    return after if after is not None and after.via == (*wrapper.via, wrapper.name) else None


# Filters ----------------------------------------------------------------------------------------------------------

# What prints what it reads, more or less. Any program not named here or below is taken to print something of its own.
_THROUGH = {
    "cat", "tac", "tee", "sort", "uniq", "tr", "cut", "column", "fold", "fmt", "nl", "rev", "expand", "iconv",
    "less", "more", "most", "bat", "batcat", "xmllint", "tidy", "pandoc", "html2text", "zcat", "gunzip",
    "gzip", "bunzip2", "bzcat", "xzcat", "base64", "xxd", "hexdump", "od", "strings", "dos2unix", "pv", "ts", "gron",
    "pygmentize", "highlight", "prettier", "paste", "pr", "shuf", "lolcat", "ccze",
}  # fmt: skip


def _slice(words: Sequence[str]) -> bool:
    """head and tail: bounded unless they count from the other end, follow, or count high."""
    lines, size = "10", ""
    place = 0
    while place < len(words):
        word = words[place]
        following = words[place + 1] if place + 1 < len(words) else ""
        place += 1
        if word in ("-f", "-F", "--follow"):
            return False
        if word in ("-n", "--lines", "-c", "--bytes"):
            lines, size = (following, size) if word in ("-n", "--lines") else (lines, following)
            place += 1
        elif word.startswith(("-n", "--lines=")):
            lines = word.removeprefix("--lines=").removeprefix("-n")
        elif word.startswith(("-c", "--bytes=")):
            size = word.removeprefix("--bytes=").removeprefix("-c")
        elif word[:1] in "-+" and word[1:2].isdigit():
            lines = word.removeprefix("-")
    if size:
        number = size.upper().removesuffix("B").replace("K", "000")
        return number.isdecimal() and int(number[:12]) <= _MAX_BYTES
    return lines.isdecimal() and int(lines[:12]) <= _MAX_LINES


def _matches(words: Sequence[str]) -> bool:
    """grep and its kin: bounded when they select; an inverted or empty pattern selects nothing."""
    letters = "".join(word[1:] for word in words if word.startswith("-") and not word.startswith("--"))
    if any(letter in letters for letter in "cqlm") or any(
        word.startswith(("--count", "--max-count")) for word in words
    ):
        return True
    pattern = next((word for word in words if not word.startswith("-")), "")
    return "v" not in letters and "--invert-match" not in words and pattern not in ("", ".", ".*", "^", "$")


def _picks(words: Sequence[str]) -> bool:
    """jq and yq: bounded when a filter picks something out of the document."""
    program = next((word for word in words if not word.startswith("-")), ".")
    return program.replace(" ", "") not in ("", ".", ".[]", "..", ".[]?")


def _sed(words: Sequence[str]) -> bool:
    """sed: `-n` prints what is asked for, `20q` stops."""
    quiet = any(word.startswith("-") and not word.startswith("--") and "n" in word for word in words)
    return quiet or any(word[:-1].isdecimal() and word.endswith("q") for word in words)


def _awk(words: Sequence[str]) -> bool:
    """awk: a program that begins with a pattern, counts lines or exits selects."""
    program = next((word for word in words if not word.startswith("-")), "")
    return program.lstrip().startswith("/") or "NR" in program or "exit" in program


def _always(_words: Sequence[str]) -> bool:
    return True


_BOUNDED: dict[str, Callable[[Sequence[str]], bool]] = {
    **dict.fromkeys(("head", "tail"), _slice),
    **dict.fromkeys(("grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack"), _matches),
    **dict.fromkeys(("jq", "yq", "xq", "jaq", "gojq"), _picks),
    **dict.fromkeys(("sed", "gsed"), _sed),
    **dict.fromkeys(("awk", "gawk", "mawk"), _awk),
    **dict.fromkeys(("wc", "cksum", "md5sum", "sha1sum", "sha256sum", "sha512sum", "b2sum", "shasum", "md5"), _always),
}
