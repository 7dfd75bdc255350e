"""What all commands share: one `run` that prints errors and exits, one output writer, commands loaded by name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from . import records
from .errors import CapyError, UsageError
from .records import Record

FORMATS = ("auto", "text", "json")


@dataclass
class App:
    """The global options of a command line, handed to every subcommand as `ctx.obj`."""

    format: str = "auto"
    project_dir: Path | None = None
    database: Path | None = None
    debug: bool = False

    @property
    def as_json(self) -> bool:
        """True when stdout gets records: asked for, or stdout is not a terminal."""
        return self.format == "json" or (self.format == "auto" and not sys.stdout.isatty())

    def emit(self, record: Record, text: Callable[[Record], str] | None = None) -> None:
        """Write one record to stdout and flush: JSON in a pipe, `text(record)` for people."""
        if self.as_json or text is None:
            write_stdout(records.dumps(record))
        else:
            write_stdout(text(record).encode("utf-8", "replace") + b"\n")

    def warn(self, code: str, message: str, hint: str = "", **details: Any) -> None:
        """Write one warning to stderr, as text for people or as a `capy.warning/1` record."""
        record = {"schema": "capy.warning/1", "code": code, "message": message, "hint": hint, **details}
        report(record, as_json=errors_as_json(self.format))


def write_stdout(data: bytes) -> None:
    """Write bytes to stdout, flushed, past the text layer (which may not be UTF-8)."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def errors_as_json(format_: str) -> bool:
    """True when stderr gets JSON: asked for, or stderr is not a terminal."""
    return format_ == "json" or (format_ == "auto" and not sys.stderr.isatty())


def report(record: Record, *, as_json: bool) -> None:
    """Write one `capy.error/1` or `capy.warning/1` record to stderr."""
    if as_json:
        data = records.dumps(record)
    else:
        word = "warning" if record["schema"] == "capy.warning/1" else "error"
        colour = "yellow" if word == "warning" else "red"
        prefix = click.style(f"{word}:", fg=colour, bold=True) if sys.stderr.isatty() else f"{word}:"
        hint = f"; {record['hint']}" if record.get("hint") else ""
        data = f"{prefix} {record['message']}{hint}\n".encode("utf-8", "replace")
    try:
        sys.stderr.buffer.write(data)
        sys.stderr.buffer.flush()
    except OSError:  # nobody reads stderr: the exit code still tells
        pass


class CommandGroup(click.Group):
    """A group whose commands are loaded by name, so that one command never pays for another's imports.

    Args:
        commands_by_name: command name -> "module:attribute".
    """

    def __init__(self, *args: Any, commands_by_name: dict[str, str] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._by_name = commands_by_name or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._by_name)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        target = self._by_name.get(name)
        if target is None:
            return None
        from importlib import import_module

        module, attribute = target.split(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name in self._by_name or name.startswith("-"):
            return super().resolve_command(ctx, args)
        raise click.UsageError(f"no command {name!r}" + nearest(name, self._by_name), ctx)


def nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the known word closest to `word`, or ""."""
    from difflib import get_close_matches

    close = get_close_matches(word, list(known), 1, 0.5)
    return f"; did you mean {close[0]!r}?" if close else ""


def common_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--format` and `--debug`, accepted after the subcommand too; they set the App in `ctx.obj`."""

    def set_format(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
        if value is not None:
            ctx.ensure_object(App).format = value

    def set_debug(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
        if value:
            ctx.ensure_object(App).debug = True

    function = click.option(
        "--format", type=click.Choice(FORMATS), callback=set_format, expose_value=False, is_eager=True,
        help="auto (default) is text on a terminal and json in a pipe.",
    )(function)  # fmt: skip
    return click.option(
        "--debug",
        is_flag=True,
        callback=set_debug,
        expose_value=False,
        is_eager=True,
        help="Show a traceback on a bug.",
    )(function)


def run(group: click.Command, prog: str) -> int:
    """Run a command line and give its exit status; the only place where errors are printed.

    Status: design of exit codes in docs/formats/exit-codes.md (0 done, 1 "no", 2 usage, 3 not found, 4 bad input,
    5 busy, 6 database or key, 7 refused, 70 bug, 130 Ctrl-C, 141 broken pipe).
    """
    app = App()
    try:
        result = group.main(args=sys.argv[1:], prog_name=prog, obj=app, standalone_mode=False)
        status = result if isinstance(result, int) else 0
        sys.stdout.flush()
        return status
    except click.exceptions.Exit as ex:
        return ex.exit_code
    except (click.Abort, KeyboardInterrupt):
        return 130
    except BrokenPipeError:
        _discard_stdout()
        return 141
    except click.ClickException as ex:
        error: CapyError = UsageError(ex.format_message().rstrip(".").replace("\n", " "), f"see {_help_of(ex, prog)}")
    except CapyError as ex:
        error = ex
    except Exception as ex:
        error = _bug(ex, prog, app.debug)
    report(error.record(), as_json=errors_as_json(app.format))
    return error.exit_code


class Bug(CapyError):
    """An error that we did not foresee."""

    code, exit_code = "bug", 70


def _bug(ex: Exception, prog: str, debug: bool) -> Bug:
    if debug:
        import traceback

        traceback.print_exc()
    what = f"{type(ex).__name__}: {ex}".rstrip(": ")
    hint = "" if debug else f"this is a bug in {prog}; run it again with --debug and report the traceback"
    return Bug(f"unexpected {what}", hint)


def _help_of(ex: click.ClickException, prog: str) -> str:
    ctx = getattr(ex, "ctx", None)
    return f"{ctx.command_path if ctx else prog} --help"


def _discard_stdout() -> None:
    """Let the interpreter's last flush of a closed pipe go nowhere instead of failing."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
