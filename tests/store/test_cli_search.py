"""capy-store search as people, pipes and scripts use it."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]
Record = dict[str, Any]

TEXTS = {
    "notes/pool.md": ("durable", "markdown", "The connection pool is exhausted when a query hangs; raise `pool_size`."),
    "run:1": ("ephemeral", "output", "step 1 ok\nstep 2 failed: connection refused\n"),
    "session:a": ("session", "transcript", "We talked about lighthouses."),
}


@pytest.fixture
def search(tool: Run, project: Path, key: str) -> Run:
    """`search(*arguments)` on a store that holds TEXTS."""
    documents = [
        {"schema": "capy.document/1", "label": label, "kind": kind, "content_type": content_type, "content": content}
        for label, (kind, content_type, content) in TEXTS.items()
    ]
    tool("capy-store", "index", stdin="\n".join(map(json.dumps, documents)).encode())

    def run(
        *arguments: str, stdin: bytes = b"", env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        return tool("capy-store", "search", *arguments, stdin=stdin, env=env)

    return run


def records(output: bytes) -> list[Record]:
    return [json.loads(line) for line in output.splitlines()]


def test_hits_are_records_one_a_line(search: Run) -> None:
    done = search("connection", "pool")
    hits = records(done.stdout)
    assert (done.returncode, done.stderr) == (0, b"")
    assert [hit["label"] for hit in hits] == ["notes/pool.md", "run:1"]
    assert [hit["rank"] for hit in hits] == [1, 2]
    assert {hit["schema"] for hit in hits} == {"capy.search.hit/1"}
    assert (hits[0]["kind"], hits[0]["line_start"], hits[0]["layers"]) == ("durable", 1, ["porter"])


def test_every_kind_is_searched_unless_one_is_named(search: Run) -> None:
    assert {hit["kind"] for hit in records(search("connection").stdout)} == {"durable", "ephemeral"}
    assert {hit["kind"] for hit in records(search("connection", "--kind", "durable").stdout)} == {"durable"}
    kinds = search("connection", "lighthouses", "--kind", "session", "--kind", "ephemeral").stdout
    assert {hit["kind"] for hit in records(kinds)} == {"session", "ephemeral"}


def test_the_output_of_a_command_is_found(tool: Run, project: Path, key: str) -> None:
    result = tool("capy-exec", "shell", "-c", "echo all is well; echo the gizmo is broken >&2").stdout
    assert tool("capy-store", "index", stdin=result).returncode == 0
    hits = records(tool("capy-store", "search", "gizmo").stdout)
    assert "the gizmo is broken" in hits[0]["content"]
    assert hits[0]["kind"] == "ephemeral"


def test_nothing_found_is_no_bytes_and_exit_1(search: Run) -> None:
    done = search("absent")
    assert (done.returncode, done.stdout) == (1, b"")


def test_filters_that_hide_the_hits_say_so(search: Run) -> None:
    done = search("lighthouses", "--kind", "durable")
    assert (done.returncode, done.stdout) == (1, b"")
    messages = [record["message"] for record in records(done.stderr)]
    assert messages == [
        "0 of 1 sources that pass the filters hold the words",
        "without the filters, sources that hold some of the words: 1 session",
    ]


@pytest.mark.parametrize("query", [[""], ["  "], ['"'], []])
def test_a_blank_query_is_a_usage_error(search: Run, query: list[str]) -> None:
    done = search(*query)
    assert (done.returncode, done.stdout) == (2, b"")
    assert records(done.stderr)[0]["code"] == "usage"


def test_a_dash_begins_a_word_but_an_unknown_option_is_told(search: Run) -> None:
    assert search("-connection").returncode == 0
    assert search("--", "--connection").returncode == 0
    done = search("connection", "--limt", "3")
    assert done.returncode == 2
    assert "--limit" in records(done.stderr)[0]["message"]


def test_limit_source_type_and_time_narrow_it(search: Run) -> None:
    assert len(records(search("connection", "--limit", "1").stdout)) == 1
    assert len(records(search("connection", "--limit", "0").stdout)) == 1
    assert [hit["label"] for hit in records(search("connection", "--source", "run:").stdout)] == ["run:1"]
    assert [hit["label"] for hit in records(search("connection", "--type", "output").stdout)] == ["run:1"]
    assert len(records(search("connection", "--since", "1h").stdout)) == 2
    assert search("connection", "--until", "1h").returncode == 1
    assert search("connection", "--since", "2999-01-01T00:00").returncode == 1
    assert search("connection", "--since", "soon").returncode == 2


def test_no_store_yet_is_said(tool: Run, project: Path, key: str) -> None:
    done = tool("capy-store", "search", "anything")
    assert (done.returncode, done.stdout) == (3, b"")
    assert "index" in records(done.stderr)[0]["hint"]


def test_queries_are_answered_one_by_one(search: Run) -> None:
    queries: list[Any] = [
        {"id": "a", "query": "pool", "tag": 7},
        {"query": "lighthouses", "kind": "durable"},
        {"id": 3, "query": "conection", "source": ["notes", "run:1"], "limit": 1},
    ]
    done = search("--queries", "-", stdin="\n".join(map(json.dumps, queries)).encode())
    first, second, third = records(done.stdout)
    assert done.returncode == 0
    assert (first["schema"], first["id"], first["tag"]) == ("capy.search.result/1", "a", 7)
    assert first["hits"][0]["label"] == "notes/pool.md"
    assert (second["id"], second["hits"]) == (2, [])
    assert second["notes"][0].startswith("0 of 1 sources")
    assert (third["corrected"], len(third["hits"])) == ({"conection": "connection"}, 1)


def test_a_bad_query_is_reported_and_the_others_are_answered(search: Run, project: Path) -> None:
    lines = [
        '{"id": 1, "query": "pool"}', "not json", '{"id": 3}', '{"id": 4, "query": "  "}', "[5]",
        '{"id": 6, "query": "pool", "kind": "scratch"}', '{"id": 7, "query": "pool", "limit": "x"}',
        '{"id": 8, "query": "pool", "since": "soon"}', '{"id": {}, "query": "pool"}', "", '{"id": 9, "query": "pool"}',
    ]  # fmt: skip
    (project / "queries.ndjson").write_text("\n".join(lines))
    done = search("--queries", "queries.ndjson")
    assert done.returncode == 1
    assert [record["id"] for record in records(done.stdout)] == [1, 9]
    assert [record["line"] for record in records(done.stderr)] == [2, 3, 4, 5, 6, 7, 8, 9]
    assert {record["schema"] for record in records(done.stderr)} == {"capy.error/1"}


def test_an_answer_comes_before_the_next_query(search: Run, project: Path) -> None:
    command = [Path(sys.executable).with_name("capy-store"), "search", "--queries", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin and process.stdout
        for number in range(3):
            process.stdin.write(json.dumps({"id": number, "query": "pool"}).encode() + b"\n")
            process.stdin.flush()
            assert select.select([process.stdout], [], [], 30)[0], "no answer"
            assert json.loads(process.stdout.readline())["id"] == number
        process.stdin.close()
    assert process.returncode == 0


def test_a_query_beside_queries_is_refused(search: Run) -> None:
    assert search("pool", "--queries", "-").returncode == 2


def test_an_answer_counts_as_a_use_but_not_with_queries(search: Run, tool: Run) -> None:
    def uses() -> float:
        source = next(r for r in records(tool("capy-store", "sources").stdout) if r["label"] == "notes/pool.md")
        return float(source["uses"])

    search("--queries", "-", stdin=b'{"query": "pool"}')
    assert uses() == 0
    search("pool")
    assert round(uses()) == 1


def test_search_answers_while_another_process_writes(search: Run, tool: Run) -> None:
    """The other holds the write lock; neither the answer nor the note of its use waits for it."""
    database = json.loads(tool("capy-store", "which").stdout)["database"]
    script = f"""
import time
from pathlib import Path
from capy_core.database import connect
from capy_core.keys import Key
db = connect(Path({database!r}), Key({os.environ["CAPY_DB_KEY"]!r}))
db.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as writer:
        try:
            assert writer.stdout and writer.stdout.readline() == b"locked\n"
            begun = time.monotonic()
            assert len(records(search("connection").stdout)) == 2
            assert time.monotonic() - begun < 30
        finally:
            writer.kill()


def test_a_store_that_cannot_be_written_is_searched(
    search: Run, tool: Run, open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = open_folder
    database = folder / "kb.db"
    database.write_bytes(Path(json.loads(tool("capy-store", "which").stdout)["database"]).read_bytes())
    output = folder / "output"
    arguments = ["capy-store", "--project-dir", "/", "--db", str(database), "search", "connection"]
    monkeypatch.setattr(sys, "argv", arguments)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    assert in_a_fork(output, database) == 0
    assert len(records(output.read_bytes())) == 2


def in_a_fork(output: Path, database: Path) -> int:
    """The exit status of the command line run in a forked process, as a user who may only read the database.

    Forked, because such a user may not be able to start the installed command.
    """
    from capy_core.cli import run
    from capy_store.cli import group

    run(group, "capy-store")  # so that all is imported
    database.chmod(0o444)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.dup2(os.open(output, os.O_CREAT | os.O_WRONLY), 1)
            sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115  # pytest captured the old one
            database.parent.chmod(0o555)
            if os.geteuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            status = run(group, "capy-store")
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_people_read_where_what_and_the_lines(search: Run) -> None:
    done = search("conection", "pool", "--format", "text")
    text = done.stdout.decode()
    assert done.returncode == 0
    assert re.match(r"1\. notes/pool\.md:1  \d\.\d\d durable \w+\n   The connection pool is exhausted", text)
    assert "searched connection for conection" in text
    assert re.search(r"2 hits in \d+ ms\n\Z", text)
    assert "\x1b" not in text


def test_people_are_told_when_nothing_is_found(search: Run) -> None:
    done = search("absent", "--format", "text")
    assert done.returncode == 1
    assert done.stdout.decode().startswith("nothing found\ntry other words")
    done = search("lighthouses", "--kind", "durable", "--format", "text")
    assert "0 of 1 sources that pass the filters hold the words" in done.stdout.decode()


def on_a_terminal(*arguments: str, env: dict[str, str]) -> str:
    main, child = pty.openpty()
    command = [Path(sys.executable).with_name("capy-store"), "search", *arguments]
    with subprocess.Popen(command, stdout=child, stdin=child, stderr=child, env={**os.environ, **env}) as process:
        os.close(child)
        output = b""
        try:
            while data := os.read(main, 65536):
                output += data
        except OSError:  # the other end is closed
            pass
        process.wait()
    os.close(main)
    return output.decode()


def test_a_terminal_gets_the_matched_words_in_colour(search: Run) -> None:
    marked = on_a_terminal("pools", env={"NO_COLOR": "", "TERM": "xterm"})
    assert "\x1b[31m\x1b[1mpool\x1b[0m" in marked
    assert "\x1b" not in on_a_terminal("pools", env={"NO_COLOR": "1"})


def test_a_damaged_index_is_exit_6(search: Run, tool: Run) -> None:
    database = Path(json.loads(tool("capy-store", "which").stdout)["database"])
    script = f"""
from pathlib import Path
from capy_core.database import connect
from capy_core.keys import Key
db = connect(Path({str(database)!r}), Key({os.environ["CAPY_DB_KEY"]!r}))
db.execute("UPDATE chunks_fts_data SET block = x'ffffffffffffffffffffffff' WHERE id > 10")
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    done = search("connection")
    assert (done.returncode, done.stdout) == (6, b"")
    assert records(done.stderr)[0]["code"] == "corrupt"


def test_text_for_people_holds_no_control_characters(tool: Run, project: Path, key: str) -> None:
    evil = "\x1b]0;owned\x07 \x9b2J \r over"
    chunk = {"title": f"head {evil}", "content": f"wombat {evil}"}
    given = {"schema": "capy.document/1", "label": f"page {evil}", "chunks": [chunk]}
    label = json.loads(tool("capy-store", "index", stdin=json.dumps(given).encode()).stdout)["source"]
    commands = [["search", "wombat"], ["show", label], ["show", label, "--chunks"], ["sources"], ["delete", label]]
    for command in [*commands, ["delete", f"gone {evil}"]]:
        done = tool("capy-store", *command, "--format", "text")
        shown = (done.stdout + done.stderr).decode()
        assert shown.isprintable() or not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown), shown
        assert "owned" in shown


def test_a_secret_in_a_query_is_not_repeated(search: Run) -> None:
    token = "ghp_" + "a1B2c3" * 6
    done = search("--queries", "-", stdin=json.dumps({"id": token, "query": f"pool {token}"}).encode())
    assert token.encode() not in done.stdout + done.stderr
    assert records(done.stdout)[0]["hits"][0]["label"] == "notes/pool.md"
