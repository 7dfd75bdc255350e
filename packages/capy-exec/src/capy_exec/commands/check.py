"""`capy-exec check`: what the rules say of code, without running it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from capy_core.cli import App, common_options
from capy_core.paths import project_root

EXIT = {"allow": 0, "ask": 1, "deny": 7}
_COLOURS = {"allow": "green", "ask": "yellow", "deny": "red"}


@click.command()
@click.argument("words", metavar="[FILE|-]", nargs=-1)
@click.option("-c", "code", metavar="CODE", help="The code itself.")
@click.option("--language", default="shell", metavar="L", help="The code's language (default: shell).")
@click.option("--cwd", type=click.Path(path_type=Path), metavar="DIR", help="Judge it as if it ran in this folder.")
@common_options
@click.pass_context
def check(ctx: click.Context, words: tuple[str, ...], code: str | None, language: str, cwd: Path | None) -> None:
    """Say whether the permission rules allow code, ask about it or deny it; run nothing.

    The code is that of -c, else the content of FILE, else stdin. The rules are those of Claude Code's settings, of
    Codex and of capy's own [policy]. Exit 0: allowed, or no rule speaks of it. 1: ask. 7: denied.

    \b
    Example:
        echo 'git push --force' | capy-exec check
        capy-exec check --language python deploy.py
    """
    from capy_core.permissions import load

    from ..policy.decide import decide
    from ..runtimes import language_named
    from .run import read_code

    app: App = ctx.obj
    name = language_named(language).name
    source = code if code is not None else read_code(words[:1])
    root = project_root(app.project_dir)
    rules = load(str(root))
    for note in rules.notes:
        app.warn("unreadable_rules", note, "correct it; until then, what is not denied is asked about")
    verdict = decide(source, name, rules, cwd=os.path.abspath(cwd or root))
    from capy_core.secrets import redact_values

    record = {
        "schema": "capy.exec.verdict/1",
        "decision": verdict.decision,
        "reason": verdict.reason,
        "rule": verdict.rule.text if verdict.rule else None,
        "source": verdict.rule.source if verdict.rule else None,
        "command": verdict.command or None,
        "language": name,
    }
    app.emit(redact_values(record), _text)
    ctx.exit(EXIT[verdict.decision])


def _text(record: dict[str, Any]) -> str:
    from .settings import coloured

    decision = record["decision"]
    head = click.style(decision, fg=_COLOURS[decision], bold=True) if coloured(sys.stdout) else decision
    facts = [(name, record[name]) for name in ("command", "rule", "source") if record[name]]
    return "\n".join([f"{head}: {record['reason']}", *(f"  {name:8} {value}" for name, value in facts)])
