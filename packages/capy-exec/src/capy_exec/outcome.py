"""What an ended run means: a word, and one sentence for people.

Some programs answer "no" with exit code 1 and say nothing else. Where such a program decided the exit code, that is an
answer and no failure: outcome "soft".
"""

from __future__ import annotations

import os
import re
import shlex
import signal
from typing import NamedTuple

OK, SOFT, ERROR, TIMEOUT, KILLED = "ok", "soft", "error", "timeout", "killed"
BACKGROUND, NOT_STARTED = "background", "not_started"

SUCCESSES = frozenset((OK, SOFT, BACKGROUND))

# program, or program and one of its first two words -> what its exit code 1 says when stderr is empty
_SOFT: dict[str, str] = {
    "grep": "no match", "egrep": "no match", "fgrep": "no match", "zgrep": "no match", "rg": "no match",
    "ag": "no match", "ack": "no match", "git grep": "no match",
    "diff": "the inputs differ", "cmp": "the inputs differ", "git diff": "there are differences",
    "test": "the condition is false", "[": "the condition is false", "[[": "the condition is false",
    "expr": "the result is 0 or empty", "jq -e": "the result is false or null",
    "pgrep": "no such process", "pidof": "no such process", "which": "not found", "command -v": "not found",
    "git merge-base": "it is no ancestor", "git check-ignore": "no path is ignored",
}  # fmt: skip

_KEYWORDS = frozenset(("if", "then", "else", "elif", "do", "while", "until", "{", "!", "time"))
_CLOSERS = frozenset(("fi", "done", "esac", "}", ";;"))
_WRAPPERS = frozenset(("sudo", "env", "nice", "nohup", "exec", "builtin", "stdbuf", "timeout"))
_NEVER_FAIL = frozenset(("echo", "printf", "true", ":"))
# Patterns as text: only failed shell code needs them
_SEPARATORS = r"[;&|()\n]+"
_ASSIGNMENT = r"\w+\+?="
_WRAPPER_ARGUMENT = r"-|\d|\w+="  # options, times, assignments
_SUBSTITUTION = r"[<>]\([^()]*\)|(?<!=)\$\([^()]*\)"  # but `x=$(grep ...)` exits as grep does
_HEREDOC = r"(?s)<<-?[ \t]*(['\"]?)(\w+)\1([^\n]*)\n(?:.*?\n)??\t*\2(?=\n|\Z)"


class Judged(NamedTuple):
    """An outcome and its reason ("" when there is nothing to say)."""

    outcome: str
    reason: str


def judge(language: str, code: str, status: int, *, stderr_is_empty: bool) -> Judged:
    """The outcome of code that ended by itself, from its wait status.

    Args:
        language: the canonical name.
        code: for shell, the script: its last command tells what exit code 1 means.
        status: as `os.waitpid` gives it.
        stderr_is_empty: a program that only says "no" does not complain.
    """
    if os.WIFSIGNALED(status):
        return Judged(ERROR, f"ended by {signal_name(os.WTERMSIG(status))}")
    exit_code = os.WEXITSTATUS(status)
    if exit_code == 0:
        return Judged(OK, "")
    if exit_code == 1 and language == "shell" and stderr_is_empty and (meaning := _says_no(code)):
        return Judged(SOFT, f"exit code 1: {meaning}")
    return Judged(ERROR, f"exit code {exit_code}{_explained(exit_code) if language == 'shell' else ''}")


def signal_name(number: int) -> str:
    """ "SIGSEGV" for 11."""
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"


def _explained(exit_code: int) -> str:
    """What a shell's own exit codes mean (POSIX, Shell Command Language, 2.8.2)."""
    if exit_code == 126:
        return " (a command could not be executed)"
    if exit_code == 127:
        return " (a command was not found)"
    if 128 < exit_code <= 128 + signal.NSIG:
        return f" (a command was ended by {signal_name(exit_code - 128)})"
    return ""


def _says_no(code: str) -> str | None:
    """What exit code 1 of this shell code says, if its last simple command is one of those that say "no" by it.

    A light reading: words, quotes and separators, not the grammar. `a && echo yes` counts as `a`.
    """
    commands = _simple_commands(code)
    while commands and (commands[-1][0] in _CLOSERS or (len(commands) > 1 and commands[-1][0] in _NEVER_FAIL)):
        commands.pop()
    if not commands:
        return None
    program, *arguments = commands[-1]
    program = os.path.basename(program)
    keys = [program, *(f"{program} {word}" for word in arguments[:2])]
    return next((_SOFT[key] for key in keys if key in _SOFT), None)


def _simple_commands(code: str) -> list[list[str]]:
    """The simple commands in the order they are written, each as its words without assignments and redirections."""
    code = re.sub(_SUBSTITUTION, "_", re.sub(_HEREDOC, r"\3", code))
    lexer = shlex.shlex(code, posix=True, punctuation_chars=";&|()<>\n")
    lexer.whitespace = " \t\r"
    lexer.commenters = ""
    try:
        tokens = list(lexer)
    except ValueError:  # an open quote
        return []
    commands: list[list[str]] = [[]]
    in_comment = False
    for token in tokens:
        in_comment = (in_comment or token.startswith("#")) and "\n" not in token
        if re.fullmatch(_SEPARATORS, token):
            commands.append([])
        elif not in_comment:
            commands[-1].append(token)
    return [words for command in commands if (words := _bare(command))]


def _bare(command: list[str]) -> list[str]:
    """A command without redirections, keywords, assignments and wrappers in front."""
    words: list[str] = []
    skip = False
    for word in command:
        if skip or (word and set(word) <= set("<>&")):
            skip = not skip
            continue
        words.append(word)
    while words and len(words) > 1 and (words[0] in _KEYWORDS or re.match(_ASSIGNMENT, words[0])):
        words.pop(0)
    while len(words) > 1 and os.path.basename(words[0]) in _WRAPPERS:
        words.pop(0)
        while len(words) > 1 and re.match(_WRAPPER_ARGUMENT, words[0]):
            words.pop(0)
    return words
