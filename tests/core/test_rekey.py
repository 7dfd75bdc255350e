from __future__ import annotations

import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import sqlcipher3.dbapi2 as driver

from capy_core import rekey as module
from capy_core.database import Connection, Migration, close, integrity, open_database
from capy_core.errors import Busy, Corrupt, NotFound, Unencrypted, Unwritable, WrongKey
from capy_core.keys import Key
from capy_core.rekey import rekey

RAW, OTHER, WORDS = Key("x'" + "5a" * 32 + "'"), Key("x'" + "5b" * 32 + "'"), Key("p'a\"s;-- \U0001f600")

SCHEMA = (
    "CREATE TABLE sources(id INTEGER PRIMARY KEY AUTOINCREMENT, label TEXT NOT NULL UNIQUE)",
    "CREATE TABLE bare(a)",
    "CREATE INDEX bare_a ON bare(a)",
    "CREATE VIEW seen AS SELECT a FROM bare",
    "CREATE TABLE pairs(k TEXT PRIMARY KEY, v BLOB) WITHOUT ROWID",
    'CREATE TABLE "it\'s; odd"("a b")',
    "CREATE TRIGGER note AFTER INSERT ON sources BEGIN INSERT INTO bare VALUES(new.label); END",
    "CREATE VIRTUAL TABLE words USING fts5(body, tokenize='porter', content='', contentless_delete=1)",
    "CREATE VIRTUAL TABLE pieces USING fts5(body, tokenize='trigram', detail=none, content='', contentless_delete=1)",
    "INSERT INTO words(words, rank) VALUES('pgsz', 3960)",
)


def make(db: Connection) -> None:
    for statement in SCHEMA:
        db.execute(statement)
    for number in range(1, 301):
        db.execute("INSERT INTO sources(label) VALUES(?)", (f"label {number}",))
        db.execute("INSERT INTO words(rowid, body) VALUES(?, ?)", (number, f"word{number} common"))
        db.execute("INSERT INTO pieces(rowid, body) VALUES(?, ?)", (number, f"word{number} common"))
    db.execute("INSERT INTO pairs VALUES('k', ?)", (bytes(range(256)) * 40,))
    db.execute("INSERT INTO \"it's; odd\" VALUES('x')")
    db.execute("DELETE FROM words WHERE rowid = 7")
    db.execute("DELETE FROM sources WHERE id = 300")


STEPS = (Migration(1, "initial", make),)


def encrypted(path: Path, key: Key = RAW) -> Path:
    close(open_database(path, key, STEPS))
    return path


def plaintext(path: Path) -> Path:
    db = driver.connect(str(path), isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("BEGIN")
    make(db)
    db.execute("COMMIT")
    db.execute("PRAGMA user_version = 1")
    db.execute("PRAGMA application_id = 77")
    db.close()
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "it's here"
    folder.mkdir()
    return folder / "kb.db"


def assert_whole(path: Path, key: Key) -> None:
    """Opened as any SQLCipher 4 client would: the key and nothing else."""
    db = driver.connect(str(path), isolation_level=None)
    db.execute(f"PRAGMA key = {key.pragma_value}")
    one = lambda sql: db.execute(sql).fetchone()[0]  # noqa: E731
    assert one("PRAGMA user_version") == 1
    assert (
        one("SELECT count(*) FROM sources"),
        one("SELECT count(*) FROM seen"),
        one('SELECT count(*) FROM "it\'s; odd"'),
    ) == (299, 300, 1)
    assert one("SELECT v FROM pairs") == bytes(range(256)) * 40
    assert db.execute("SELECT rowid FROM words WHERE words MATCH 'word77'").fetchall() == [(77,)]
    assert one("SELECT count(*) FROM words WHERE words MATCH 'commons'") == 299
    assert one('SELECT count(*) FROM pieces WHERE pieces MATCH \'"rd2" AND "d29"\'') == 11
    assert one("SELECT v FROM words_config WHERE k = 'pgsz'") == 3960
    db.execute("INSERT INTO sources(label) VALUES('new')")
    assert one("SELECT max(id) FROM sources") == 301
    assert one("PRAGMA integrity_check") == "ok"
    db.execute("DELETE FROM sources WHERE id = 301")
    db.execute("DELETE FROM bare WHERE a = 'new'")
    db.close()
    assert integrity(path, key) == []


@pytest.mark.parametrize(
    ("old", "new"), [(None, RAW), (None, WORDS), (RAW, OTHER), (RAW, WORDS), (WORDS, RAW), (RAW, RAW)]
)
def test_the_copy_holds_everything_under_the_new_key_only(path: Path, old: Key | None, new: Key) -> None:
    if old is None:
        plaintext(path)
    else:
        encrypted(path, old)
    path.chmod(0o640)
    result = rekey(path, old, new)
    assert result.backup is None and result.size == path.stat().st_size
    assert [file.name for file in path.parent.iterdir()] == ["kb.db"]
    assert path.stat().st_mode & 0o777 == 0o640
    if old is None:
        assert b"SQLite format" not in path.read_bytes()
    elif old is not new:
        with pytest.raises(WrongKey):
            open_database(path, old, STEPS)
    assert_whole(path, new)
    db = open_database(path, new, STEPS)
    db.execute("INSERT INTO words(rowid, body) VALUES(999, 'fresh')")
    assert db.execute("SELECT rowid FROM words WHERE words MATCH 'fresh'").fetchall() == [(999,)]
    close(db)


def test_the_identity_of_an_application_survives(path: Path) -> None:
    rekey(plaintext(path), None, RAW)
    rekey(path, RAW, OTHER)
    db = open_database(path, OTHER, STEPS)
    assert db.execute("PRAGMA application_id").fetchone() == (77,)
    close(db)


def test_what_lies_in_the_log_of_a_killed_process_comes_along(path: Path, start: Any) -> None:
    encrypted(path)
    code = """
        import sys, time
        from pathlib import Path
        from capy_core.database import connect, write
        from capy_core.keys import Key
        db = connect(Path(sys.argv[1]), Key("x'" + "5a" * 32 + "'"))
        with write(db): db.execute("INSERT INTO bare VALUES('late')")
        print(flush=True); time.sleep(60)
    """
    process = start(code, path)
    process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()
    rekey(path, RAW, OTHER)
    db = open_database(path, OTHER, STEPS)
    assert db.execute("SELECT count(*) FROM bare WHERE a = 'late'").fetchone() == (1,)
    close(db)


def test_a_kept_backup_opens_with_the_old_key(path: Path) -> None:
    result = rekey(encrypted(path), RAW, OTHER, keep_backup=True)
    assert result.backup is not None and result.backup.name.startswith("kb.db.bak.2")
    assert_whole(result.backup, RAW)
    assert_whole(path, OTHER)
    again = rekey(path, OTHER, RAW, keep_backup=True)
    assert again.backup not in (None, result.backup)


def test_a_removed_plaintext_file_is_overwritten(path: Path) -> None:
    plaintext(path)
    with path.open("rb") as old:  # keeps the old file readable
        rekey(path, None, RAW)
        old.seek(0)
        assert set(old.read()) == {0}


def test_a_hard_link_of_the_users_own_is_left_alone(path: Path) -> None:
    mine = path.with_name("mine.db")
    os.link(plaintext(path), mine)
    rekey(path, None, RAW)
    db = driver.connect(str(mine))
    assert db.execute("SELECT count(*) FROM sources").fetchone() == (299,)
    db.close()


def test_a_symbolic_link_stays_one(path: Path) -> None:
    real = path.with_name("real.db")
    encrypted(real)
    path.symlink_to("real.db")
    rekey(path, RAW, OTHER)
    assert path.is_symlink()
    assert_whole(real, OTHER)


@pytest.mark.parametrize(("old", "error"), [(OTHER, WrongKey), (WORDS, WrongKey), (None, WrongKey)])
def test_the_wrong_old_key_changes_nothing(path: Path, old: Key | None, error: type[Exception]) -> None:
    before = encrypted(path).read_bytes()
    with pytest.raises(error):
        rekey(path, old, RAW)
    assert path.read_bytes() == before and [file.name for file in path.parent.iterdir()] == ["kb.db"]


def test_a_plaintext_file_said_to_be_encrypted_is_recognised(path: Path) -> None:
    plaintext(path)
    with pytest.raises(Unencrypted):
        rekey(path, RAW, OTHER)
    with pytest.raises(NotFound):
        rekey(path.with_name("none.db"), RAW, OTHER)


@pytest.mark.parametrize("key", [None, RAW])
def test_an_idle_connection_of_another_process_makes_it_busy(path: Path, start: Any, key: Key | None) -> None:
    before = (plaintext(path) if key is None else encrypted(path)).read_bytes()
    code = """
        import sys
        import sqlcipher3.dbapi2 as driver
        db = driver.connect(sys.argv[1], isolation_level=None)
        if sys.argv[2]: db.execute(f'PRAGMA key = "{sys.argv[2]}"')
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("SELECT * FROM sources").fetchone()
        print("open", flush=True); sys.stdin.readline()
    """
    process = start(code, path, key.reveal() if key else "")
    assert process.stdout.readline() == b"open\n"
    with pytest.raises(Busy):
        rekey(path, key, OTHER)
    process.kill()
    process.wait()
    assert path.read_bytes() == before
    rekey(path, key, OTHER)
    assert_whole(path, OTHER)


def test_a_program_that_opens_it_during_the_swap_gets_the_new_file(path: Path, start: Any) -> None:
    encrypted(path)
    code = """
        import sys
        from pathlib import Path
        from capy_core.database import Migration, close, open_database, write
        from capy_core.errors import Busy, WrongKey
        from capy_core.keys import Key
        keys = [Key("x'" + pair * 32 + "'") for pair in ("5a", "5b")]
        print("ready", flush=True)
        for number in range(30):
            for key in keys:
                try:
                    db = open_database(Path(sys.argv[1]), key, (Migration(1, "initial", lambda db: None),))
                    with write(db): db.execute("INSERT INTO bare VALUES('mine')")
                    close(db)
                    break
                except (WrongKey, Busy):
                    pass
            else:
                print("neither", flush=True)
                continue
            print("stored", flush=True)
    """
    process = start(code, path)
    process.stdout.readline()
    old, new = RAW, OTHER
    while process.poll() is None:
        try:
            rekey(path, old, new)
        except Busy:
            continue
        old, new = new, old
    stored = process.stdout.read().count(b"stored")
    db = open_database(path, old, STEPS)
    assert stored > 0 and db.execute("SELECT count(*) FROM bare WHERE a = 'mine'").fetchone() == (stored,)
    close(db)


def test_a_copy_that_differs_is_not_swapped_in(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encrypted(path)
    copy = module._copy

    def lossy(db: Connection, target: Path, old: Key | None, new: Key) -> None:
        copy(db, target, old, new)
        other = module.connect(target, new)
        other.execute("DELETE FROM bare WHERE rowid = 1")
        other.close()

    monkeypatch.setattr(module, "_copy", lossy)
    with pytest.raises(Corrupt, match="differ"):
        rekey(path, RAW, OTHER)
    assert [file.name for file in path.parent.iterdir()] == ["kb.db"]
    assert_whole(path, RAW)


@pytest.mark.parametrize("key", ["plain", "raw"])
def test_on_a_full_disk_the_old_file_stays(path: Path, python: Any, key: str) -> None:
    if key == "plain":
        plaintext(path)
    else:
        encrypted(path)
    code = """
        import resource, sys
        from pathlib import Path
        from capy_core.keys import Key
        from capy_core.rekey import rekey
        raw = Key("x'" + "5a" * 32 + "'")
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
        try:
            rekey(Path(sys.argv[1]), None if sys.argv[2] == "plain" else raw, Key("x'" + "5b" * 32 + "'"))
        except Exception as ex:
            print(type(ex).__name__)
    """
    done = python(code, path, key)
    assert (done.stdout, done.stderr) == (b"Unwritable\n", b"")
    assert [file.name for file in path.parent.iterdir()] == ["kb.db"]
    rekey(path, None if key == "plain" else RAW, OTHER)
    assert_whole(path, OTHER)


def test_without_permission_for_the_folder_the_old_file_stays(open_folder: Path, without_privileges: Any) -> None:
    path = encrypted(open_folder / "kb.db")
    path.chmod(0o666)
    open_folder.chmod(0o555)

    def attempt() -> str:
        try:
            rekey(path, RAW, OTHER)
        except Unwritable as ex:
            return type(ex).__name__
        return "done"

    assert without_privileges(attempt) == "Unwritable"
    open_folder.chmod(0o755)
    assert_whole(path, RAW)


@pytest.mark.parametrize("kind", ["plain", "raw"])
def test_a_kill_at_any_instant_leaves_the_old_or_the_new_file(path: Path, start: Any, kind: str) -> None:
    code = """
        import sys
        from pathlib import Path
        from capy_core.keys import Key
        from capy_core.rekey import rekey
        path, raw = Path(sys.argv[1]), Key("x'" + "5a" * 32 + "'")
        print("ready", flush=True)
        rekey(path, None if sys.argv[2] == "plain" else raw, Key("x'" + "5b" * 32 + "'"))
        print("done", flush=True)
    """
    old = None if kind == "plain" else RAW
    original = path.with_name("original")
    if old is None:
        plaintext(original)
    else:
        encrypted(original)
    outcomes = set()
    for round_ in range(10):
        shutil.copyfile(original, path)
        process = start(code, path, kind)
        process.stdout.readline()
        time.sleep(0.008 * round_)
        process.send_signal(signal.SIGKILL)
        process.wait()
        try:
            assert_whole(path, OTHER)
            outcomes.add("new")
        except (WrongKey, driver.DatabaseError):
            rekey(path, old, OTHER)  # the old file is whole, and what the killed run left is no hindrance
            assert_whole(path, OTHER)
            outcomes.add("old")
    assert "old" in outcomes
