"""The installed command: what it takes, prints and exits with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from capy_core.cli import App
from capy_exec.cli import group
from capy_exec.runtimes import LANGUAGES

from .conftest import Tool, processes_with, wait_until

EXEC = str(Path(sys.executable).with_name("capy-exec"))
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


def record(done: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    """The one record on stdout."""
    (line,) = done.stdout.splitlines()
    value: dict[str, Any] = json.loads(line)
    return value


def error(done: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    """The one error on stderr."""
    (line,) = done.stderr.splitlines()
    value: dict[str, Any] = json.loads(line)
    assert value["schema"] == "capy.error/1"
    return value


def test_one_record_in_a_pipe(project: Path, tool: Tool) -> None:
    done = tool("capy-exec", "shell", "-c", "echo hi; echo oh >&2")
    value = record(done)
    assert (done.returncode, done.stderr) == (0, b"")
    assert list(value) == [
        "schema", "label", "language", "code", "exit_code", "signal", "outcome", "reason", "stdout", "stderr",
        "stdout_bytes", "stderr_bytes", "truncated", "timed_out", "duration_ms", "started_at", "cwd",
    ]  # fmt: skip
    assert (value["schema"], value["language"]) == ("capy.exec.result/1", "shell")
    assert value["code"] == "echo hi; echo oh >&2"
    assert (value["stdout"], value["stderr"], value["stdout_bytes"], value["stderr_bytes"]) == ("hi\n", "oh\n", 3, 3)
    assert (value["outcome"], value["exit_code"], value["signal"], value["reason"]) == ("ok", 0, None, "")
    assert value["label"].startswith("execute:shell:") and len(value["label"]) == len("execute:shell:") + 8
    assert value["started_at"].endswith("Z") and value["cwd"] == str(project)


@pytest.mark.parametrize(
    ("args", "code", "outcome"),
    [
        (("-c", "true"), 0, "ok"),
        (("-c", "grep x /dev/null"), 0, "soft"),
        (("-c", "exit 7"), 1, "error"),
        (("-c", "sleep 60", "--timeout", "0.2"), 1, "timeout"),
    ],
)
def test_exit_code_says_whether_the_code_did_its_work(
    args: tuple[str, ...], code: int, outcome: str, project: Path, tool: Tool
) -> None:
    done = tool("capy-exec", "shell", *args)
    assert (done.returncode, record(done)["outcome"]) == (code, outcome)


@pytest.mark.parametrize(
    ("args", "code", "word"),
    [
        (("python", "missing.py"), 3, "not_found"),
        (("python", "-c", "1", "--file", "missing"), 3, "not_found"),
        (("python", "-c", "1", "--file", "."), 4, "bad_input"),
        (("python", "-c", "1", "--file", "fifo"), 4, "bad_input"),
        (("python", "-c", "1", "--cwd", "missing"), 3, "not_found"),
        (("python", "."), 4, "bad_input"),
        (("python", "/dev/zero"), 4, "bad_input"),
        (("ruby", "-c", "1", "--with", "x"), 2, "usage"),
        (("pyhton", "-c", "1"), 2, "usage"),
        (("python", "-c", "1", "--timeout", "0"), 2, "usage"),
        (("python", "-c", "1", "--max-output", "-1"), 2, "usage"),
        (("kill", "1"), 3, "not_found"),
    ],
)
def test_errors_before_anything_runs(args: tuple[str, ...], code: int, word: str, project: Path, tool: Tool) -> None:
    os.mkfifo(project / "fifo")
    done = tool("capy-exec", *args)
    assert (done.returncode, done.stdout, error(done)["code"]) == (code, b"", word)


def test_a_current_folder_that_was_removed_is_the_reason_given(
    project: Path, tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CLAUDE_PROJECT_DIR")
    gone = project / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    done = tool("capy-exec", "shell", "-c", "pwd")
    assert (done.returncode, error(done)["message"]) == (3, "the current folder does not exist any more")


def test_a_missing_runtime_is_exit_3_with_what_to_install(project: Path, tool: Tool) -> None:
    done = tool("capy-exec", "elixir", "-c", "1", env={"PATH": str(project)})
    assert done.returncode == 3
    assert error(done)["message"] == "no elixir runtime: elixir is not on PATH"
    assert "install Elixir" in error(done)["hint"]


def test_code_from_a_file_from_stdin_and_with_arguments(project: Path, tool: Tool) -> None:
    script = project / "it's a script.py"
    script.write_bytes("import sys\nprint('größe', sys.argv[1:])\n".encode())
    assert record(tool("capy-exec", "py", script, "--", "-a", "b"))["stdout"] == "größe ['-a', 'b']\n"
    assert record(tool("capy-exec", "python", stdin=b"print(1)"))["stdout"] == "1\n"
    assert record(tool("capy-exec", "python", "-", "x", stdin=b"import sys; print(sys.argv[1])"))["stdout"] == "x\n"
    assert record(tool("capy-exec", "sh", "-c", "echo $1", "--", "--y"))["stdout"] == "--y\n"
    assert record(tool("capy-exec", "sh", stdin=b"printf 'a\xff' | od -An -tx1"))["stdout"].split() == ["61", "ff"]


def test_text_passes_both_streams_on_and_sums_up_on_stderr(project: Path, tool: Tool) -> None:
    done = tool("capy-exec", "shell", "-c", "echo out; echo err >&2; exit 3", "--format", "text")
    assert (done.returncode, done.stdout) == (1, b"out\n")
    assert done.stderr == b"err\ncapy-exec: exit code 3\n"
    done = tool("capy-exec", "--format", "text", "shell", "-c", "echo out")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"out\n", b"")


def test_text_comes_while_the_code_runs(project: Path, mark: str) -> None:
    command = [EXEC, "shell", "-c", f"echo first; sleep {mark}", "--format", "text", "--max-output", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout
        assert process.stdout.readline() == b"first\n"
        assert wait_until(lambda: processes_with(mark))
        process.send_signal(signal.SIGINT)


def test_text_is_cut_in_the_middle_json_holds_more(project: Path, tool: Tool) -> None:
    code = "seq 100000"
    done = tool("capy-exec", "shell", "-c", code, "--format", "text", "--label", "L")
    lines = done.stdout.decode().splitlines()
    assert (lines[0], lines[-1]) == ("1", "100000")
    assert len(done.stdout) < 103_000
    assert sum(line.startswith("[capy: ") and line.endswith("capy-store index --label L]") for line in lines) == 1
    assert record(tool("capy-exec", "shell", "-c", code))["truncated"] is False
    value = record(tool("capy-exec", "shell", "-c", code, "--max-output", "1000"))
    assert value["truncated"] is True and len(value["stdout"]) < 1300
    assert value["stdout_bytes"] == 588_895
    whole = tool("capy-exec", "shell", "-c", code, "--format", "text", "--max-output", "0")
    assert len(whole.stdout) == 588_895


@pytest.mark.parametrize("format_", ["json", "text"])
def test_secrets_are_removed_everywhere(format_: str, project: Path, tool: Tool) -> None:
    code = f"echo {TOKEN}; echo {TOKEN} >&2; printf '\\377{TOKEN}\\n'"
    done = tool("capy-exec", "shell", "-c", code, "--label", f"x {TOKEN}", "--format", format_)
    assert done.returncode == 0 and b"REDACTED" in done.stdout
    assert TOKEN[8:].encode() not in done.stdout + done.stderr
    if format_ == "json":
        import base64

        assert TOKEN[8:].encode() not in base64.b64decode(record(done)["stdout_b64"])


def test_binary_output_comes_back_whole(project: Path, tool: Tool) -> None:
    import base64

    data = bytes(range(256)) * 4
    (project / "data").write_bytes(data)
    value = record(tool("capy-exec", "shell", "-c", "cat data; printf 'a\\0b' >&2"))
    assert base64.b64decode(value["stdout_b64"]) == data
    assert (value["stderr"], "stderr_b64" in value) == ("a\0b", False)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", ["run", "batch"])
def test_a_signal_ends_everything_with_130(command: str, number: int, project: Path, mark: str) -> None:
    code = f"setsid sleep {mark} & trap '' INT TERM; sleep {mark}"
    argv = [EXEC, "shell", "-c", code] if command == "run" else [EXEC, "batch", "--jobs", "2"]
    item = json.dumps({"command": code}).encode() + b"\n"
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(item * 3)
        process.stdin.flush()  # and stays open: a batch is then waiting for more
        assert wait_until(lambda: processes_with(f"sleep {mark}"))
        process.send_signal(number)
        assert process.wait(30) == 130
        assert process.stderr.read() == b""
    assert not processes_with(mark)


def test_a_reader_that_leaves_ends_the_code(project: Path, mark: str) -> None:
    command = f"{EXEC} shell -c 'echo x; sleep {mark} & yes' --format text --max-output 0 | head -1"
    done = subprocess.run(["bash", "-c", f"{command}; echo ${{PIPESTATUS[0]}}"], capture_output=True, timeout=30)
    assert (done.stdout, done.stderr) == (b"x\n141\n", b"")
    assert not processes_with(mark)


def test_settings_of_the_project_count(project: Path, tool: Tool) -> None:
    (project / ".capy.toml").write_text("[executor]\ntimeout_s = 0.3\nmax_record_bytes = 10\n", encoding="utf-8")
    value = record(tool("capy-exec", "shell", "-c", "seq 100; sleep 60"))
    assert (value["outcome"], value["reason"], value["truncated"]) == ("timeout", "timed out after 0.3 s", True)


def test_the_project_is_the_working_folder_wherever_one_stands(project: Path, tool: Tool, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    assert record(tool("capy-exec", "shell", "-c", "pwd; echo $PWD"))["stdout"] == f"{project}\n{project}\n"
    assert record(tool("capy-exec", "--project-dir", other, "shell", "-c", "pwd"))["stdout"] == f"{other}\n"
    assert record(tool("capy-exec", "shell", "-c", "pwd", "--cwd", other))["stdout"] == f"{other}\n"


def test_batch_prints_results_and_errors_and_exits_with_1(project: Path, tool: Tool) -> None:
    stdin = b'{"command": "echo 1", "id": "a"}\n\n{oops\n{"command": "echo 2"}\n'
    done = tool("capy-exec", "batch", stdin=stdin)
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(result["item"], result["stdout"]) for result in results] == [(1, "1\n"), (3, "2\n")]
    assert (error(done)["line"], error(done)["item"]) == (3, 2)
    assert done.returncode == 1
    done = tool("capy-exec", "batch", stdin=b'{"command": "echo 1"}\n')
    assert (done.returncode, done.stderr) == (0, b"")
    done = tool("capy-exec", "batch", stdin=b"")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    done = tool("capy-exec", "batch", stdin=b'{"command": "false"}\n')
    assert done.returncode == 1


def test_batch_as_text(project: Path, tool: Tool) -> None:
    done = tool("capy-exec", "batch", "--format", "text", stdin=b'{"label": "L", "command": "echo 1; exit 2"}\n')
    assert done.stderr == b""
    first, second = done.stdout.decode().splitlines()
    assert first.startswith("== L (exit code 2, ") and second == "1"


def test_background_ps_and_kill(project: Path, tool: Tool, mark: str) -> None:
    started = record(tool("capy-exec", "shell", "-c", f"echo up; sleep {mark}", "--background", "--label", "server"))
    assert started["outcome"] == "background"
    listed = record(tool("capy-exec", "ps"))
    assert (listed["schema"], listed["pid"], listed["label"]) == ("capy.exec.job/1", started["pid"], "server")
    assert b"server" in tool("capy-exec", "ps", "--format", "text").stdout
    assert wait_until(lambda: Path(started["log"]).read_bytes() == b"up\n")
    killed = tool("capy-exec", "kill", str(started["pid"]))
    assert (killed.returncode, record(killed)["status"]) == (0, "ended")
    assert not processes_with(mark)
    assert tool("capy-exec", "ps").stdout == b""
    assert record(tool("capy-exec", "ps", "--all"))["outcome"] == "killed"


def test_runtimes_lists_all_eleven(tool: Tool, project: Path) -> None:
    done = tool("capy-exec", "runtimes")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["language"] for row in rows] == list(LANGUAGES)
    assert all(row["schema"] == "capy.exec.runtime/1" for row in rows)
    done = tool("capy-exec", "runtimes", "--format", "text", env={"PATH": str(project)})
    assert "install Ruby" in done.stdout.decode()


@pytest.mark.parametrize("name", [None, *LANGUAGES, "runtimes", "batch", "ps", "kill"])
def test_every_command_has_help_with_an_example(name: str | None) -> None:
    done = CliRunner().invoke(group, [*([name] if name else []), "--help"], obj=App())
    assert done.exit_code == 0, done.output
    assert "Example:" in done.output and "capy-exec" in done.output
