"""`capy-exec ps` and `capy-exec kill`: jobs in the background."""

from __future__ import annotations

from typing import Any

import click

from capy_core.cli import App, common_options


@click.command()
@click.option("--all", "ended", is_flag=True, help="Also those that ended during the last day.")
@common_options
@click.pass_obj
def ps(app: App, ended: bool) -> None:
    """List the background jobs that are alive.

    \b
    Example:
        capy-exec ps --format text
    """
    from ..background import list_jobs

    for job in list_jobs(ended=ended):
        app.emit(job, _line)


@click.command()
@click.argument("pid", type=int)
@common_options
@click.pass_obj
def kill(app: App, pid: int) -> None:
    """End the background job PID with all its processes.

    \b
    Example:
        capy-exec kill 4711
    """
    from ..background import end_job

    app.emit(end_job(pid), _line)


def _line(job: dict[str, Any]) -> str:
    state = job["status"] if job["status"] == "running" else f"{job.get('outcome', job['status'])}"
    return (
        f"{job['pid']:>8}  {state:<10} {job['age_s']:>8.0f} s {job['bytes']:>12,} bytes  {job['label']}  {job['log']}"
    )
