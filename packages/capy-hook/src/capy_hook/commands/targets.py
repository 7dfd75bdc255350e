"""Which host's files a command works on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from capy_core.errors import UsageError

from ..install import hosts, plan, precommit

GIT = "git"
PLATFORMS = (*hosts.HOSTS, GIT)


def target_options(required: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`--platform` and `--scope`."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        function = click.option(
            "--scope",
            type=click.Choice(hosts.SCOPES),
            help="project: the team's file, committed (default). local: yours in this project, Claude Code only. "
            "user: yours in all projects.",
        )(function)
        return click.option(
            "--platform",
            type=click.Choice(PLATFORMS),
            required=required,
            help="The tool; git: the guard that refuses to commit an unencrypted knowledge base.",
        )(function)

    return add


def hooks_of(platform: str, scope: str, project: Path) -> plan.Part:
    """The part that `capy-hook install` puts in.

    Raises:
        UsageError: the platform knows no such scope.
    """
    if platform != GIT:
        return plan.parts(platform, scope, project)["hooks"]
    if scope != "project":
        raise UsageError("git's hooks belong to a repository", "leave --scope out")
    return precommit.part(project)


def scopes_of(platform: str) -> tuple[str, ...]:
    """The scopes that a platform knows."""
    return ("project",) if platform == GIT else tuple(hosts.HOSTS[platform].files)
