"""`capy-exec LANGUAGE`: one command for each language, made when it is asked for."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from capy_core.cli import App, common_options, write_stdout
from capy_core.errors import BadInput, NotFound, UsageError

from ..runtimes import LANGUAGES

_EXAMPLES = {
    "javascript": "console.log(process.version)", "typescript": "const n: number = 2; console.log(n)",
    "python": "import sys; print(sys.version)", "shell": "make test", "ruby": "puts RUBY_VERSION",
    "go": "fmt.Println(runtime.Version())", "rust": 'println!("{}", 6 * 7);', "php": "echo PHP_VERSION;",
    "perl": "print $^V", "r": "cat(R.version.string)", "elixir": "IO.puts(System.version())",
}  # fmt: skip

_MAX_CODE = 64 * 1024 * 1024


def __getattr__(name: str) -> click.Command:
    if name not in LANGUAGES:
        raise AttributeError(name)
    return _command(name)


def _command(language: str) -> click.Command:
    """The command of one language."""

    @click.command(
        language,
        help=f"""Run {language} code and report its output and exit code.

        The code is that of -c, else the content of FILE, else stdin. ARGS go to the script; without -c, the first
        argument is FILE ("-" for stdin). The code's own stdin is empty, and it runs in the project's folder. When it
        ends, what it left running is ended too; use --background for a program that shall go on.

        \b
        Example:
            capy-exec {language} -c '{_EXAMPLES[language]}'
        """,
    )
    @click.argument("words", metavar="[FILE|-] [-- ARGS...]", nargs=-1)
    @click.option("-c", "code", metavar="CODE", help="The code itself.")
    @click.option(
        "--file",
        type=click.Path(path_type=Path),
        metavar="PATH",
        help="Give the code a file's content as FILE_CONTENT, its path as FILE_CONTENT_PATH.",
    )
    @click.option("--label", default="", metavar="L", help="Name the output (default: made of language and code).")
    @click.option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        metavar="S",
        help="End it after so many seconds (default: executor.timeout_s; none in the background).",
    )
    @click.option("--with", "packages", multiple=True, metavar="PKG", help="Python: a package to provide (repeatable).")
    @click.option("--background", is_flag=True, help="Return at once; the output goes to a log file.")
    @click.option("--cwd", type=click.Path(path_type=Path), metavar="DIR", help="Run it in this folder.")
    @click.option(
        "--max-output",
        type=click.IntRange(min=0),
        metavar="BYTES",
        help="Show at most so much of each stream; 0 for everything.",
    )
    @common_options
    @click.pass_context
    def command(ctx: click.Context, /, words: tuple[str, ...], code: str | None, **options: Any) -> None:
        succeeded = _run(ctx.obj, language, words, code, **options)
        if not succeeded:
            ctx.exit(1)

    return command


def _run(
    app: App, language: str, words: tuple[str, ...], code: str | None, *, file: Path | None, label: str,
    timeout: float | None, packages: tuple[str, ...], background: bool, cwd: Path | None, max_output: int | None,
) -> bool:  # fmt: skip
    from ..policy.enforce import gate, require_readable
    from ..request import Request
    from .settings import settings

    root, config = settings(app)
    if code is None and words[:1] not in ((), ("-",)):
        require_readable(root, words[0])
    source, args = (code, words) if code is not None else (read_code(words[:1]), words[1:])
    request = Request(
        language=language, code=source, label=label, file=file, args=args, packages=packages, timeout=timeout,
        cwd=cwd or root, max_output=max_output,
    )  # fmt: skip
    if check := gate(root):
        check(request)
    if background:
        from ..background import start_job

        result = start_job(request, config)
        app.emit(result.record(), lambda job: f"started in the background: pid {job['pid']}, output in {job['log']}")
        return True
    from ..run import live_output, run_code

    if app.as_json:
        result = run_code(request, config)
        app.emit(result.record())
        return result.succeeded
    budget = config.max_output_bytes if max_output is None else max_output or None
    output = live_output(write_stdout, _write_stderr, budget, request.shown_label)
    result = run_code(request, config, output=output)
    _summarise(result.succeeded, [result.reason, "output was cut" if output.stdout.cut or output.stderr.cut else ""])
    return result.succeeded


def read_code(words: tuple[str, ...]) -> str:
    """The code from FILE or stdin. Bytes that are not UTF-8 reach the interpreter as they are."""
    if words and words[0] != "-":
        try:
            with Path(words[0]).open("rb") as stream:
                data = stream.read(_MAX_CODE + 1)
        except FileNotFoundError as ex:
            raise NotFound(f"the script {words[0]} does not exist", "correct FILE; -c takes code itself") from ex
        except OSError as ex:
            raise BadInput(f"cannot read {words[0]}: {ex.strerror}", "FILE holds the code to run") from ex
    else:
        if sys.stdin is None or (sys.stdin.isatty() and not words):
            raise UsageError("there is no code", "give it with -c CODE, as FILE, or on stdin")
        data = sys.stdin.buffer.read(_MAX_CODE + 1)
    if len(data) > _MAX_CODE:
        raise BadInput(f"the code is longer than {_MAX_CODE:,} bytes", "give it data with --file PATH")
    return data.decode("utf-8", "surrogateescape")


def _write_stderr(data: bytes) -> None:
    try:
        sys.stderr.buffer.write(data)
        sys.stderr.buffer.flush()
    except OSError:  # nobody reads it: no reason to end the code
        pass


def _summarise(succeeded: bool, notes: list[str]) -> None:
    """One line for people, when there is something to say."""
    from .settings import coloured

    if any(notes):
        line = "capy-exec: " + "; ".join(filter(None, notes))
        if coloured(sys.stderr):
            line = click.style(line, fg="yellow" if succeeded else "red")
        _write_stderr(line.encode("utf-8", "replace") + b"\n")
