"""capy-store evidence in pipes, with records, without key and database."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]

LOG = b"".join(b"step %d ok\n" % i for i in range(2000)) + b"AssertionError: 3 != 4\n1 failed, 20 passed\n"


def test_plain_text_gives_one_record_with_the_lines(tool: Run, project: Path) -> None:
    done = tool("capy-store", "evidence", "which test failed", stdin=LOG)
    record = json.loads(done.stdout)
    assert (record["schema"], record["lines"], record["bytes"]) == ("capy.evidence/1", 2002, len(LOG))
    assert "AssertionError: 3 != 4" in record["spans"][-1]["text"]
    assert (done.returncode, done.stderr) == (0, b"")
    assert not list(project.iterdir())


def test_as_text_the_lines_stand_alone(tool: Run, project: Path) -> None:
    (project / "run.log").write_bytes(LOG)
    done = tool("capy-store", "evidence", "which test failed", "run.log", "--format", "text")
    assert b"AssertionError: 3 != 4\n1 failed, 20 passed\n(of 2,002 lines, " in done.stdout


def test_a_record_of_capy_exec_keeps_its_fields_and_its_stderr(tool: Run, project: Path) -> None:
    code = "seq 2000; echo 'fatal: no space left' >&2; exit 3"
    run = tool("capy-exec", "shell", "--label", "job", "-c", code)
    record = json.loads(tool("capy-store", "evidence", "where is 1234", stdin=run.stdout).stdout)
    assert (record["label"], record["exit_code"], record["outcome"]) == ("job", 3, "error")
    assert record["stderr"] == [{"first": 1, "last": 1, "text": "fatal: no space left", "why": "failure"}]
    assert any("1234" in span["text"].split("\n") for span in record["spans"])
    assert "stdout" not in record and "code" not in record


def test_a_cut_record_warns(tool: Run, project: Path) -> None:
    run = tool("capy-exec", "shell", "--max-output", "300", "-c", "seq 20000")
    done = tool("capy-store", "evidence", "what is 5", stdin=run.stdout)
    assert json.loads(done.stderr)["code"] == "truncated_input"


def test_nothing_to_find_exits_with_1(tool: Run, project: Path) -> None:
    done = tool("capy-store", "evidence", "zeppelin", stdin=b"".join(b"%d\n" % i for i in range(3000)))
    assert done.returncode == 1
    assert json.loads(done.stdout)["unanswered"] is True
    empty = tool("capy-store", "evidence", "zeppelin", stdin=b" \n")
    assert (empty.returncode, empty.stdout) == (1, b"")


def test_a_failure_answers_whatever_was_asked(tool: Run, project: Path) -> None:
    assert tool("capy-store", "evidence", "zeppelin", stdin=LOG).returncode == 0


def test_the_budget_holds(tool: Run, project: Path) -> None:
    record = json.loads(tool("capy-store", "evidence", "step", "--budget", "400", stdin=LOG).stdout)
    assert sum(len(span["text"]) for span in record["spans"]) <= 400


def test_secrets_are_redacted_in_lines_and_question(tool: Run, project: Path) -> None:
    token = "gh" + "p_" + "a1B2" * 9
    done = tool("capy-store", "evidence", f"who used {token}", stdin=LOG + f"login with {token}\n".encode())
    assert token.encode() not in done.stdout
    assert b"login with [REDACTED" in done.stdout


def test_bad_input_is_told(tool: Run, project: Path) -> None:
    (project / "run.log").write_bytes(LOG)
    for status, arguments, stdin in (
        (2, ("  ",), LOG),
        (3, ("x", "missing.log"), b""),
        (4, ("x",), b"\x7fELF\x00\xff\x02" * 100),
        (4, ("x",), b'{"schema": "capy.exec.result/1", "stdout": 3}\n'),
        (2, ("x", "run.log", "--budget", "3"), b""),
    ):
        done = tool("capy-store", "evidence", *arguments, stdin=stdin)
        assert (done.returncode, done.stdout) == (status, b""), arguments
        assert json.loads(done.stderr)["message"]


def test_a_file_that_the_rules_deny_is_refused(tool: Run, project: Path) -> None:
    (project / ".claude").mkdir()
    (project / ".claude" / "settings.json").write_text('{"permissions": {"deny": ["Read(./private/**)"]}}')
    (project / "private").mkdir()
    (project / "private" / "run.log").write_bytes(LOG)
    done = tool("capy-store", "evidence", "which test failed", "private/run.log")
    assert (done.returncode, done.stdout) == (7, b"")
