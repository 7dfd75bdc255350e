"""What a simple command goes on to run: the command behind a wrapper, the code handed to a shell or an interpreter.

Tables, and the one walk over options that they all share. Not here because no wrapper of the host's rules either:
`docker exec`, `npx`, `uv run`, `make`, a script's file. Programs with a language of their own in which a command can
hide (`awk`, `sed`, `vim`, `tar`, `git -c alias.x=!...`) are not looked into.
"""

from __future__ import annotations

from capy_exec.policy.words import Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Run = tuple[str, list[Word], str]

EXEC, SHELL, CODE, SHELL_STDIN, CODE_STDIN, ALIAS, UNKNOWN = [
    "exec",
    "shell",
    "code",
    "shell-stdin",
    "code-stdin",
    "alias",
    "unknown",
]
"""Kinds of what is run: the words of a command; a shell's code; an interpreter's code (with its language); the same two
read from standard input; an alias's text (with its name); something that cannot be told."""

_SHELLS = frozenset(["sh", "bash", "dash", "zsh", "ksh", "ksh93", "mksh", "ash", "yash", "rbash", "fish", "posh"])
_STDIN = frozenset(["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"])

# Name -> (letters of the options that take a value, their long names, operands before the command).
_PREFIXES: dict[str, tuple[str, str, int]] = {
    "builtin": ("", "", 0),
    "busybox": ("", "", 0),
    "caffeinate": ("tw", "", 0),
    "chronic": ("", "", 0),
    "chroot": ("", "userspec groups", 1),
    "chrt": ("TPD", "sched-runtime sched-period sched-deadline", 1),
    "command": ("", "", 0),
    "coproc": ("", "", 0),
    "dbus-run-session": ("", "config-file", 0),
    "doas": ("uCa", "", 0),
    "eatmydata": ("", "", 0),
    "entr": ("", "", 0),
    "env": ("uCS", "unset chdir split-string", 0),
    "exec": ("a", "", 0),
    "fakeroot": ("lsib", "lib faked", 0),
    "flock": ("wEc", "timeout wait conflict-exit-code command", 1),
    "gosu": ("", "", 1),
    "ionice": ("cnpPu", "class classdata pid pgid uid", 0),
    "ltrace": ("aADeFlnopsuUwxX", "", 0),
    "nice": ("n", "adjustment", 0),
    "nocorrect": ("", "", 0),
    "noglob": ("", "", 0),
    "nohup": ("", "", 0),
    "nsenter": ("tSG", "target setuid setgid", 0),
    "pkexec": ("", "user", 0),
    "prlimit": ("p", "pid", 0),
    "proxychains": ("f", "", 0),
    "proxychains4": ("f", "", 0),
    "run0": ("u", "user group unit property slice setenv chdir", 0),
    "runuser": ("ugGcsw", "user group supp-group command shell whitelist-environment", 0),
    "setarch": ("", "", 1),
    "setpriv": ("", "ambient-caps bounding-set inh-caps groups reuid ruid euid regid rgid egid securebits", 0),
    "setsid": ("", "", 0),
    "stdbuf": ("ioe", "input output error", 0),
    "strace": ("aeEIoOpPsSuUXb", "attach env interruptible output trace string-limit user trace-path", 0),
    "su-exec": ("", "", 1),
    "sudo": (
        "ACghpRrtTUuDa",
        "close-from group host prompt chroot role type command-timeout other-user user chdir",
        0,
    ),
    "systemd-run": ("HMpuEt", "host machine property unit setenv slice uid gid nice working-directory description", 0),
    "taskset": ("", "", 1),
    "tini": ("e", "", 0),
    "time": ("fo", "format output", 0),
    "timeout": ("ks", "kill-after signal", 1),
    "torsocks": ("up", "user pass port", 0),
    "toybox": ("", "", 0),
    "unbuffer": ("", "", 0),
    "unshare": ("SGRw", "setuid setgid root wd propagation map-user map-group", 0),
    "valgrind": ("", "", 0),
    "xargs": ("adEILnPs", "arg-file delimiter max-args max-procs max-chars process-slot-var", 0),
    "xvfb-run": ("efnpsw", "error-file auth-file server-num xauth-protocol server-args wait", 0),
}
# The same for those that hand their operands, joined by spaces, to a shell.
_JOINED: dict[str, tuple[str, str, int]] = {
    "parallel": (
        "jnNLIaSPsEdC",
        "jobs max-args max-replace-args max-lines arg-file sshlogin max-procs delimiter colsep joblog results delay "
        "timeout retries workdir tagstring",
        0,
    ),
    "ssh": ("BbcDEeFIiJLlmOoPpQRSWw", "", 1),
    "watch": ("nq", "interval equexit", 0),
}
# Those that take a shell's code as an option's value.
_CODE_OPTION = {
    "flock": ("wEc", "timeout wait conflict-exit-code command", "c", "command"),
    "runuser": ("ugGcsw", "user group supp-group command shell", "c", "command"),
    "script": ("cIOTBEmo", "command log-in log-out log-io log-timing echo logging-format output-limit", "c", "command"),
    "sg": ("c", "", "c", "command"),
    "su": ("gGcsw", "group supp-group command session-command shell whitelist-environment", "c", "command"),
    "env": ("uCS", "unset chdir split-string", "S", "split-string"),
}
# Interpreter -> (language, letters and long names of options with code, letters and long names with another value,
# letters that take the rest of their cluster).
_INTERPRETERS: dict[str, tuple[str, str, str, str, str, str]] = {
    "bun": ("javascript", "ep", "eval print", "r", "preload require cwd config", ""),
    "deno": ("javascript", "", "", "", "", ""),
    "elixir": ("elixir", "e", "eval", "rS", "require", ""),
    "iex": ("elixir", "e", "eval", "rS", "require", ""),
    "node": ("javascript", "ep", "eval print", "rC", "require import conditions", ""),
    "nodejs": ("javascript", "ep", "eval print", "rC", "require import conditions", ""),
    "perl": ("perl", "eE", "", "I", "", "iFxdDVCmM"),
    "php": ("php", "rBRE", "run process-begin process-code process-end", "dcfFSt", "define php-ini file server", "z"),
    "pypy": ("python", "c", "", "WXQm", "", ""),
    "python": ("python", "c", "", "WXQm", "", ""),
    "r": ("r", "e", "", "fg", "file gui", ""),
    "rscript": ("r", "e", "", "g", "", ""),
    "ruby": ("ruby", "e", "", "IrC", "require", "iFxKTWE0"),
    "ts-node": ("typescript", "ep", "eval print", "rPO", "require project", ""),
    "tsx": ("typescript", "ep", "eval print", "r", "require import", ""),
}
LANGUAGES = {  # capy-exec's names of languages
    "bash": "shell",
    "elixir": "elixir",
    "ex": "elixir",
    "exs": "elixir",
    "go": "go",
    "golang": "go",
    "javascript": "javascript",
    "js": "javascript",
    "node": "javascript",
    "perl": "perl",
    "php": "php",
    "pl": "perl",
    "py": "python",
    "python": "python",
    "r": "r",
    "rb": "ruby",
    "rs": "rust",
    "rscript": "r",
    "ruby": "ruby",
    "rust": "rust",
    "sh": "shell",
    "shell": "shell",
    "ts": "typescript",
    "typescript": "typescript",
}


def runs(words: Sequence[Word]) -> list[Run]:
    """What `words` goes on to run: (kind, words, detail); nothing for an ordinary command.

    The words of EXEC are a command's, those of SHELL, CODE and ALIAS one word with the code, those of UNKNOWN one with
    the reason. The detail is CODE's and CODE_STDIN's language and ALIAS's name.
    """
    name = words[0].name or ""
    special = _SPECIAL.get(name)
    if special:
        return special(words)
    if name in _SHELLS:
        return _shell(words)
    if name in _CODE_OPTION:
        found = _by_option(words, *_CODE_OPTION[name])
        if found or name not in _PREFIXES:
            return found
    if name in _PREFIXES:
        return _prefix(words, *_PREFIXES[name])
    if name in _JOINED:
        return _joined(words, *_JOINED[name])
    interpreter = name.lower().rstrip("0123456789.")
    if interpreter in _INTERPRETERS:
        return _interpreter(words, *_INTERPRETERS[interpreter])
    return []


def joined(words: Sequence[Word]) -> Word:
    """The words as one text, joined by spaces, as `eval` and `ssh` do."""
    return Word(" ".join(words), known=all(word.known for word in words))


def requoted(words: Sequence[Word]) -> str:
    """The words as shell code again: what is known in quotes, expansions as they stood."""
    return " ".join("'" + word.replace("'", "'\\''") + "'" if word.known else str(word) for word in words)


def _options(
    words: Sequence[Word], letters: str, longs: str, rest: str = "", *, last: str = "", plus: bool = False
) -> tuple[int, list[tuple[str, Word | None]]]:
    """Index of the first operand, and the options before it as (letter or long name, value).

    A word that is only known at run time counts as an operand. `letters` and `longs` name the options with a value,
    `rest` the letters that swallow the rest of their cluster, `last` those after which there are no more options.
    """
    names = longs.split()
    found: list[tuple[str, Word | None]] = []
    at = 1
    while at < len(words):
        word = words[at]
        if word.splits or len(word) < 2 or word[0] not in ("-+" if plus else "-"):
            break
        at += 1
        if word == "--":
            break
        if word.startswith("--"):
            option, equals, value = word[2:].partition("=")
            follows = not equals and option in names and at < len(words)
            found.append((option, words[at] if follows else Word(value, known=word.known) if equals else None))
            at += follows
            continue
        for place in range(1, len(word)):
            letter = word[place]
            if letter in letters:
                attached = word[place + 1 :]
                follows = not attached and at < len(words)
                found.append((letter, words[at] if follows else Word(attached, known=word.known)))
                at += follows
                if letter in last:
                    return at, found
                break
            found.append((letter, None))
            if letter in rest:
                break
    return at, found


_ASSIGNING = frozenset(["coproc", "doas", "env", "sudo", "systemd-run", "time"])
"""Those behind which variables may be set."""


def _prefix(words: Sequence[Word], letters: str, longs: str, operands: int) -> list[Run]:
    at, options = _options(words, letters, longs)
    name = words[0].name
    if name == "command" and any(option in ("v", "V") for option, _value in options):
        return []
    while name in _ASSIGNING and at < len(words) and _is_assignment(words[at]):
        at += 1
    if name == "env" and at < len(words) and words[at] == "-":
        at += 1
    inner = list(words[at + operands :])
    if name == "xargs":
        inner = _with_arguments(inner, options)
    if name == "entr" and any(option == "s" for option, _value in options):
        return [(SHELL, inner[:1], "")] if inner else []
    if name in ("time", "coproc"):
        if name == "coproc" and len(inner) > 1 and inner[1] == "{":
            inner = inner[1:]
        while inner and inner[0] in ("{", "!", "("):
            inner = inner[1:]
    return [(EXEC, inner, "")] if inner else []


def _is_assignment(word: Word) -> bool:
    return "=" in word[1:] and not word.splits


def _with_arguments(inner: list[Word], options: list[tuple[str, Word | None]]) -> list[Word]:
    """The command of xargs with what it reads from its input: in place of the mark, or as one more word."""
    mark = ""
    for option, value in options:
        if option == "I" or option in ("i", "replace"):
            mark = value or "{}"
    if not inner:
        return []
    if mark:
        return [Word(word, known=False) if mark in word else word for word in inner]
    return [*inner, Word("{}", known=False, splits=True)]


def _joined(words: Sequence[Word], letters: str, longs: str, operands: int) -> list[Run]:
    at, _options_seen = _options(words, letters, longs)
    name = words[0].name
    inner = list(words[at + operands :])
    if name == "ssh" and inner:  # options may stand behind the host too
        skip, _options_seen = _options([words[0], *inner], letters, longs)
        inner = inner[skip - 1 :]
    if name == "ssh" and not inner:
        return [(SHELL_STDIN, [], "")]
    if name == "parallel":
        ends = [place for place, word in enumerate(inner) if word.startswith(":::")]
        inner = inner[: ends[0]] if ends else inner
        if not inner:
            return [(SHELL_STDIN, [], "")]
        code = joined(inner)
        text = code.replace("{}", '"$1"') + ("" if "{}" in code else ' "$@"')
        return [(SHELL, [Word(text, known=code.known)], "")]
    return [(SHELL, [joined(inner)], "")] if inner else []


def _by_option(words: Sequence[Word], letters: str, longs: str, letter: str, long: str) -> list[Run]:
    """The value of the option that holds a shell's code, wherever it stands among the operands."""
    rest = list(words)
    while len(rest) > 1:
        at, options = _options(rest, letters, longs)
        for option, value in options:
            if option in (letter, long, "session-command") and value is not None:
                tail = requoted(rest[at:]) if letter == "S" else ""
                return [(SHELL, [Word(f"{value} {tail}" if tail else value, known=value.known)], "")]
        if letter == "S":
            break
        rest = rest[max(at, 1) :]
    return []


def _shell(words: Sequence[Word]) -> list[Run]:
    at, options = _options(words, "oO", "rcfile init-file command init-command", plus=True)
    letters = {option for option, _value in options}
    operands = words[at:]
    for option, value in options:
        if option in ("command", "init-command") and value is not None:
            return [(SHELL, [value], "")]
    if "c" in letters:
        return [(SHELL, [operands[0]], "")] if operands else []
    if "s" in letters or not operands or operands[0] in _STDIN:
        return [(SHELL_STDIN, [], "")]
    return _script(operands[0])


def _script(operand: Word) -> list[Run]:
    if operand.startswith("<("):
        return [(UNKNOWN, [Word("a script that another command prints is not known")], "")]
    return []


def _interpreter(
    words: Sequence[Word], language: str, code: str, code_longs: str, letters: str, longs: str, rest: str
) -> list[Run]:
    name = words[0].name
    if name == "deno":
        return [(CODE, [words[2]], language)] if len(words) > 2 and words[1] == "eval" else []
    if language in ("javascript", "typescript"):  # `-pe`: there, a value never stands in its option's word
        words = [Word("-e") if word in ("-pe", "-ep") else word for word in words]
    last = "cm" if language == "python" else ""  # what follows belongs to the code or the module
    at, options = _options(words, code + letters, f"{code_longs} {longs}", rest, last=last)
    longs_with_code = code_longs.split()
    codes = [
        value
        for option, value in options
        if value is not None and (option in code if len(option) == 1 else option in longs_with_code)
    ]
    if codes:
        return [(CODE, [Word("\n".join(codes), known=all(each.known for each in codes))], language)]
    module = any(option in ("m", "f", "file", "S", "server") for option, _value in options)
    if module or (at < len(words) and words[at] not in _STDIN):
        return _script(words[at]) if at < len(words) else []
    return [(CODE_STDIN, [], language)]


def _eval(words: Sequence[Word]) -> list[Run]:
    inner = words[2:] if len(words) > 1 and words[1] == "--" else words[1:]
    return [(SHELL, [joined(inner)], "")] if inner else []


def _trap(words: Sequence[Word]) -> list[Run]:
    at, options = _options(words, "", "")
    if options or len(words) - at < 2 or words[at] in ("", "-"):
        return []
    return [(SHELL, [words[at]], "")]


def _alias(words: Sequence[Word]) -> list[Run]:
    out: list[Run] = []
    for word in words[1:]:
        name, equals, text = word.partition("=")
        if equals and name:
            out.append((ALIAS, [Word(text, known=word.known)], name))
    return out


def _source(words: Sequence[Word]) -> list[Run]:
    at, _seen = _options(words, "", "")
    if at < len(words) and words[at] in _STDIN:
        return [(SHELL_STDIN, [], "")]
    return _script(words[at]) if at < len(words) else []


def _find(words: Sequence[Word]) -> list[Run]:
    out: list[Run] = []
    start = 0
    for at, word in enumerate(words):
        if not start and word in ("-exec", "-execdir", "-ok", "-okdir"):
            start = at + 1
        elif start and (word == ";" or (word == "+" and words[at - 1] == "{}") or at == len(words) - 1):
            end = at + (word not in (";", "+"))
            inner = [Word(each, known=False) if "{}" in each else each for each in words[start:end]]
            out.extend([(EXEC, inner, "")] if inner else [])
            start = 0
    return out


def _capy_exec(words: Sequence[Word]) -> list[Run]:
    """`capy-exec LANGUAGE -c CODE`, or with the code on standard input."""
    for at, word in enumerate(words[1:], 1):
        language = LANGUAGES.get(word)
        if language is None:
            continue
        rest = words[at:]
        end, options = _options(rest, "c", "code file timeout cwd format")
        kinds = (SHELL, SHELL_STDIN) if language == "shell" else (CODE, CODE_STDIN)
        for option, value in options:
            if option in ("c", "code") and value is not None:
                return [(kinds[0], [value], language)]
        return [(kinds[1], [], language)] if end >= len(rest) or rest[end] == "-" else []
    return []


def _at(_words: Sequence[Word]) -> list[Run]:
    return [(SHELL_STDIN, [], "")]


_SPECIAL = {
    ".": _source,
    "alias": _alias,
    "at": _at,
    "batch": _at,
    "capy-exec": _capy_exec,
    "eval": _eval,
    "find": _find,
    "source": _source,
    "trap": _trap,
}
