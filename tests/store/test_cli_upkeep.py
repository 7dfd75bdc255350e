"""The other commands of capy-store's writing side, as real processes."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from capy_core.database import connect
from capy_core.keys import Key
from conftest import RAW_KEY, Tool

pytestmark = pytest.mark.usefixtures("key", "project")


def records(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()]


def put(tool: Tool, label: str, text: str = "zebra one\ntwo\nthree\n", *options: str) -> None:
    assert tool("capy-store", "index", "--label", label, *options, stdin=text.encode()).returncode == 0


def database(tool: Tool) -> Path:
    return Path(records(tool("capy-store", "which").stdout)[0]["database"])


def test_sources_lists_and_filters(tool: Tool) -> None:
    put(tool, "a")
    put(tool, "b", "text\n", "--kind", "ephemeral")
    assert [record["label"] for record in records(tool("capy-store", "sources").stdout)] == ["a", "b"]
    assert [record["label"] for record in records(tool("capy-store", "sources", "--kind", "ephemeral").stdout)] == ["b"]
    assert tool("capy-store", "sources", "--prefix", "c").stdout == b""
    assert tool("capy-store", "sources", "--format", "text").stdout.count(b"\n") == 2


def test_stale_sources_are_listed(tool: Tool, project: Path) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        (project / name).write_text("timeout=30\n")
    tool("capy-store", "index", "a.txt", "b.txt", "c.txt")
    (project / "a.txt").write_text("timeout=90\n")
    (project / "b.txt").unlink()
    listed = records(tool("capy-store", "sources", "--stale").stdout)
    assert [(record["label"], record["stale"]) for record in listed] == [("a.txt", "changed"), ("b.txt", "missing")]


def test_show_prints_text_lines_and_chunks(tool: Tool) -> None:
    put(tool, "a")
    assert tool("capy-store", "show", "a", "--format", "text").stdout == b"zebra one\ntwo\nthree\n"
    assert tool("capy-store", "show", "a", "--lines", "2:3", "--format", "text").stdout == b"two\nthree\n"
    assert tool("capy-store", "show", "a", "--lines", "2", "--format", "text").stdout == b"two\n"
    assert tool("capy-store", "show", "a", "--lines", "3:", "--format", "text").stdout == b"three\n"
    (record,) = records(tool("capy-store", "show", "a", "--lines", "2:2").stdout)
    assert (record["content"], record["line_start"], record["line_end"]) == ("two", 2, 2)
    (chunk,) = records(tool("capy-store", "show", "a", "--chunks").stdout)
    assert (chunk["schema"], chunk["line_start"], chunk["line_end"]) == ("capy.chunk/1", 1, 3)
    assert tool("capy-store", "show", "nope").returncode == 3
    for bad in ("0:1", "3:2", "x", "1:2:3"):
        assert tool("capy-store", "show", "a", "--lines", bad).returncode == 2


def test_delete_removes_and_tells_what_was_missing(tool: Tool) -> None:
    for label in "abc":
        put(tool, label)
    assert [record["label"] for record in records(tool("capy-store", "delete", "a").stdout)] == ["a"]
    part = tool("capy-store", "delete", "b", "nope")
    assert (part.returncode, records(part.stderr)[0]["label"]) == (1, "nope")
    assert tool("capy-store", "delete", "nope", "nada").returncode == 3
    assert tool("capy-store", "delete", "nope").returncode == 3
    assert [record["label"] for record in records(tool("capy-store", "sources").stdout)] == ["c"]


def test_cleanup_does_what_its_dry_run_said(tool: Tool) -> None:
    put(tool, "keep")
    put(tool, "out", "text\n", "--kind", "ephemeral")
    (planned,) = records(tool("capy-store", "cleanup", "--purge", "ephemeral", "--dry-run").stdout)
    assert planned["dry_run"] and [row["label"] for row in planned["evicted"]] == ["out"]
    assert len(records(tool("capy-store", "sources").stdout)) == 2
    (done,) = records(tool("capy-store", "cleanup", "--purge", "ephemeral").stdout)
    assert not done["dry_run"] and done["evicted"] == planned["evicted"]
    assert [record["label"] for record in records(tool("capy-store", "sources").stdout)] == ["keep"]
    assert tool("capy-store", "cleanup", "--source", "nope").returncode == 3
    assert tool("capy-store", "cleanup", "--source", "keep", "--purge", "session").returncode == 4
    assert tool("capy-store", "cleanup", "--source", "keep", "--format", "text").stdout.startswith(
        b"removed  keep  (manual"
    )


def test_a_purge_touches_one_project_only(tool: Tool, tmp_path: Path) -> None:
    projects = [tmp_path / name for name in ("app", "app/sub", "app-extra")]
    for folder in projects:
        folder.mkdir()
        (folder / ".capy").mkdir()
        tool("capy-store", "--project-dir", folder, "index", "--label", "x", "--kind", "ephemeral", stdin=b"text\n")
    tool("capy-store", "--project-dir", projects[0], "cleanup", "--purge", "ephemeral")
    left = [len(records(tool("capy-store", "--project-dir", folder, "sources").stdout)) for folder in projects]
    assert left == [0, 1, 1]


def test_stats_and_dbsize_count(tool: Tool) -> None:
    put(tool, "a", "words\n" * 1000)
    (stats,) = records(tool("capy-store", "stats").stdout)
    assert (stats["schema"], stats["sources"], stats["bytes"]) == ("capy.stats/1", 1, 6000)
    (sizes,) = records(tool("capy-store", "dbsize").stdout)
    assert sizes["file_bytes"] == database(tool).stat().st_size
    assert b"1 source, 3 chunks, 6.0 KB of text" in tool("capy-store", "stats", "--format", "text").stdout
    assert b"chunks_fts" in tool("capy-store", "dbsize", "--format", "text").stdout


@pytest.mark.parametrize("command", ["sources", "stats", "dbsize", "show x", "export", "delete x", "cleanup"])
def test_commands_that_need_a_store_say_when_there_is_none_and_make_none(tool: Tool, home: Path, command: str) -> None:
    done = tool("capy-store", *command.split())
    assert done.returncode == 3 and records(done.stderr)[0]["code"] == "not_found"
    assert not list(home.rglob("*.db"))


@pytest.mark.parametrize(
    "command", ["sources", "stats", "dbsize", "show x", "export", "delete x", "cleanup", "index", "import", "doctor"]
)
def test_a_store_of_a_newer_program_is_refused_and_not_changed(tool: Tool, tmp_path: Path, command: str) -> None:
    put(tool, "x")
    path = database(tool)
    db = connect(path, Key(RAW_KEY))
    db.execute("PRAGMA user_version = 999")
    db.close()
    before = path.read_bytes()
    done = tool("capy-store", *command.split(), stdin=b'{"schema":"capy.document/1","label":"y","content":"z"}\n')
    assert done.returncode == (1 if command == "doctor" else 6)
    assert b"999" in done.stderr + done.stdout
    assert path.read_bytes() == before


def test_doctor_is_green_on_a_sound_store_and_before_there_is_one(tool: Tool) -> None:
    assert tool("capy-store", "doctor").returncode == 0
    put(tool, "x")
    done = tool("capy-store", "doctor")
    assert done.returncode == 0
    assert all(record["ok"] for record in records(done.stdout))
    assert b"ok   integrity: ok" in tool("capy-store", "doctor", "--format", "text").stdout


def test_doctor_is_red_on_a_damaged_index_and_repairs_it(tool: Tool) -> None:
    put(tool, "x", "zebra words\n" * 5000)
    path = database(tool)
    db = connect(path, Key(RAW_KEY))
    db.execute("UPDATE chunks_fts_data SET block = x'ffffffffffffffffffffffff' WHERE id > 10")
    db.close()
    red = tool("capy-store", "doctor")
    assert red.returncode == 1
    assert any("--repair" in record["hint"] for record in records(red.stdout) if not record["ok"])
    assert tool("capy-store", "search", "zebra").returncode == 6  # damaged, not "nothing found"
    assert tool("capy-store", "doctor", "--repair").returncode == 0
    assert b"zebra" in tool("capy-store", "search", "zebra").stdout


def test_doctor_tells_a_missing_and_a_wrong_key_and_bad_settings(tool: Tool, project: Path) -> None:
    put(tool, "x")
    assert tool("capy-store", "doctor", env={"CAPY_DB_KEY": ""}).returncode == 1
    assert tool("capy-store", "doctor", env={"CAPY_DB_KEY": "x'" + "00" * 32 + "'"}).returncode == 1
    (project / ".capy.toml").write_text("[store]\nmax_sourcebytes = 5\n")
    done = tool("capy-store", "doctor")
    assert done.returncode == 1 and b"max_sourcebytes" in done.stdout


def test_checkpoint_leaves_one_whole_file(tool: Tool) -> None:
    (nothing,) = records(tool("capy-store", "checkpoint").stdout)
    assert not nothing["exists"]
    put(tool, "x")
    done = tool("capy-store", "checkpoint")
    assert (done.returncode, records(done.stdout)[0]["exists"]) == (0, True)
    assert not Path(f"{database(tool)}-wal").exists()


def test_which_names_places_and_never_the_key(tool: Tool, project: Path, home: Path) -> None:
    (record,) = records(tool("capy-store", "which").stdout)
    assert (record["project"], record["exists"], record["key"]) == (str(project), False, "CAPY_DB_KEY")
    assert Path(record["database"]).is_relative_to(home)
    text = tool("capy-store", "which", "--format", "text").stdout
    assert b"5a5a" not in text and str(project).encode() in text
    (record,) = records(tool("capy-store", "--db", "/x/y.db", "which", env={"CAPY_DB_KEY": ""}).stdout)
    assert record["database"] == "/x/y.db" and record["key"].startswith("none")


def test_keygen_prints_a_bare_key_for_a_shell_and_saves_one_for_good(tool: Tool, home: Path) -> None:
    key = tool("capy-store", "keygen").stdout
    assert key.startswith(b"x'") and len(key) == 68 and key != tool("capy-store", "keygen").stdout
    assert records(tool("capy-store", "keygen", "--format", "json").stdout)[0]["key"].startswith("x'")
    saved = Path(records(tool("capy-store", "keygen", "--save").stdout)[0]["path"])
    assert saved.is_relative_to(home) and saved.stat().st_mode & 0o777 == 0o600
    again = tool("capy-store", "keygen", "--save")
    assert again.returncode == 4 and b"exists" in again.stderr
    assert tool("capy-store", "index", "--label", "x", stdin=b"text", env={"CAPY_DB_KEY": ""}).returncode == 0


def test_encrypt_puts_a_store_under_another_key(tool: Tool, tmp_path: Path) -> None:
    put(tool, "x")
    new = tool("capy-store", "keygen").stdout.decode().strip()
    done = tool("capy-store", "encrypt", env={"CAPY_NEW_DB_KEY": new})
    assert (done.returncode, records(done.stdout)[0]["was"]) == (0, "encrypted")
    assert tool("capy-store", "sources").returncode == 6
    assert len(records(tool("capy-store", "sources", env={"CAPY_DB_KEY": new}).stdout)) == 1
    file = tmp_path / "new.key"
    file.write_text('it\'s a passphrase of some length, with "quotes"\n')
    file.chmod(0o600)
    done = tool("capy-store", "encrypt", "--new-key-file", file, "--keep-backup", env={"CAPY_DB_KEY": new})
    assert Path(records(done.stdout)[0]["backup"]).exists()
    left = tool("capy-store", "sources", env={"CAPY_DB_KEY": "", "CAPY_DB_KEY_FILE": str(file)})
    assert len(records(left.stdout)) == 1


def test_encrypt_takes_a_plaintext_store_in(tool: Tool, tmp_path: Path) -> None:
    path = tmp_path / "plain.db"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE t(a)")
    db.commit()
    db.close()
    assert tool("capy-store", "--db", path, "index", "--label", "x", stdin=b"text").returncode == 6
    done = tool("capy-store", "--db", path, "encrypt")
    assert (done.returncode, records(done.stdout)[0]["was"]) == (0, "plaintext")
    assert path.read_bytes()[:15] != b"SQLite format 3"


def test_encrypt_needs_a_store_and_a_new_key(tool: Tool) -> None:
    assert tool("capy-store", "encrypt").returncode == 3
    put(tool, "x")
    done = tool("capy-store", "encrypt")
    assert done.returncode == 2 and b"CAPY_NEW_DB_KEY" in done.stderr


def test_export_and_import_move_a_store(tool: Tool, tmp_path: Path) -> None:
    put(tool, "a")
    put(tool, "b", "# T\n\n" + "words " * 2000, "--type", "markdown", "--kind", "session")
    exported = tool("capy-store", "export").stdout
    other = tmp_path / "other.db"
    done = tool("capy-store", "--db", other, "import", stdin=exported)
    assert [record["status"] for record in records(done.stdout)] == ["indexed", "indexed"]
    assert all("store" not in record and isinstance(record["chunks"], int) for record in records(done.stdout))
    assert tool("capy-store", "--db", other, "export").stdout == exported
    assert [record["label"] for record in records(tool("capy-store", "export", "b").stdout)] == ["b"]
    assert tool("capy-store", "export", "nope").returncode == 3
    bad = tool("capy-store", "--db", other, "import", stdin=b"{}\n" + exported)
    assert (bad.returncode, records(bad.stderr)[0]["line"]) == (1, 1)
    assert [record["status"] for record in records(bad.stdout)] == ["unchanged", "unchanged"]


def test_an_export_that_nobody_reads_to_its_end_is_no_error(tool: Tool) -> None:
    for label in "abc":
        put(tool, label, "words\n" * 20_000)
    read, write = os.pipe()
    child = subprocess.Popen(
        [Path(sys.executable).with_name("capy-store"), "export"], stdout=write, stderr=subprocess.PIPE
    )
    os.close(write)
    os.read(read, 10)
    os.close(read)
    assert child.stderr is not None
    assert (child.wait(30), child.stderr.read()) == (141, b"")
    child.stderr.close()


@pytest.mark.parametrize(
    "command",
    [
        "index",
        "sources",
        "show",
        "delete",
        "cleanup",
        "stats",
        "dbsize",
        "doctor",
        "checkpoint",
        "which",
        "keygen",
        "encrypt",
        "export",
        "import",
    ],
)
def test_every_command_explains_itself_with_an_example(tool: Tool, command: str) -> None:
    done = tool("capy-store", command, "--help")
    assert done.returncode == 0 and b"Example:" in done.stdout and b"capy-store" in done.stdout


def test_saving_a_key_that_a_variable_hides_is_warned_about(tool: Tool) -> None:
    done = tool("capy-store", "keygen", "--save")  # CAPY_DB_KEY is set
    assert done.returncode == 0
    warning = records(done.stderr)[0]
    assert (warning["code"], warning["hint"]) == ("other_key", "unset CAPY_DB_KEY to use the new key")


def test_a_wrong_key_names_where_the_key_came_from(tool: Tool) -> None:
    put(tool, "x")
    done = tool("capy-store", "sources", env={"CAPY_DB_KEY": "x'" + "00" * 32 + "'"})
    assert done.returncode == 6
    assert "CAPY_DB_KEY" in records(done.stderr)[0]["hint"]


def test_lines_past_the_end_are_not_found(tool: Tool) -> None:
    put(tool, "x", "one\ntwo\n")
    done = tool("capy-store", "show", "x", "--lines", "100:140")
    assert (done.returncode, done.stdout) == (3, b"")
    assert "2 lines" in records(done.stderr)[0]["message"]
