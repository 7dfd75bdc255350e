"""`capy-exec runtimes`: what this machine can run."""

from __future__ import annotations

from typing import Any

import click

from capy_core.cli import App, common_options


@click.command()
@common_options
@click.pass_obj
def runtimes(app: App) -> None:
    """List the languages and the runtime that each one has here.

    \b
    Example:
        capy-exec runtimes --format text
    """
    from concurrent.futures import ThreadPoolExecutor

    from ..plan import search_path
    from ..runtimes import LANGUAGES, describe

    path = search_path()
    with ThreadPoolExecutor(len(LANGUAGES)) as pool:  # each asks a program for its version
        for record in pool.map(lambda language: describe(language, path), LANGUAGES.values()):
            app.emit(record, _line)


def _line(record: dict[str, Any]) -> str:
    if not record["available"]:
        return f"{record['language']:<12} {'-':<10} {record['hint']}"
    return f"{record['language']:<12} {record['runtime']:<10} {record['version'] or '?':<12} {record['path']}"
