"""capy-hook status: where the hooks are installed, and whether they can run."""

from __future__ import annotations

import click

from capy_core.cli import App, common_options
from capy_core.errors import NotFound
from capy_core.paths import project_root
from capy_core.records import Record

from ..install.state import state
from .targets import GIT, PLATFORMS, hooks_of, scopes_of, target_options


@click.command()
@target_options(required=False)
@common_options
@click.pass_context
def status(ctx: click.Context, platform: str | None, scope: str | None) -> None:
    """Say where capy's hooks are installed; exit 1 when they are nowhere, or somewhere out of date or broken.

    Without --platform all tools are looked at, and only places with hooks are listed.

    \b
    Example:
        capy-hook status
        capy-hook status --platform claude --scope project
    """
    app: App = ctx.obj
    project = project_root(app.project_dir)
    seen = []
    for name in (platform,) if platform else PLATFORMS:
        for place in (scope,) if scope else scopes_of(name):
            if not platform and place not in scopes_of(name):
                continue
            try:
                part = hooks_of(name, place, project)
            except NotFound:
                if platform:
                    raise
                continue  # git's guard, outside of a repository
            found = state(part)
            seen.append(found.status)
            if platform or found.status != "absent":
                record = {"schema": "capy.hook.status/1", "platform": name, "scope": place, "path": str(part.path)}
                app.emit({**record, "status": found.status, "detail": found.detail}, _told)
    if "installed" not in seen or set(seen) - {"installed", "absent"}:
        ctx.exit(1)


def _told(record: Record) -> str:
    where = record["platform"] if record["platform"] == GIT else f"{record['platform']} ({record['scope']})"
    line = f"{where}: {record['status']}, {record['path']}"
    return f"{line}\n    {record['detail']}" if record["detail"] else line
