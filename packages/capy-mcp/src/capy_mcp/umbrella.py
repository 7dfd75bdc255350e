"""`capy`: one name for all tools. What belongs to another tool is handed over before anything is imported.

The tools that this package needs anyway run in this process: starting a second interpreter would cost more than the
tool. Those that are installed on their own, perhaps elsewhere, take this process's place (exec).
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import click

# word -> module with `main`, and the command line that it stands for
HERE = {
    "serve": ("capy_mcp.front", ("capy-mcp",)),
    "hook": ("capy_hook.main", ("capy-hook",)),
    "store": ("capy_store.cli", ("capy-store",)),
    "exec": ("capy_exec.cli", ("capy-exec",)),
    "statusline": ("capy_mcp.statusline", ("capy statusline",)),
    **{
        word: ("capy_store.cli", ("capy-store", word))
        for word in ("which", "cleanup", "checkpoint", "encrypt", "dbsize")
    },
}
ELSEWHERE = {"bench": "capy-bench", "sweep": "capy-sweep", "vault": "capy-vault"}


def main() -> None:
    """Entry point of `capy`."""
    words = sys.argv[1:]
    if words and words[1:] not in (["--help"], ["-h"]):
        hand_over(words[0], words[1:])
    from capy_core.cli import run

    from .commands.group import group

    sys.exit(run(group, "capy"))


def hand_over(word: str, arguments: Sequence[str]) -> None:
    """Become the tool that a word stands for. Returns for a word of our own, and for a tool that is not installed."""
    if word in HERE:
        module, command = HERE[word]
        sys.argv = [*command, *arguments]
        __import__(module)
        sys.modules[module].main()
        sys.exit(0)
    if word in ELSEWHERE and (program := found(ELSEWHERE[word])):
        os.execv(program, [program, *arguments])


def found(program: str) -> str:
    """The path of a program beside this interpreter, else on the PATH; "" when there is none."""
    folders = [os.path.dirname(sys.executable), *os.environ.get("PATH", "").split(os.pathsep)]
    for folder in folders:
        path = os.path.join(folder, program)
        if folder and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return ""


def __getattr__(name: str) -> click.Group:
    """`group`, for whoever wants the command line without running it: the documentation, completion."""
    if name != "group":
        raise AttributeError(name)
    from .commands.group import group

    return group
