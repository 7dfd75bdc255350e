"""capy-hook install, uninstall: put the hooks into a host's settings, take them out again."""

from __future__ import annotations

from pathlib import Path

import click

from capy_core.cli import App, common_options
from capy_core.paths import project_root
from capy_core.records import Record

from ..install import apply, hosts
from ..install.state import state
from .targets import hooks_of, scopes_of, target_options

_dry_run = click.option("--dry-run", is_flag=True, help="Show what would change as a diff, and write nothing.")


@click.command()
@target_options(required=True)
@_dry_run
@common_options
@click.pass_obj
def install(app: App, platform: str, scope: str | None, dry_run: bool) -> None:
    """Put capy's hooks into a tool's settings; what stands there stays, to the byte.

    Installing again changes nothing, or brings hooks of an older version up to date. The file is copied to
    NAME.capy-backup first. Hooks that are installed in another scope already are not installed twice.

    \b
    Example:
        capy-hook install --platform claude --scope local
        capy-hook install --platform codex --dry-run
    """
    project, chosen = project_root(app.project_dir), scope or "project"
    part = hooks_of(platform, chosen, project)
    elsewhere = _other_scopes(platform, chosen, project)
    if elsewhere and state(part).status == "absent":
        hint = f"to move it, run first: capy-hook uninstall --platform {platform} --scope {elsewhere[0]}"
        app.warn("installed_elsewhere", f"the hooks of {platform} are installed with scope {elsewhere[0]}", hint)
        change = apply.Change(part, None, None, True)
    else:
        change = apply.putting(part)
    _warn_of_claude(app, platform, project)
    _carry_out(app, platform, chosen, change, dry_run)


@click.command()
@target_options(required=True)
@_dry_run
@common_options
@click.pass_obj
def uninstall(app: App, platform: str, scope: str | None, dry_run: bool) -> None:
    """Take exactly capy's hooks out of a tool's settings; without any there, nothing happens.

    A file that held nothing else goes, and so do the folders that are empty then.

    \b
    Example:
        capy-hook uninstall --platform claude --scope local
    """
    project, chosen = project_root(app.project_dir), scope or "project"
    change = apply.taking(hooks_of(platform, chosen, project))
    for other in _other_scopes(platform, chosen, project):
        hint = f"run: capy-hook uninstall --platform {platform} --scope {other}"
        app.warn("installed_elsewhere", f"the hooks of {platform} are installed with scope {other} too", hint)
    _carry_out(app, platform, chosen, change, dry_run)


def _carry_out(app: App, platform: str, scope: str, change: apply.Change, dry_run: bool) -> None:
    if not dry_run:
        apply.carry_out(change)
    record = {
        "schema": "capy.hook.change/1",
        "platform": platform,
        "scope": scope,
        "part": change.part.name,
        "path": str(change.part.path),
        "action": change.action,
        "dry_run": dry_run,
        "diff": apply.diff(change) if dry_run else "",
    }
    app.emit(record, _told)


def _told(record: Record) -> str:
    would = "would be " if record["dry_run"] and record["action"] != "unchanged" else ""
    line = f"{record['path']} {would}{record['action']}"
    return f"{record['diff']}{line}" if record["diff"] else line


def _other_scopes(platform: str, scope: str, project: Path) -> list[str]:
    others = [other for other in scopes_of(platform) if other != scope]
    return [
        other for other in others if state(hooks_of(platform, other, project)).status not in ("absent", "unreadable")
    ]


def _warn_of_claude(app: App, platform: str, project: Path) -> None:
    """Some hosts run Claude Code's hooks too: each event would be answered twice."""
    if platform in hosts.READ_CLAUDE and _other_scopes("claude", "", project):
        title = hosts.HOSTS[platform].title
        app.warn(
            "hooks_run_twice",
            f"{title} can run the hooks of Claude Code too, and those are installed",
            f"switch that off in {title}, or uninstall one of the two",
        )
