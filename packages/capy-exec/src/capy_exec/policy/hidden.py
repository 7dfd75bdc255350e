"""Commands that hide in the arguments of programs which are no wrappers: `git -c alias.x=!...`, `awk 'system("...")'`.

Options, settings and variables that are known to hold a command. What a program reads from a file, or puts together, is
not seen (docs/adr/0011-policy.md).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .shell import Command

_VARIABLES = frozenset(
    ("GIT_SSH_COMMAND", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PAGER", "GIT_EXTERNAL_DIFF", "GIT_ASKPASS", "EDITOR",
     "VISUAL", "PAGER", "MANPAGER", "BROWSER", "PROMPT_COMMAND", "RSYNC_RSH", "SSH_ASKPASS", "SUDO_ASKPASS")
)  # fmt: skip
_SETTERS = frozenset(("env", "export", "declare", "typeset", "cross-env"))

# Program -> options whose value is a command line
_OPTIONS = {
    "git": ("--exec", "-x", "--extcmd", "--upload-pack", "--receive-pack", "--tree-filter", "--index-filter",
            "--msg-filter", "--env-filter", "--commit-filter", "--open-files-in-pager"),
    "tar": ("--to-command", "-I", "--use-compress-program", "-F", "--info-script", "--rsh-command"),
    "rsync": ("-e", "--rsh"), "scp": ("-S",), "sftp": ("-S",), "man": ("-P", "--pager"), "nc": ("-e", "-c"),
    "ncat": ("-e", "-c", "--exec", "--sh-exec"), "npx": ("-c", "--call"), "npm": ("-c", "--call"),
    "nix-shell": ("--run", "--command"), "nodemon": ("--exec", "-x"),
}  # fmt: skip
# Program -> where an option's value holds a command, behind one of these beginnings
_BEGINNINGS = {
    **dict.fromkeys(("vim", "vi", "nvim", "ex", "view"), ("!", ":!", "+!", "+:!")),
    **dict.fromkeys(("less", "more"), ("+!",)),
    "gdb": ("!", "shell "), "sqlite3": (".system ", ".shell "),
    "tar": ("--checkpoint-action=exec=",), "socat": ("EXEC:", "SYSTEM:"),
    **dict.fromkeys(("ssh", "scp", "sftp"), tuple(
        f"{dash}{key}=" for key in ("ProxyCommand", "LocalCommand", "KnownHostsCommand") for dash in ("", "-o"))),
    "git": ("ext::",),
}  # fmt: skip
# What runs the words behind it: (program, subcommand) -> options that take a value
_UV = ("--with", "-p", "--python", "--project", "--extra", "--group", "--directory", "--env-file", "--from", "--index")
_RUNNERS: dict[tuple[str, str], tuple[str, ...]] = {
    ("uv", "run"): _UV, ("uvx", ""): _UV, ("poetry", "run"): (), ("pipenv", "run"): (), ("bundle", "exec"): (),
    ("npx", ""): ("-p", "--package", "-c", "--call"), ("npm", "exec"): ("-p", "--package", "-c", "--call"),
    ("pnpm", "exec"): (), ("pnpm", "dlx"): (), ("yarn", "exec"): (), ("yarn", "dlx"): (), ("bunx", ""): (),
    ("mise", "exec"): (), ("mise", "x"): (), ("conda", "run"): ("-n", "--name", "-p", "--prefix", "--cwd"),
    ("dotenv", ""): ("-e", "-f"), ("dotenv", "run"): (), ("cross-env", ""): (), ("firejail", ""): (),
    ("hyperfine", ""): ("-w", "-r", "-m", "-M", "-n"), ("watchexec", ""): ("-e", "-w", "-i", "-f"),
    ("screen", ""): ("-S", "-t", "-h", "-c", "-s", "-T"), ("tmux", "new"): ("-s", "-n", "-c", "-t", "-x", "-y"),
    ("tmux", "new-session"): ("-s", "-n", "-c", "-t", "-x", "-y"), ("gdb", "--args"): (),
    ("fd", "-x"): (), ("fd", "-X"): (), ("fd", "--exec"): (), ("fd", "--exec-batch"): (),
    ("git", "foreach"): (), ("git", "run"): (),
}  # fmt: skip
_WHOLE_LINES = frozenset(("hyperfine", "git", "tmux", "watchexec"))  # their one word is a line of shell
_GIT_KEYS = ("pager", "editor", "sshcommand", "askpass", "external", "fsmonitor", "textconv", ".cmd", ".clean",
             ".smudge", ".process", ".driver", "credential.helper")  # fmt: skip
_AWK = r'(?:\bsystem\s*\(|\|&?)\s*"((?:[^"\\]|\\.)*)"(\s*[^\s);}])?|"((?:[^"\\]|\\.)*)"\s*\|&?\s*getline'


def lines_of(command: Command) -> Iterator[str]:
    """Lines of shell that a simple command hands to a program which runs them."""
    words, name = command.words, command.name
    for variable, value in command.assignments:
        if variable in _VARIABLES:
            yield str(value)
    for word in words[1:] if name in _SETTERS else ():
        variable, _, setting = word.partition("=")
        if variable in _VARIABLES:
            yield setting
    yield from _option_values(words, _OPTIONS.get(name, ()))
    for word in words[1:]:
        yield from (word[len(start) :] for start in _BEGINNINGS.get(name, ()) if word.startswith(start))
    yield from _run(name, words)
    if name == "git":
        yield from _git_settings(words)
    elif name in ("awk", "gawk", "mawk", "nawk"):
        yield from _awk(words)
    elif name == "make":
        yield from _recipes([*_option_values(words, ("--eval",)), command.stdin or ""])
    elif name == "crontab" and command.stdin:
        yield from (line.split(None, 5)[5] for line in command.stdin.splitlines() if len(line.split(None, 5)) > 5)
    elif name in ("sed", "gsed"):
        yield from (word.partition("e ")[2] for word in words[1:] if word.lstrip("0123456789$,").startswith("e "))


def _option_values(words: Sequence[str], options: Sequence[str]) -> Iterator[str]:
    for place, word in enumerate(words[1:], 1):
        option, equals, value = word.partition("=")
        if word in options:
            yield from words[place + 1 : place + 2]
        elif equals and option in options:
            yield value


def _run(name: str, words: Sequence[str]) -> Iterator[str]:
    """The command behind a runner's own options and assignments."""
    for (runner, subcommand), takes_value in _RUNNERS.items():
        if runner != name or (subcommand and subcommand not in words[1:]):
            continue
        if name == "git" and ("submodule" if subcommand == "foreach" else "bisect") not in words:
            continue
        rest = list(words[words.index(subcommand) + 1 if subcommand else 1 :])
        while rest and (rest[0].startswith("-") or "=" in rest[0]):
            del rest[: 2 if rest[0] in takes_value else 1]
        if rest:
            yield rest[0] if len(rest) == 1 and name in _WHOLE_LINES else " ".join(map(_quoted, rest))


def _git_settings(words: Sequence[str]) -> Iterator[str]:
    """`-c key=value`, `--config key=value` and `config key value`."""
    pairs = [value.partition("=")[::2] for value in _option_values(words, ("-c", "--config"))]
    if "config" in words[1:] and len(words) > 3:
        pairs.append((words[-2], words[-1]))
    for key, value in pairs:
        if value.startswith("!"):
            yield value[1:]
        elif key.lower().startswith("alias."):
            yield f"git {value}"
        elif key.lower().endswith(_GIT_KEYS) and value not in ("true", "false"):
            yield value


def _awk(words: Sequence[str]) -> Iterator[str]:
    import re

    for word in words[1:]:
        for match in re.finditer(_AWK, word):
            line = match[1] if match[1] is not None else match[3]
            yield line.replace('\\"', '"') + (" $argument" if match[2] else "")


def _recipes(texts: Sequence[str]) -> Iterator[str]:
    for line in "\n".join(texts).splitlines():
        recipe = line if line.startswith("\t") else line.partition(";")[2]
        if recipe.strip():
            yield recipe.strip().lstrip("@-+")


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'" if getattr(word, "known", True) else str(word)
