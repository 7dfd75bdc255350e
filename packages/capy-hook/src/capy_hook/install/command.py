"""The command line that a host's settings hold: it finds capy-hook, and lets the tool call go on when there is none."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

EVENTS = ("pretooluse", "posttooluse", "sessionstart", "sessionend", "precompact", "userpromptsubmit")
ANYWHERE = "~/.local/bin/capy-hook"  # where uv and pipx put commands; true for everybody who shares the file
_OURS = re.compile(rf"\bcapy-hook['\"]? (?:{'|'.join(EVENTS)})\b")


def command(event: str, host: str, fallback: str) -> str:
    """The command for one event, for sh, bash, zsh and fish (Codex runs hooks in the user's login shell).

    `||` goes on to the next when there is no such program, its interpreter is gone, or it is too old to know the host.
    Then the status is 0, and the host goes on: some hosts take another status for a refusal. Kiro hears a refusal by
    status 2, so there only a program that can be found is run.

    Args:
        event: one of `EVENTS`.
        fallback: where to look when capy-hook is not on the PATH, quoted for a shell; see `fallback_for`.
    """
    # Other hosts run Claude Code's hooks too: there the payload tells who asks
    words = event if host == "claude" else f"{event} --platform {host}"
    if host == "kiro":
        found = "command -v capy-hook >/dev/null 2>&1 && exec capy-hook"
        return f"{found} {words}; test -x {fallback} && exec {fallback} {words}; exit 0"
    nothing = "echo '{}'" if host == "cursor" else "true"
    return f"capy-hook {words} || {fallback} {words} || {nothing}"


def windows_command(event: str, host: str) -> str:
    """The command for cmd and PowerShell. Where it is missing the status is 1, which lets the call go on."""
    return f"capy-hook {event} --platform {host}"


def is_ours(line: object) -> bool:
    """True for a command line of this module's, of any version."""
    return isinstance(line, str) and _OURS.search(line) is not None


def runs(line: str) -> bool:
    """True when one of the programs that a command line tries can be run."""
    return any(shutil.which(program) for program in programs(line))


def programs(line: str) -> list[str]:
    """The programs that a command line of ours tries, in this order."""
    try:
        words = shlex.split(line)
    except ValueError:  # somebody edited it
        return []
    return [os.path.expanduser(program) for program, event in pairwise(words) if event in EVENTS]


def fallback_for(scope: str) -> str:
    """Where capy-hook lies, as a word of a shell: where it runs from now, or `ANYWHERE` in a file that others share.

    A temporary place (a throw-away environment) is not written down: it would be dead tomorrow.
    """
    here = _installed_at("capy-hook") if scope != "project" else None
    return quoted(str(here)) if here else ANYWHERE


def program_for(name: str, scope: str) -> str:
    """How an entry without a second choice names a program: so that the PATH finds it, or else by its place.

    In a file that others share it is the name alone.
    """
    if scope == "project" or shutil.which(name, path=outer_path()):
        return name
    return str(_installed_at(name) or name)


def outer_path() -> str:
    """The PATH without the folder of the environment that we run in, which its launcher may have put there."""
    here = os.path.dirname(sys.executable)
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if os.path.abspath(folder or ".") != here)


def quoted(path: str) -> str:
    """A path as one word of a shell."""
    return shlex.quote(path)


def _installed_at(name: str) -> Path | None:
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which(name)
    if found is None:
        return None
    path = Path(os.path.abspath(found))
    cache = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
    temporary = (Path(tempfile.gettempdir()), cache)
    usual = os.path.join(os.path.dirname(os.path.expanduser(ANYWHERE)), name)
    if any(path.is_relative_to(place) for place in temporary) or os.path.realpath(usual) == os.path.realpath(path):
        return None
    return path
