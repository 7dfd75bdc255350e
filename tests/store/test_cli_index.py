"""`capy-store index` as it is used: real processes, files and pipes."""

from __future__ import annotations

import base64
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import Tool

pytestmark = pytest.mark.usefixtures("key", "project")


def records(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()]


def exec_result(**fields: Any) -> bytes:
    record = {
        "schema": "capy.exec.result/1",
        "label": "execute:shell:1234abcd",
        "language": "shell",
        "code": "#!/bin/sh\nmake test\n",
        "exit_code": 0,
        "signal": None,
        "outcome": "ok",
        "reason": "",
        "stdout": "zebra one\n",
        "stderr": "",
        "stdout_bytes": 10,
        "stderr_bytes": 0,
        "truncated": False,
        "timed_out": False,
        "duration_ms": 5,
        "started_at": "2026-03-01T00:00:00Z",
        "cwd": "/tmp",
    }
    return json.dumps({**record, **fields}).encode() + b"\n"


def document(label: str, content: str, **fields: Any) -> bytes:
    return json.dumps({"schema": "capy.document/1", "label": label, "content": content, **fields}).encode() + b"\n"


def show(tool: Tool, label: str) -> dict[str, Any]:
    return records(tool("capy-store", "show", label).stdout)[0]


def test_files_are_indexed_under_their_path_in_the_project(tool: Tool, project: Path, tmp_path: Path) -> None:
    (project / "docs").mkdir()
    (project / "docs" / "a.md").write_text("# A\n\nzebra\n")
    outside = tmp_path / "outside.txt"
    outside.write_text("giraffe\n")
    done = tool("capy-store", "index", "docs/a.md", outside)
    assert (done.returncode, done.stderr) == (0, b"")
    first, second = records(done.stdout)
    assert (first["schema"], first["source"], first["content_type"], first["status"]) == (
        "capy.index.result/1", "docs/a.md", "markdown", "indexed",
    )  # fmt: skip
    assert second["source"] == str(outside)
    assert show(tool, "docs/a.md")["path"] == str(project / "docs" / "a.md")
    assert records(tool("capy-store", "index", "docs/a.md").stdout)[0]["status"] == "unchanged"


def test_options_name_kind_type_and_title(tool: Tool, project: Path) -> None:
    (project / "a.txt").write_text("one\ntwo\n")
    done = tool(
        "capy-store", "index", "a.txt", "--label", "L", "--kind", "session", "--type", "output", "--title", "Run"
    )
    (record,) = records(done.stdout)
    assert (record["source"], record["kind"], record["content_type"]) == ("L", "session", "output")
    assert records(tool("capy-store", "show", "L", "--chunks").stdout)[0]["title"] == "Run"


def test_a_folder_needs_recursive_and_leaves_out_what_is_hidden_generated_or_binary(tool: Tool, project: Path) -> None:
    for name in ("a.txt", "sub/b.md", ".git/config", "node_modules/x.js", "sub/.hidden", "empty.txt"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("" if name == "empty.txt" else "text\n")
    (project / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x01\xff")
    refused = tool("capy-store", "index", ".")
    assert refused.returncode == 2 and b"--recursive" in refused.stderr
    done = tool("capy-store", "index", "--recursive", ".")
    assert [record["source"] for record in records(done.stdout)] == ["a.txt", "sub/b.md"]
    assert done.returncode == 1
    (error,) = records(done.stderr)
    assert error["code"] == "bad_input" and "logo.png is a PNG image" in error["message"]


def test_one_file_that_cannot_be_used_is_the_command_s_error(tool: Tool, project: Path) -> None:
    (project / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x01\xff")
    assert tool("capy-store", "index", "logo.png").returncode == 4
    assert tool("capy-store", "index", "nope").returncode == 3
    assert tool("capy-store", "index", "a", "b", "--label", "x").returncode == 2


def test_the_other_files_are_indexed_when_one_is_missing(tool: Tool, project: Path) -> None:
    (project / "a.txt").write_text("text\n")
    done = tool("capy-store", "index", "nope", "a.txt")
    assert done.returncode == 1
    assert [record["source"] for record in records(done.stdout)] == ["a.txt"]
    assert records(done.stderr)[0]["path"] == "nope"


def test_plain_text_on_stdin_needs_a_label(tool: Tool) -> None:
    refused = tool("capy-store", "index", stdin=b"hello\n")
    assert refused.returncode == 2 and b"--label" in refused.stderr
    assert records(tool("capy-store", "index", "--label", "x", stdin=b"hello\n").stdout)[0]["source"] == "x"
    assert records(tool("capy-store", "index", "-", "--label", "y", stdin=b"hello\n").stdout)[0]["source"] == "y"


@pytest.mark.parametrize(
    "plain",
    [b'{"a": 1}', b'{"schema": "other/1"}\n', b"\n\n  {not json\n", b'{"a": "\\"schema\\": \\"capy.document/1\\""}'],
)
def test_json_that_is_no_record_is_plain_text(tool: Tool, plain: bytes) -> None:
    (record,) = records(tool("capy-store", "index", "--label", "x", stdin=plain).stdout)
    assert record["bytes"] == len(plain)
    assert show(tool, "x")["content"] == plain.decode()


def test_nothing_on_stdin_is_nothing_to_do_and_an_empty_source_with_a_label(tool: Tool) -> None:
    assert (tool("capy-store", "index").returncode, tool("capy-store", "index").stdout) == (0, b"")
    (record,) = records(tool("capy-store", "index", "--label", "x").stdout)
    assert (record["status"], record["chunks"]) == ("indexed", 0)


def test_records_pass_their_fields_through_but_not_their_text(tool: Tool) -> None:
    done = tool(
        "capy-store",
        "index",
        stdin=b"\xef\xbb\xbf\n" + exec_result(item=3, custom={"a": 1}) + document("d", "text", tag="t"),
    )
    first, second = records(done.stdout)
    assert (first["label"], first["exit_code"], first["item"], first["custom"]) == (
        "execute:shell:1234abcd",
        0,
        3,
        {"a": 1},
    )
    assert (second["label"], second["tag"], second["kind"]) == ("d", "t", "durable")
    assert not {"stdout", "stderr", "content", "code"} & (set(first) | set(second))
    assert first["kind"] == "ephemeral" and first["content_type"] == "output"


def test_a_run_s_stderr_outcome_and_command_are_in_its_chunks(tool: Tool) -> None:
    failed = exec_result(exit_code=2, outcome="error", reason="exit status 2", stderr="boom giraffe\n")
    tool("capy-store", "index", stdin=failed)
    chunks = records(tool("capy-store", "show", "execute:shell:1234abcd", "--chunks").stdout)
    assert [chunk["title"] for chunk in chunks] == ["make test (exit 2)", "make test (exit 2), stderr"]
    meta = show(tool, "execute:shell:1234abcd")["meta"]
    assert (meta["exit_code"], meta["outcome"], meta["cwd"]) == (2, "error", "/tmp")


@pytest.mark.parametrize(
    ("fields", "title"),
    [
        ({"outcome": "timeout", "exit_code": None}, "timeout"),
        ({"outcome": "killed", "signal": "SIGKILL", "exit_code": None}, "SIGKILL"),
    ],
)
def test_a_run_that_was_ended_says_so(tool: Tool, fields: dict[str, Any], title: str) -> None:
    tool("capy-store", "index", stdin=exec_result(**fields))
    chunks = records(tool("capy-store", "show", "execute:shell:1234abcd", "--chunks").stdout)
    assert chunks[0]["title"] == f"make test ({title})"


def test_output_that_is_json_is_json_and_markdown_is_not_markdown(tool: Tool) -> None:
    tool(
        "capy-store",
        "index",
        stdin=exec_result(label="j", stdout='{"items": [1, 2]}')
        + exec_result(label="m", stdout="# A\n\n[x](http://y)\n"),
    )
    assert [show(tool, label)["content_type"] for label in "jm"] == ["json", "output"]


def test_output_bytes_that_are_not_utf_8_are_read_from_their_base64(tool: Tool) -> None:
    data = "Größe\n".encode("latin-1")
    tool(
        "capy-store", "index", stdin=exec_result(stdout="Gr\ufffd\ufffde\n", stdout_b64=base64.b64encode(data).decode())
    )
    assert show(tool, "execute:shell:1234abcd")["content"] == "Größe\n"
    binary = exec_result(label="b", stdout="as shown", stdout_b64=base64.b64encode(bytes(range(256))).decode())
    tool("capy-store", "index", stdin=binary)
    assert show(tool, "b")["content"] == "as shown"


def test_a_run_without_output_is_a_source_without_chunks(tool: Tool) -> None:
    (record,) = records(tool("capy-store", "index", stdin=exec_result(stdout="")).stdout)
    assert (record["status"], record["chunks"]) == ("indexed", 0)


def test_a_cut_record_warns_and_says_how_to_index_all(tool: Tool) -> None:
    done = tool("capy-store", "index", stdin=exec_result(truncated=True, stdout_bytes=9_000_000))
    (warning,) = records(done.stderr)
    assert (warning["schema"], warning["code"], done.returncode) == ("capy.warning/1", "truncated_input", 0)
    assert "9000000 bytes" in warning["message"] and "--max-output 0" in warning["hint"]


def test_a_bad_record_is_told_with_its_line_and_the_others_go_on(tool: Tool) -> None:
    lines = [
        document("a", "text"),
        b"{broken\n",
        b'{"schema": "capy.document/1", "label": "no content"}\n',
        b'{"schema": "capy.document/1", "label": "null", "content": null}\n',
        b'{"schema": "capy.document/1", "label": "k", "content": "x", "kind": "bogus"}\n',
        b'{"schema": "capy.search.hit/1", "label": "h"}\n',
        b'{"schema": "capy.document/1", "label": "c", "chunks": [{"title": "t"}]}\n',
        b"[1]\n",
        document("z", "text"),
    ]
    done = tool("capy-store", "index", stdin=b"".join(lines))
    assert done.returncode == 1
    assert [record["source"] for record in records(done.stdout)] == ["a", "z"]
    errors = records(done.stderr)
    assert [error["line"] for error in errors] == [2, 3, 4, 5, 6, 7, 8]
    assert all(error["code"] == "bad_input" and error["message"] and error["hint"] for error in errors)


def test_a_label_names_one_record_only(tool: Tool) -> None:
    (record,) = records(tool("capy-store", "index", "--label", "mine", stdin=document("a", "text")).stdout)
    assert record["source"] == "mine"
    done = tool("capy-store", "index", "--label", "mine", stdin=document("a", "text") + document("b", "other"))
    assert done.returncode == 2 and b"several records" in done.stderr


def test_records_are_answered_as_they_come(tool: Tool) -> None:
    command = [Path(sys.executable).with_name("capy-store"), "index"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None and child.stdout is not None
        for label in ("a", "b"):
            child.stdin.write(document(label, "text"))
            child.stdin.flush()
            assert json.loads(child.stdout.readline())["source"] == label  # while stdin is still open


def test_the_same_limit_holds_for_every_way_in(tool: Tool, project: Path) -> None:
    (project / ".capy.toml").write_text("[store]\nmax_source_bytes = 1000\n")
    (project / "large.txt").write_text("x" * 1001)
    ways = [
        (("large.txt",), b""),
        (("--label", "x"), b"x" * 1001),
        ((), document("x", "x" * 1001)),
        ((), exec_result(stdout="x" * 1001)),
    ]
    for arguments, stdin in ways:
        done = tool("capy-store", "index", *arguments, stdin=stdin)
        assert done.returncode in (1, 4)
        (error,) = records(done.stderr)
        assert (error["code"], error["size"], error["limit"]) == ("too_large", 1001, 1000)
        assert "store.max_source_bytes" in error["message"]
    assert tool("capy-store", "sources").stdout == b""


def test_people_get_a_sentence(tool: Tool, project: Path) -> None:
    (project / "a.txt").write_text("text\n")
    done = tool("capy-store", "index", "a.txt", "--format", "text")
    assert done.stdout == b"indexed    a.txt  (durable text, 1 chunk, 5 B)\n"


def test_nothing_is_asked_of_a_terminal(project: Path) -> None:
    master, slave = pty.openpty()
    command = [Path(sys.executable).with_name("capy-store"), "index"]
    done = subprocess.run(command, stdin=slave, capture_output=True, timeout=20)
    os.close(master)
    os.close(slave)
    assert done.returncode == 2 and b"nothing to index" in done.stderr


def test_people_at_a_terminal_see_how_far_it_is_and_pipes_do_not(tool: Tool, project: Path) -> None:
    (project / "big.log").write_text("a line of a log\n" * 600_000)
    master, slave = pty.openpty()
    command = [Path(sys.executable).with_name("capy-store"), "index", "big.log"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=slave, env={**os.environ, "TERM": "xterm"})
    os.close(slave)
    shown = b""
    try:
        while block := os.read(master, 4096):
            shown += block
    except OSError:  # the terminal is closed when the child is gone
        pass
    os.close(master)
    assert child.stdout is not None
    with child.stdout:
        assert records(child.stdout.read())[0]["status"] == "indexed"
    assert child.wait(20) == 0
    assert b"big.log" in shown and b"9.6" in shown
    (project / "big.log").write_text("another line of a log\n" * 600_000)
    assert tool("capy-store", "index", "big.log").stderr == b""


def test_a_pipe_given_as_a_path_is_read_like_one(tool: Tool, project: Path) -> None:
    os.mkfifo(project / "pipe")
    if os.fork() == 0:
        (project / "pipe").write_text("zebra\n")
        os._exit(0)
    (record,) = records(tool("capy-store", "index", "pipe", "--label", "x").stdout)
    os.wait()
    assert record["bytes"] == 6
    assert "path" not in show(tool, "x")


def test_without_a_key_nothing_is_stored(tool: Tool, home: Path) -> None:
    done = tool("capy-store", "index", "--label", "x", stdin=b"text", env={"CAPY_DB_KEY": ""})
    assert done.returncode == 6 and b"keygen" in done.stderr
    assert not list(home.rglob("*.db"))


@pytest.mark.parametrize("command", ["index", "import"])
def test_fields_that_are_handed_on_hold_no_secrets(tool: Tool, command: str) -> None:
    token = "ghp_" + "a1B2c3" * 6
    sent = document(
        f"run {token}", "x", title=token, url=f"https://a.example/?t={token}", meta={"k": [token]}, own=token
    )
    done = tool("capy-store", command, stdin=sent)
    assert token.encode() not in done.stdout + done.stderr
    (result,) = records(done.stdout)
    assert result["label"] == result["source"] == "run [REDACTED_SECRET]"
    assert result["own"] == "[REDACTED_SECRET]"


def test_a_text_counts_beside_an_empty_list_of_chunks(tool: Tool) -> None:
    done = tool("capy-store", "index", stdin=document("x", "the lighthouse answered", chunks=[]))
    assert json.loads(done.stdout)["chunks"] == 1
