"""Refuse what the rules deny, before it runs: one check for the command line, batches and the server.

It looks for rules first and loads what judges by them only where there are some.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from capy_core.permissions import load

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from capy_core.permissions import Rules

    from ..request import Request

_PLAINLY = "write the commands out, so that they can be read, or run them one by one"


def gate(project: Path) -> Callable[[Request], None] | None:
    """A check of requests against the rules of a project; None when it has none.

    The check raises:
        Refused: a deny rule speaks of its code, or of the file that it is given; `rule`, `source` (the rule's file)
            and `command` are in the details. What the rules ask about is not refused: asking is the host's part.
    """
    rules = load(str(project))
    return partial(require, rules=rules) if rules else None


def require_readable(project: Path, file: str) -> None:
    """Raise Refused when the rules of a project deny reading a file."""
    if rules := load(str(project)):
        from capy_core.pathrules import require_path

        require_path(os.path.abspath(file), rules, cwd=str(project))


def require(request: Request, rules: Rules) -> None:
    """Raise Refused for a request that the rules deny; see `gate`."""
    from capy_core.errors import Refused
    from capy_core.pathrules import require_path

    from .decide import decide

    cwd = os.path.abspath(request.cwd or ".")
    if request.file is not None:
        require_path(os.path.abspath(request.file), rules, cwd=cwd)
    verdict = decide(request.code, request.language, rules, cwd=cwd)
    if verdict.decision == "deny":
        rule = verdict.rule
        raise Refused(
            f"not run: {verdict.reason}",
            f"do it in another way, or ask the user to change {rule.source}" if rule else _PLAINLY,
            command=verdict.command, rule=rule.text if rule else "", source=rule.source if rule else "",
        )  # fmt: skip
