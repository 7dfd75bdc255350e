"""What all commands share: one `run` that prints errors and exits, one output writer, commands loaded by name."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import click

from . import records
from .errors import BadInput, CapyError, NotFound, SystemFailure, UsageError
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
            from .display import harmless_values

            write_stdout(text(harmless_values(record)).encode("utf-8", "replace") + b"\n")

    def warn(self, code: str, message: str, hint: str = "", **details: Any) -> None:
        """Write one warning to stderr, as text for people or as a `capy.warning/1` record."""
        record = {"schema": "capy.warning/1", "code": code, "message": message, "hint": hint, **details}
        report(record, as_json=errors_as_json(self.format))


def write_stdout(data: bytes) -> None:
    """Write bytes to stdout, flushed.

    Raises:
        BrokenPipeError: nobody reads on.
        SystemFailure: they cannot be written, e.g. because the disk is full.
    """
    try:
        sys.stdout.flush()
        rest = memoryview(data)
        while rest:  # with PYTHONUNBUFFERED a write may be short, e.g. when the reader leaves
            rest = rest[sys.stdout.buffer.write(rest) :]
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as ex:
        _discard(sys.stdout)
        hint = "the output is incomplete; free some space or write elsewhere"
        raise SystemFailure(f"cannot write to stdout: {ex.strerror}", hint) from ex


def errors_as_json(format_: str) -> bool:
    """True when stderr gets JSON: asked for, or stderr is not a terminal."""
    return format_ == "json" or (format_ == "auto" and not sys.stderr.isatty())


def report(record: Record, *, as_json: bool) -> None:
    """Write one `capy.error/1` or `capy.warning/1` record to stderr, redacted: errors repeat what was typed."""
    from .secrets import redact_values

    record = redact_values(record)
    if as_json:
        data = records.dumps(record)
    else:
        word = "warning" if record["schema"] == "capy.warning/1" else "error"
        colour = "yellow" if word == "warning" else "red"
        coloured = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
        prefix = click.style(f"{word}:", fg=colour, bold=True) if coloured else f"{word}:"
        hint = f"; {record['hint']}" if record.get("hint") else ""
        from .display import harmless

        data = f"{prefix} {harmless(record['message'] + hint)}\n".encode("utf-8", "replace")
    try:
        sys.stderr.buffer.write(data)
        sys.stderr.buffer.flush()
    except OSError:  # nobody reads stderr: the exit code still tells
        _discard(sys.stderr)


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

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Each command with its whole first sentence: click would cut it at the end of the line."""
        commands = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        if rows := [(name, command.get_short_help_str(200)) for name, command in commands if command]:
            with formatter.section("Commands"):
                formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name in self._by_name or name.startswith("-") or ctx.resilient_parsing:  # the last: completing a word
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
    _prepare_streams()
    try:
        status = _invoke(group, prog, app)
        write_stdout(b"")
        return status
    except (click.Abort, KeyboardInterrupt):
        return 130
    except BrokenPipeError:
        _discard(sys.stdout)
        return 141
    except Exception as ex:
        error = _ours(ex, prog, app.debug)
        if isinstance(error, KeyboardInterrupt):
            return 130
        try:
            sys.stdout.flush()  # what was printed before comes first
        except OSError:
            _discard(sys.stdout)
        as_json = errors_as_json(_asked_format(app))
        if isinstance(ex, click.exceptions.NoArgsIsHelpError) and not as_json:
            click.echo(ex.format_message(), err=True)
        else:
            report(error.record(), as_json=as_json)
        return error.exit_code


class Bug(CapyError):
    """An error that we did not foresee."""

    code, exit_code = "bug", 70


def _invoke(group: click.Command, prog: str, app: App) -> int:
    # Not group.main(): it turns a broken pipe into exit 1, and completion is all else that it would do for us
    if os.environ.get(f"_{prog}_COMPLETE".replace("-", "_").upper()):
        group.main(prog_name=prog)
    try:
        with group.make_context(prog, sys.argv[1:], obj=app) as ctx:
            group.invoke(ctx)
    except click.exceptions.Exit as ex:
        return ex.exit_code
    return 0


def _prepare_streams() -> None:
    """UTF-8 whatever the locale says, and no stream missing: a closed one would lend its number to the next file."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - for the process's life
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")


def _asked_format(app: App) -> str:
    """`--format`, also where parsing failed before it came to it."""
    if app.format == "auto":
        for word, following in pairwise([*sys.argv[1:], ""]):
            value = following if word == "--format" else word.removeprefix("--format=")
            if value in FORMATS and value != word:
                return value
    return app.format


def _usage(ex: click.ClickException, prog: str) -> CapyError:
    ctx = getattr(ex, "ctx", None)
    hint = f"see {ctx.command_path if ctx else prog} --help"
    if isinstance(ex, click.exceptions.NoArgsIsHelpError):
        return UsageError("no command or argument given", hint)
    message = " ".join(ex.format_message().split()).rstrip(".")
    param = getattr(ex, "param", None)
    is_file = param is not None and isinstance(param.type, click.File | click.Path)
    if isinstance(ex, click.FileError) or (is_file and not isinstance(ex, click.MissingParameter)):
        # click takes a file it cannot open for a wrong command line
        missing = "No such file" in message or "does not exist" in message
        return (NotFound if missing else BadInput)(message, "check its name and permissions")
    return UsageError(message, hint)


def _ours(ex: Exception, prog: str, debug: bool) -> CapyError | KeyboardInterrupt:
    """Any exception as an error of ours: click's, the system's and SQLite's by their meaning, the rest as a bug."""
    if isinstance(ex, CapyError):
        return ex
    if isinstance(ex, click.ClickException):
        return _usage(ex, prog)
    if isinstance(ex, OSError) and ex.errno is not None:
        what = f"{ex.filename}: {ex.strerror}" if ex.filename is not None else str(ex.strerror)
        if isinstance(ex, FileNotFoundError):
            if ex.filename is None and _current_folder_is_gone():
                return NotFound("the current folder does not exist any more", "change to one that exists: cd FOLDER")
            return NotFound(what, "check the name")
        return SystemFailure(what, "check the permissions, the space on the disk and the limits of this user")
    from .dberrors import translated

    return translated(ex) or _bug(ex, prog, debug)


def _current_folder_is_gone() -> bool:
    try:
        os.getcwd()
    except OSError:
        return True
    return False


def _bug(ex: Exception, prog: str, debug: bool) -> Bug:
    if debug:
        import traceback

        traceback.print_exc()
    what = " ".join(f"{type(ex).__name__}: {ex}".split()).rstrip(": ")
    hint = "" if debug else f"this is a bug in {prog}; run it again with --debug and report the traceback"
    return Bug(f"unexpected {what}", hint)


def _discard(stream: Any) -> None:
    """Let the interpreter's last flush of a stream that cannot be written go nowhere instead of failing."""
    with suppress(OSError), Path(os.devnull).open("wb") as null:
        os.dup2(null.fileno(), stream.fileno())
