"""Every way a command can end, with a real process of a small command group."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TOOL = '''
import sys, time
from pathlib import Path
import click
from capy_core import errors
from capy_core.cli import App, CommandGroup, common_options, run

@click.group(cls=CommandGroup, commands_by_name={name: f"tool:{name}" for name in (
    "emit", "no", "fail", "crash", "write", "read", "spin", "derive", "query", "warn")})
@common_options
def cli():
    """A tool of many ends → for tests."""

@cli.command()
@common_options
@click.option("--count", default=1, help="How many → records.")
@click.pass_obj
def emit(app, count):
    """Emit records."""
    for number in range(count):
        app.emit({"schema": "test/1", "n": number, "text": "für → \\u2028 \\ud800"}, lambda r: f"text {r['n']} für →")

@cli.command()
@click.pass_context
def no(ctx):
    """Answer no."""
    ctx.exit(1)

@cli.command()
@click.argument("kind")
def fail(kind):
    """Fail as asked."""
    raise getattr(errors, kind)("it failed → here", "do that", path="/x")

@cli.command()
@common_options
def crash():
    """Crash."""
    raise KeyError("unforeseen")

@cli.command()
@click.argument("path")
def write(path):
    """Write a file."""
    Path(path).write_text("x")

@cli.command()
@click.argument("source", type=click.File("rb"))
def read(source):
    """Read a file."""

@cli.command()
def spin():
    """Spin."""
    print("ready", flush=True)
    while True:
        time.sleep(0.01)

@cli.command()
def derive():
    """Derive keys."""
    import sqlcipher3.dbapi2 as driver
    from capy_core.database import open_database
    from capy_core.keys import Key
    print("ready", flush=True)
    number = 0
    while True:
        number += 1
        open_database(Path(f"{number}.db"), Key("a passphrase"), ()).close()

@cli.command()
def query():
    """Query for long."""
    from capy_core.database import open_database
    from capy_core.keys import Key
    db = open_database(Path("kb.db"), Key("x'" + "5a" * 32 + "'"), ())
    print("ready", flush=True)
    db.execute("WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT sum(i) FROM r").fetchone()

@cli.command()
@click.pass_obj
def warn(app):
    """Warn."""
    app.warn("odd", "something odd →", "look at it", n=3)

if __name__ == "__main__":
    sys.modules["tool"] = sys.modules["__main__"]
    sys.exit(run(cli, "capy-tool"))
'''

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "tool.py"
    path.write_text(TOOL, encoding="utf-8")
    return path


@pytest.fixture
def run(script: Path) -> Run:
    def call(*args: str, env: dict[str, str] | None = None, **options: Any) -> subprocess.CompletedProcess[bytes]:
        if not {"stdout", "stderr"} & options.keys():
            options["capture_output"] = True
        command = [sys.executable, str(script), *args]
        return subprocess.run(command, env={**os.environ, **(env or {})}, timeout=60, cwd=script.parent, **options)

    return call


def error_of(done: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    """The one `capy.error/1` record on stderr."""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    record = json.loads(lines[0])
    assert record["schema"] == "capy.error/1" and set(record) >= {"code", "message", "hint"}
    return record


# --- statuses ---


@pytest.mark.parametrize(
    ("kind", "status", "code"),
    [
        ("UsageError", 2, "usage"),
        ("NotFound", 3, "not_found"),
        ("BadInput", 4, "bad_input"),
        ("Busy", 5, "busy"),
        ("WrongKey", 6, "wrong_key"),
        ("Refused", 7, "refused"),
        ("SystemFailure", 1, "system"),
    ],
)
def test_an_error_of_ours_gives_its_status_and_one_record(run: Run, kind: str, status: int, code: str) -> None:
    done = run("fail", kind)
    assert (done.returncode, done.stdout) == (status, b"")
    assert error_of(done) == {
        "schema": "capy.error/1",
        "code": code,
        "message": "it failed → here",
        "hint": "do that",
        "path": "/x",
    }


def test_done_and_no(run: Run) -> None:
    assert run("emit").returncode == 0
    done = run("no")
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")


def test_a_bug_is_70_with_a_traceback_on_request_only(run: Run) -> None:
    done = run("crash")
    assert done.returncode == 70
    assert error_of(done)["code"] == "bug" and "KeyError" in error_of(done)["message"]
    assert "--debug" in error_of(done)["hint"]
    for args in (("crash", "--debug"), ("--debug", "crash")):
        done = run(*args)
        assert done.returncode == 70 and b"Traceback" in done.stderr and b"KeyError: 'unforeseen'" in done.stderr
        assert json.loads(done.stderr.splitlines()[-1])["code"] == "bug"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("emti",), ["'emti'", "did you mean 'emit'?"]),
        (("--fromat", "json", "emit"), ["--fromat", "--format"]),
        (("emit", "--cuont", "3"), ["--cuont", "--count"]),
        (("emit", "--count", "many"), ["--count", "many"]),
        (("emit", "extra"), ["extra"]),
        (("fail",), ["KIND"]),
        (("emit", "--format", "xml"), ["xml", "auto"]),
        ((), ["no command"]),
    ],
)
def test_a_usage_error_is_a_record_in_a_pipe(run: Run, args: tuple[str, ...], words: list[str]) -> None:
    done = run(*args)
    assert (done.returncode, done.stdout) == (2, b"")
    record = error_of(done)
    assert record["code"] == "usage" and "--help" in record["hint"]
    assert all(word in record["message"] for word in words), record
    assert "\n" not in record["message"]


@pytest.mark.parametrize(
    "args", [("--format", "text", "emti"), ("--format=text", "emit", "--cuont"), ("--format", "text")]
)
def test_a_usage_error_is_text_when_text_was_asked_for(run: Run, args: tuple[str, ...]) -> None:
    done = run(*args)
    assert done.returncode == 2
    assert done.stderr.startswith(b"error: ") and done.stderr.count(b"\n") == 1


def test_no_command_shows_people_the_help(run: Run) -> None:
    ours, theirs = pty.openpty()
    done = run(stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = os.read(ours, 4096).decode()
    os.close(ours)
    assert done.returncode == 2 and shown.startswith("Usage: capy-tool ") and "emit" in shown


def test_a_file_that_is_not_there_is_not_found_and_one_that_cannot_be_used_is_said_so(run: Run, tmp_path: Path) -> None:
    done = run("read", "missing.txt")
    assert done.returncode == 3 and "missing.txt" in error_of(done)["message"]
    done = run("read", str(tmp_path))
    assert done.returncode == 4 and "directory" in error_of(done)["message"]
    done = run("write", "missing/file")
    assert done.returncode == 3 and "missing/file" in error_of(done)["message"]
    done = run("write", "/proc/file")
    assert done.returncode in (1, 3) and "/proc/file" in error_of(done)["message"]
    done = run("write", "/dev/full")
    assert done.returncode == 1 and "No space left" in error_of(done)["message"]


def test_help_and_its_command_list_need_no_command_module(run: Run) -> None:
    done = run("--help")
    assert done.returncode == 0 and done.stderr == b"" and "A tool of many ends →".encode() in done.stdout


# --- output ---


def test_records_in_a_pipe_and_text_on_request(run: Run) -> None:
    lines = run("emit", "--count", "2").stdout.splitlines()
    assert [json.loads(line)["n"] for line in lines] == [0, 1]
    for args in (("emit", "--format", "text"), ("--format", "text", "emit")):
        assert run(*args).stdout == "text 0 für →\n".encode()
    assert run("emit", "--count", "0").stdout == b""


@pytest.mark.parametrize(
    "env",
    [
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1:strict"},
    ],
)
def test_output_is_utf8_whatever_the_locale_says(run: Run, env: dict[str, str]) -> None:
    assert "für →".encode() in run("emit", env=env).stdout
    assert run("emit", "--format", "text", env=env).stdout == "text 0 für →\n".encode()
    assert "→ records".encode() in run("emit", "--help", env=env).stdout
    assert error_of(run("fail", "Busy", env=env))["message"] == "it failed → here"
    done = run("--format", "text", "fail", "Busy", env=env)
    assert done.stderr == "error: it failed → here; do that\n".encode()


@pytest.mark.parametrize("format_", ["json", "text"])
def test_what_was_typed_is_repeated_without_its_secrets(run: Run, format_: str) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    done = run("--format", format_, "read", f"curl -H 'Authorization: Bearer {token}'")
    assert done.returncode == 3
    assert b"Authorization: Bearer [REDACTED" in done.stderr and token.encode() not in done.stderr


def test_a_warning_is_a_record_in_a_pipe_and_text_on_request(run: Run) -> None:
    assert json.loads(run("warn").stderr) == {
        "schema": "capy.warning/1",
        "code": "odd",
        "message": "something odd →",
        "hint": "look at it",
        "n": 3,
    }
    assert run("--format", "text", "warn").stderr == "warning: something odd →; look at it\n".encode()


@pytest.mark.parametrize(("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_on_a_terminal_errors_are_text_in_colour_unless_refused(run: Run, env: dict[str, str], coloured: bool) -> None:
    ours, theirs = pty.openpty()
    done = run("fail", "Busy", env=env, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = os.read(ours, 4096).decode()
    os.close(ours)
    assert done.returncode == 5
    assert ("\x1b[" in shown) is coloured
    assert (
        shown.replace("\x1b[31m", "").replace("\x1b[1m", "").replace("\x1b[0m", "")
        == "error: it failed → here; do that\r\n"
    )


# --- broken, full and closed streams ---


@pytest.mark.parametrize("args", [("emit", "--count", "100000"), ("--format", "text", "emit", "--count", "100000")])
def test_a_reader_that_leaves_ends_it_with_141_and_no_noise(run: Run, script: Path, args: tuple[str, ...]) -> None:
    process = subprocess.Popen([sys.executable, script, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert (process.wait(60), process.stderr.read()) == (141, b"")
    process.stderr.close()


@pytest.mark.parametrize("args", [("emit",), ("emit", "--count", "9999"), ("emit", "--format", "text"), ("--help",)])
def test_a_full_stdout_is_an_error_and_no_traceback(run: Run, args: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = run(*args, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert done.stderr.count(b"\n") == 1 and b"No space left" in done.stderr


def test_a_full_or_closed_stderr_leaves_the_status(run: Run, script: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        assert run("fail", "Busy", stdout=subprocess.PIPE, stderr=full).returncode == 5
    reader, writer = os.pipe()
    os.close(reader)
    assert run("fail", "Busy", stdout=subprocess.PIPE, stderr=writer).returncode == 5
    os.close(writer)


@pytest.mark.parametrize(
    ("redirect", "args", "status", "out"),
    [
        ("2>&-", "fail Busy", 5, b""),
        ("2>&-", "emti", 2, b""),
        ("2>&-", "emit --format text", 0, "text 0 für →\n".encode()),
        (">&-", "emit", 0, b""),
        (">&- 2>&- <&-", "emit", 0, b""),
        ("<&-", "emit --format text", 0, "text 0 für →\n".encode()),
    ],
)
def test_a_closed_stream_breaks_nothing(script: Path, redirect: str, args: str, status: int, out: bytes) -> None:
    command = f'"{sys.executable}" "{script}" {args} {redirect}'
    done = subprocess.run(["sh", "-c", command], capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (status, out, b"")


def test_a_file_opened_later_does_not_take_a_closed_streams_number(script: Path, tmp_path: Path) -> None:
    command = f'"{sys.executable}" "{script}" write "{tmp_path / "data"}" >&- 2>&-'
    assert subprocess.run(["sh", "-c", command], timeout=60).returncode == 0
    assert (tmp_path / "data").read_bytes() == b"x"


# --- Ctrl-C ---


@pytest.mark.parametrize("command", ["spin", "derive", "query"])
def test_ctrl_c_is_130_whatever_is_going_on(script: Path, command: str) -> None:
    process = subprocess.Popen(
        [sys.executable, script, command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=script.parent
    )
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    time.sleep(0.15)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"")


# --- start-up ---


def test_one_command_does_not_load_the_module_of_another(tmp_path: Path, python: Any) -> None:
    (tmp_path / "first.py").write_text("import click\n@click.command()\ndef cli(): pass\n")
    (tmp_path / "second.py").write_text("raise SystemExit('loaded')\n")
    code = textwrap.dedent("""
        import sys
        sys.path.insert(0, sys.argv[1])
        import click
        from capy_core.cli import CommandGroup, run
        group = CommandGroup("x", commands_by_name={"first": "first:cli", "second": "second:cli"})
        sys.argv = ["x", "first"]
        status = run(group, "x")
        print(status, sorted({"second", "orjson", "sqlcipher3", "difflib", "tomllib"} & set(sys.modules)))
    """)
    assert python(code, tmp_path).stdout == b"0 []\n"
