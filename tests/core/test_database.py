from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlcipher3.dbapi2 as driver

from capy_core import database
from capy_core.database import Connection, Migration, checkpoint, integrity, open_database, translate, write
from capy_core.errors import Busy, CapyError, Corrupt, NotFound, TooLarge, TooNew, Unencrypted, Unwritable, WrongKey
from capy_core.keys import Key

KEY, OTHER = Key("x'" + "5a" * 32 + "'"), Key("x'" + "5b" * 32 + "'")


def make_notes(db: Connection) -> None:
    db.execute("CREATE TABLE notes(id INTEGER PRIMARY KEY, text TEXT)")


FIRST = Migration(1, "initial", make_notes)
SECOND = Migration(2, "dates", lambda db: db.execute("ALTER TABLE notes ADD COLUMN day INTEGER DEFAULT 7"))
STEPS = (FIRST,)

# What a second process does to the same file
PREPARE = """
import sys, time
from pathlib import Path
from capy_core.database import Migration, close, open_database, write
from capy_core.keys import Key
path, key = Path(sys.argv[1]), Key("x'" + "5a" * 32 + "'")
STEPS = (Migration(1, "initial", lambda db: db.execute("CREATE TABLE notes(id INTEGER PRIMARY KEY, text TEXT)")),)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "it's ?%23 ü" / "kb.db"


def filled(path: Path, rows: int = 1, key: Key = KEY) -> Path:
    """A database with rows of 100 bytes, closed."""
    db = open_database(path, key, STEPS)
    with write(db):
        db.executemany("INSERT INTO notes(text) VALUES(?)", [("x" * 100,)] * rows)
    database.close(db)
    return path


def count(db: Connection) -> int:
    return int(db.execute("SELECT count(*) FROM notes").fetchone()[0])


def plaintext(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    db = driver.connect(str(path))
    db.execute("CREATE TABLE notes(text TEXT)")
    db.close()
    return path


# --- opening ---


def test_a_new_database_is_private_encrypted_and_kept(path: Path) -> None:
    filled(path, 3)
    assert path.stat().st_mode & 0o777 == 0o600 and path.parent.stat().st_mode & 0o777 == 0o700
    assert b"SQLite format" not in path.read_bytes() and b"xxxx" not in path.read_bytes()
    db = open_database(path, KEY, STEPS, create=False)
    assert count(db) == 3
    for suffix in ("-wal", "-shm"):
        assert Path(f"{path}{suffix}").stat().st_mode & 0o777 == 0o600
    settings = {
        name: db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous", "foreign_keys")
    }
    assert settings == {"journal_mode": "wal", "synchronous": 1, "foreign_keys": 1}
    database.close(db)
    assert [file.name for file in path.parent.iterdir()] == ["kb.db"]


@pytest.mark.parametrize("text", ["a passphrase", KEY.reveal()])
def test_another_sqlcipher_client_opens_it_with_the_key_alone(path: Path, text: str) -> None:
    filled(path, key=Key(text))
    db = driver.connect(str(path))
    db.execute(f"PRAGMA key = {Key(text).pragma_value}")
    assert count(db) == 1
    db.close()


def test_a_missing_database_is_not_made_when_that_was_not_asked_for(path: Path) -> None:
    with pytest.raises(NotFound, match="no database at") as caught:
        open_database(path, KEY, STEPS, create=False)
    assert caught.value.hint
    path.parent.mkdir()
    path.touch()
    with pytest.raises(NotFound):
        open_database(path, KEY, STEPS, create=False)
    assert path.stat().st_size == 0


@pytest.mark.parametrize("key", [OTHER, Key("a passphrase")])
def test_a_wrong_key_is_an_error_and_changes_nothing(
    path: Path, key: Key, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    before = filled(path).read_bytes()
    with pytest.raises(WrongKey, match=re.escape(str(path))) as caught:
        open_database(path, key, STEPS)
    assert key.reveal() not in str(caught.value) + repr(caught.value.__cause__)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["kb.db"]
    assert capfd.readouterr() == ("", "")


def test_a_wrong_key_leaves_the_log_of_a_killed_process_intact(path: Path, start: Any) -> None:
    filled(path)
    code = """
db = open_database(path, key, STEPS)
with write(db): db.execute("INSERT INTO notes DEFAULT VALUES")
print(flush=True)
time.sleep(60)
"""
    process = start(PREPARE + code, path)
    process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert Path(f"{path}-wal").stat().st_size > 0
    with pytest.raises(WrongKey):
        open_database(path, OTHER, STEPS)
    db = open_database(path, KEY, STEPS)
    assert count(db) == 2
    db.close()


def test_a_plaintext_database_is_recognised_and_left_alone(path: Path) -> None:
    before = plaintext(path).read_bytes()
    with pytest.raises(Unencrypted) as caught:
        open_database(path, KEY, STEPS)
    assert "capy-store encrypt" in caught.value.hint
    assert path.read_bytes() == before


# --- garbage and damage ---


@pytest.mark.parametrize("size", [1, 16, 511])
def test_garbage_is_moved_aside_and_the_database_made_anew(path: Path, size: int) -> None:
    path.parent.mkdir()
    garbage = b"garbage!" * 64
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").write_bytes(garbage[:size])
    warnings: list[tuple[str, str, str]] = []
    db = open_database(path, KEY, STEPS, warn=lambda *words: warnings.append(words))
    assert count(db) == 0
    db.close()
    assert [code for code, _, _ in warnings] == ["database_recreated"] and str(size) in warnings[0][1]
    moved = sorted(file.name for file in path.parent.glob("*.corrupt.*"))
    assert [re.sub(r"\d{8}T\d{6}", "TIME", name) for name in moved] == [
        f"kb.db.corrupt.TIME{suffix}" for suffix in ("", "-shm", "-wal")
    ]
    assert all((path.parent / name).read_bytes() == garbage[:size] for name in moved)


def test_two_moves_in_one_second_overwrite_nothing(path: Path) -> None:
    path.parent.mkdir()
    for number in range(3):
        path.write_bytes(b"%d" % number)
        open_database(path, KEY, STEPS).close()
        path.unlink()
    assert sorted(file.read_bytes() for file in path.parent.glob("kb.db.corrupt.*")) == [b"0", b"1", b"2"]


def test_garbage_is_not_touched_when_nothing_may_be_made(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"garbage")
    for options in ({"create": False}, {"readonly": True}):
        with pytest.raises(Corrupt, match="7 bytes"):
            open_database(path, KEY, STEPS, **options)
    assert path.read_bytes() == b"garbage"


@pytest.mark.parametrize("data", [b"garbage!" * 64, b"SQLite format 3\0" + b"\xff" * 5000, os.urandom(8192)])
def test_a_large_file_that_is_no_database_is_never_replaced(path: Path, data: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(data)
    with pytest.raises(WrongKey):
        open_database(path, KEY, STEPS)
    assert path.read_bytes() == data and len(list(path.parent.iterdir())) == 1


def test_a_damaged_page_is_told_by_queries_and_by_the_check(path: Path) -> None:
    data = bytearray(filled(path, 2000).read_bytes())
    assert integrity(path, KEY) == []
    data[4096 * 20 + 100] ^= 1
    path.write_bytes(data)
    db = open_database(path, KEY, STEPS)
    with pytest.raises(Corrupt) as caught, translate():
        db.execute("SELECT sum(length(text)) FROM notes").fetchone()
    assert caught.value.hint and caught.value.exit_code == 6
    db.close()
    assert any("page 21" in problem for problem in integrity(path, KEY))
    path.write_bytes(data[: 4096 * 30])
    assert integrity(path, KEY)


def test_a_damaged_schema_is_an_error_and_the_file_stays(path: Path) -> None:
    filled(path)
    db = driver.connect(str(path), isolation_level=None)
    db.execute(f"PRAGMA key = {KEY.pragma_value}")
    db.execute("PRAGMA writable_schema = ON")
    db.execute("UPDATE sqlite_master SET sql = 'CREATE TABLE notes(' WHERE name = 'notes'")
    db.close()
    before = path.read_bytes()
    with pytest.raises(Corrupt) as caught:
        open_database(path, KEY, STEPS)
    assert caught.value.hint
    assert path.read_bytes() == before and not list(path.parent.glob("*.corrupt*"))


def test_damaged_full_text_data_is_no_empty_answer(path: Path) -> None:
    def steps(db: Connection) -> None:
        db.execute("CREATE VIRTUAL TABLE f USING fts5(body, content='', contentless_delete=1)")

    db = open_database(path, KEY, (Migration(1, "fts", steps),))
    with write(db):
        db.executemany("INSERT INTO f(rowid, body) VALUES(?, ?)", [(n, f"word{n} common") for n in range(500)])
    db.execute("UPDATE f_data SET block = zeroblob(16) WHERE id > 10")
    db.close()
    db = open_database(path, KEY, (Migration(1, "fts", steps),))
    with pytest.raises(Corrupt), translate():
        # SQLite 3.51 answers 0 to a plain word here, 3.53 an error to both
        db.execute("SELECT count(*) FROM f WHERE f MATCH 'wor*'").fetchall()
    db.close()
    assert any("fts5" in problem for problem in integrity(path, KEY))


def test_the_check_does_not_cry_wolf_while_others_write(path: Path, start: Any) -> None:
    filled(path, 500)
    process = start(
        PREPARE
        + """
db = open_database(path, key, STEPS)
print(flush=True)
while True:
    with write(db): db.executemany("INSERT INTO notes(text) VALUES(?)", [("y" * 3000,)] * 30)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
""",
        path,
    )
    process.stdout.readline()
    for _ in range(8):
        assert integrity(path, KEY) == []


# --- versions ---


def test_steps_run_once_in_order_and_are_recorded(path: Path) -> None:
    filled(path)
    db = open_database(path, KEY, (SECOND, FIRST))
    assert db.execute("SELECT day FROM notes").fetchall() == [(7,)]
    assert [name for (name,) in db.execute("SELECT name FROM migrations ORDER BY rowid")] == ["initial", "dates"]
    assert db.execute("PRAGMA user_version").fetchone() == (2,)
    database.close(db)
    database.close(open_database(path, KEY, (FIRST, SECOND)))


def test_a_failing_step_leaves_no_trace(path: Path) -> None:
    filled(path)

    def failing(db: Connection) -> None:
        db.execute("CREATE TABLE half(a)")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        open_database(path, KEY, (FIRST, Migration(2, "failing", failing)))
    db = open_database(path, KEY, STEPS)
    assert [name for (name,) in db.execute("SELECT name FROM migrations")] == ["initial"]
    assert db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'half'").fetchone() == (0,)
    db.close()


@pytest.mark.parametrize("options", [{}, {"create": False}, {"readonly": True}])
def test_a_newer_schema_is_refused_naming_both_versions(path: Path, options: dict[str, bool]) -> None:
    filled(path)
    db = driver.connect(str(path), isolation_level=None)
    db.execute(f"PRAGMA key = {KEY.pragma_value}")
    db.execute("PRAGMA user_version = 999")
    db.close()
    before = path.read_bytes()
    with pytest.raises(TooNew, match=r"version 999.* up to 1") as caught:
        open_database(path, KEY, STEPS, **options)
    assert caught.value.details["version"] == 999 and caught.value.details["known"] == 1
    assert path.read_bytes() == before


# --- several processes ---


@pytest.mark.parametrize("before", [None, b"", b"garbage", "older schema"])
def test_eight_processes_that_open_a_file_at_once_all_succeed(path: Path, start: Any, before: Any) -> None:
    path.parent.mkdir()
    if isinstance(before, bytes):
        path.write_bytes(before)
    elif before:
        filled(path, 0)
    code = (
        PREPARE
        + """
STEPS += (Migration(2, "slow", lambda db: (db.execute("ALTER TABLE notes ADD COLUMN day"), time.sleep(0.02))),)
print("ready", flush=True); sys.stdin.readline()
db = open_database(path, key, STEPS)
with write(db): db.execute("INSERT INTO notes(text) VALUES('x')")
close(db)
print("done", flush=True)
"""
    )
    processes = [start(code, path) for _ in range(8)]
    for process in processes:
        assert process.stdout.readline() == b"ready\n"
    for process in processes:
        process.stdin.write(b"\n")
        process.stdin.flush()
    assert [process.stdout.readline() for process in processes] == [b"done\n"] * 8
    db = open_database(path, KEY, (FIRST, SECOND))
    assert count(db) == 8
    assert db.execute("SELECT count(*) FROM migrations").fetchone() == (2,)
    db.close()
    assert len(list(path.parent.glob("*.corrupt.*"))) == (1 if before == b"garbage" else 0)
    assert integrity(path, KEY) == []


def test_a_writer_holds_up_no_reader_and_a_second_writer_waits(path: Path, start: Any) -> None:
    filled(path)
    process = start(
        PREPARE
        + """
db = open_database(path, key, STEPS)
with write(db):
    db.execute("INSERT INTO notes(text) VALUES('x')")
    print("holding", flush=True)
    sys.stdin.readline()
print("done", flush=True)
""",
        path,
    )
    assert process.stdout.readline() == b"holding\n"
    db = open_database(path, KEY, STEPS)
    assert count(db) == 1
    with pytest.raises(Busy) as caught, write(db, wait_s=0.2):
        pass
    assert caught.value.exit_code == 5 and caught.value.hint
    process.stdin.write(b"\n")
    process.stdin.flush()
    with write(db):
        db.execute("INSERT INTO notes(text) VALUES('y')")
    assert count(db) == 3
    db.close()


def test_a_killed_writer_loses_only_what_it_was_writing(path: Path, start: Any) -> None:
    filled(path, 0)
    code = (
        PREPARE
        + """
db = open_database(path, key, STEPS)
while True:
    with write(db):
        db.executemany("INSERT INTO notes(text) VALUES(?)", [("y" * 2000,)] * 10)
    print("x", flush=True)
"""
    )
    told = 0
    for round_ in range(6):
        process = start(code, path)
        process.stdout.readline()
        time.sleep(0.02 * round_)
        process.send_signal(signal.SIGKILL)
        process.wait()
        told += 1 + process.stdout.read().count(b"x")
        db = open_database(path, KEY, STEPS)
        assert count(db) % 10 == 0 and count(db) >= told * 10
        told = count(db) // 10
        db.close()
    assert integrity(path, KEY) == []


# --- transactions, checkpoint, close ---


def test_a_failed_transaction_is_rolled_back_and_the_next_one_works(path: Path) -> None:
    db = open_database(path, KEY, STEPS)
    with pytest.raises(ZeroDivisionError), write(db):
        db.execute("INSERT INTO notes(text) VALUES('x')")
        raise ZeroDivisionError
    with pytest.raises(driver.IntegrityError), write(db):
        db.execute("INSERT INTO notes(id) VALUES(1)")
        db.execute("INSERT INTO notes(id) VALUES(1)")
    with write(db):
        db.execute("INSERT INTO notes(text) VALUES('y')")
    assert [text for (text,) in db.execute("SELECT text FROM notes")] == ["y"]
    db.close()


def test_a_full_disk_is_told_and_what_was_stored_before_stays(path: Path) -> None:
    filled(path, 10)
    db = open_database(path, KEY, STEPS)
    db.execute("PRAGMA max_page_count = 5")
    with pytest.raises(Unwritable, match="full") as caught, write(db):
        db.executemany("INSERT INTO notes(text) VALUES(?)", [("z" * 3000,)] * 50)
    assert caught.value.hint
    assert not db.in_transaction and count(db) == 10
    db.close()


def test_a_disk_that_stops_taking_bytes_is_told(path: Path, python: Any) -> None:
    filled(path, 10)
    code = (
        PREPARE
        + """
import resource
db = open_database(path, key, STEPS)
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
try:
    with write(db): db.executemany("INSERT INTO notes(text) VALUES(?)", [("z" * 3000,)] * 50)
except Exception as ex:
    print(type(ex).__name__)
print(db.execute("SELECT count(*) FROM notes").fetchone()[0])
"""
    )
    done = python(code, path)
    assert (done.stdout, done.stderr) == (b"Unwritable\n10\n", b"")
    assert integrity(path, KEY) == []


def test_a_checkpoint_empties_the_log_and_tells_who_is_in_the_way(path: Path) -> None:
    filled(path)
    db, reader = open_database(path, KEY, STEPS), open_database(path, KEY, STEPS)
    with write(db):
        db.execute("INSERT INTO notes(text) VALUES('x')")
    reader.execute("BEGIN")
    assert count(reader) == 2
    with write(db):
        db.execute("INSERT INTO notes(text) VALUES('y')")
    db.execute("PRAGMA busy_timeout = 100")
    assert checkpoint(db) is True
    reader.execute("COMMIT")
    assert checkpoint(db) is False
    assert Path(f"{path}-wal").stat().st_size == 0
    db.close()
    reader.close()


def test_closing_empties_a_large_log_even_when_others_stay(path: Path) -> None:
    filled(path)
    other, db = open_database(path, KEY, STEPS), open_database(path, KEY, STEPS)
    db.execute("PRAGMA wal_autocheckpoint = 0")
    with write(db):
        db.executemany("INSERT INTO notes(text) VALUES(?)", [("z" * 3000,)] * 2000)
    assert Path(f"{path}-wal").stat().st_size > 4 * 1024 * 1024
    database.close(db)
    assert Path(f"{path}-wal").stat().st_size == 0
    assert count(other) == 2001
    database.close(other)
    assert [file.name for file in path.parent.iterdir()] == ["kb.db"]


def test_a_second_connection_in_this_process_does_not_drop_the_locks_of_the_first(path: Path, python: Any) -> None:
    filled(path)
    first = open_database(path, KEY, STEPS)
    with pytest.raises(WrongKey):
        open_database(path, OTHER, STEPS)
    database.close(open_database(path, KEY, STEPS))
    # SQLite's shared range of the main file (sqlite.org/src, os.h): another process must not get it for itself
    code = """
        import fcntl, sys
        try:
            fcntl.lockf(open(sys.argv[1], "r+b"), fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)
        except OSError:
            print("held")
    """
    assert python(code, path).stdout == b"held\n"
    assert count(first) == 1
    first.close()


# --- reading only ---


def test_reading_only_refuses_to_write_and_to_upgrade(path: Path) -> None:
    with pytest.raises(NotFound):
        open_database(path, KEY, STEPS, readonly=True)
    filled(path)
    db = open_database(path, KEY, STEPS, readonly=True)
    assert count(db) == 1
    with pytest.raises(Unwritable), write(db):
        db.execute("INSERT INTO notes(text) VALUES('x')")
    db.close()
    with pytest.raises(Unwritable, match=r"version 1.* 2 first"):
        open_database(path, KEY, (FIRST, SECOND), readonly=True)
    with pytest.raises(WrongKey):
        open_database(path, OTHER, STEPS, readonly=True)


def test_reading_only_sees_what_a_live_writer_commits(path: Path) -> None:
    filled(path)
    writer = open_database(path, KEY, STEPS)
    db = open_database(path, KEY, STEPS, readonly=True)
    with write(writer):
        writer.execute("INSERT INTO notes(text) VALUES('x')")
    assert count(db) == 2
    db.close()
    writer.close()


def test_reading_only_needs_no_permission_to_write(
    open_folder: Path, without_privileges: Callable[[Callable[[], Any]], Any]
) -> None:
    path = filled(open_folder / "kb.db", 3)
    path.chmod(0o444)
    open_folder.chmod(0o555)

    def attempt() -> list[Any]:
        try:
            open_database(path, KEY, STEPS)
            writable = "opened"
        except CapyError as ex:
            writable = type(ex).__name__
        return [count(open_database(path, KEY, STEPS, readonly=True)), writable]

    assert without_privileges(attempt) == [3, "Unwritable"]


def test_a_database_without_permission_to_read_is_named(
    open_folder: Path, without_privileges: Callable[[Callable[[], Any]], Any]
) -> None:
    path = filled(open_folder / "kb.db")
    path.chmod(0)

    def attempt() -> list[str]:
        try:
            open_database(path, KEY, STEPS)
        except Unwritable as ex:
            return [ex.message, ex.hint]
        return []

    message, hint = without_privileges(attempt)
    assert str(path) in message and "permissions" in hint


@pytest.mark.parametrize("place", ["/dev/null/kb.db", "/proc/none/sub/kb.db", "/dev/null", "/"])
def test_a_place_for_no_database_is_named(place: str) -> None:
    with pytest.raises(Unwritable) as caught:
        open_database(Path(place), KEY, STEPS)
    assert str(Path(place).parent) in caught.value.message and caught.value.hint


# --- errors of the driver ---


def test_a_value_too_large_for_sqlite_is_told(path: Path) -> None:
    db = open_database(path, KEY, STEPS)
    with pytest.raises(TooLarge), translate():
        db.execute("SELECT zeroblob(2000000000)").fetchone()
    db.close()


def test_a_wrong_statement_stays_the_drivers_error(path: Path) -> None:
    db = open_database(path, KEY, STEPS)
    with pytest.raises(driver.OperationalError, match="syntax"), translate():
        db.execute("SELEC 1")
    db.close()


def test_ctrl_c_ends_a_long_query(path: Path, start: Any) -> None:
    code = (
        PREPARE
        + """
from capy_core.database import translate
db = open_database(path, key, STEPS)
print("running", flush=True)
try:
    with translate():
        db.execute("WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT sum(i) FROM r").fetchone()
except KeyboardInterrupt:
    print("interrupted", flush=True)
print(db.execute("SELECT count(*) FROM notes").fetchone()[0], flush=True)
"""
    )
    process = start(code, path)
    assert process.stdout.readline() == b"running\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == b"interrupted\n"
    assert process.stdout.readline() == b"0\n"


def test_an_interrupt_in_another_thread_is_an_error_and_no_ctrl_c(path: Path) -> None:
    import threading

    db = open_database(path, KEY, STEPS)
    seen: list[BaseException] = []

    def work() -> None:
        try:
            with translate():
                db.execute(
                    "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT sum(i) FROM r"
                ).fetchone()
        except BaseException as ex:
            seen.append(ex)

    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive():
        db.interrupt()
        thread.join(0.01)
    assert isinstance(seen[0], Busy)
    db.close()
