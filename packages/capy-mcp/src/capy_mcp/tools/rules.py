"""What the user's rules say of a call: what they deny does not run, what they ask about only if a host asked.

The server cannot ask anybody itself. Where capy-hook is installed, the host has put the question before the call came.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from capy_core.errors import CapyError, Refused

from ..context import Context

if TYPE_CHECKING:
    from capy_core.permissions import Rule, Rules
    from capy_exec.request import Request

_ALLOW = "the user can run it himself, write an allow rule for it, or let `capy setup` install the hook that asks"


def check(context: Context, request: Request) -> None:
    """Let a request pass, or raise Refused with the rule that speaks against it."""
    rules = context.rules()
    if not rules:
        return
    from capy_exec.policy.decide import decide
    from capy_exec.policy.enforce import require

    require(request, rules)
    if request.file is not None:
        _ask_about_file(context, rules, request.file)
    verdict = decide(request.code, request.language, rules, cwd=os.path.abspath(request.cwd or "."))
    if verdict.decision == "ask" and not host_asks(context.project):
        raise Refused(f"not run, because the user wants to be asked: {verdict.reason}{_source(verdict.rule)}", _ALLOW)


def check_file(context: Context, file: Path) -> None:
    """The same for a file that is to be read."""
    from capy_core.pathrules import require_path

    if rules := context.rules():
        require_path(str(file), rules, cwd=str(context.project))
        _ask_about_file(context, rules, file)


def host_asks(project: Path) -> bool:
    """True when capy's hook stands in the settings of a host, exactly as setup writes it: a folder that was cloned
    cannot pretend.
    """
    from capy_hook.install.hosts import HOSTS
    from capy_hook.install.plan import parts
    from capy_hook.install.state import state

    for host, about in HOSTS.items():
        for scope in about.files:
            try:
                hooks = parts(host, scope, project).get("hooks")
                if hooks and state(hooks).status == "installed":
                    return True
            except CapyError:  # settings that nobody can read hold no hook that runs
                continue
    return False


def _ask_about_file(context: Context, rules: Rules, file: Path) -> None:
    from capy_core.pathrules import judge

    verdict = judge(os.path.abspath(file), rules, cwd=str(context.project), access="read")
    if verdict.decision == "ask" and not host_asks(context.project):
        raise Refused(f"not read, because the user wants to be asked: {verdict.reason}{_source(verdict.rule)}", _ALLOW)


def _source(rule: Rule | None) -> str:
    return f" ({rule.text} in {rule.source})" if rule else ""
