"""capy doctor: does capy work here?"""

from __future__ import annotations

from dataclasses import asdict

import click

from capy_core.cli import App, common_options, write_stdout
from capy_core.paths import project_root


@click.command()
@common_options
@click.pass_context
def doctor(ctx: click.Context) -> None:
    """Check that capy works here, down to starting what is registered with your AI tools; exit 1 when it does not.

    Marks: [x] well, [-] well, with advice, [ ] not well.

    \b
    Example:
        capy doctor
        capy doctor --format json
    """
    from capy_core.display import harmless

    from ..doctor import checks, shown

    app: App = ctx.obj
    found = checks(project_root(app.project_dir), thorough=True)
    if app.as_json:
        for check in found:
            app.emit({"schema": "capy.check/1", **asdict(check)})
    else:
        write_stdout(harmless(shown(found)).encode("utf-8", "replace") + b"\n")
    if not all(check.ok for check in found):
        ctx.exit(1)
