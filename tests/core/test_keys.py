from __future__ import annotations

import copy
import os
import pickle
import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capy_core import keys
from capy_core.config import Config, KeysConfig
from capy_core.errors import BadInput, NoKey, Unwritable
from capy_core.keys import Key

RAW = "x'" + "5a" * 32 + "'"
LONG = "correct horse battery staple, and then some"
NASTY = ["p'a\"s;--", "x'00ff'", " lead and trail ", "\U0001f600", "a" * 300, "'", "a\nb\\%s?:x"]

passphrases = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)


def with_command(command: str) -> Config:
    return Config(keys=KeysConfig(db_command=command))


def write_key(path: Path, data: bytes, mode: int = 0o600) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)
    return path


class Warnings(list[str]):
    def __call__(self, code: str, message: str, hint: str) -> None:
        self.append(code)
        self.text = f"{message} {hint}"


# --- the value ---


@given(passphrases)
def test_any_passphrase_is_quoted_to_exactly_itself(text: str) -> None:
    import sqlcipher3.dbapi2 as driver

    db = driver.connect(":memory:")
    assert db.execute(f"SELECT {Key(text).pragma_value}").fetchone() == (text,)
    db.close()


@pytest.mark.parametrize("text", NASTY)
def test_a_passphrase_opens_its_own_database_and_no_other_does(tmp_path: Path, text: str) -> None:
    import sqlcipher3.dbapi2 as driver

    path = tmp_path / "it's here.db"
    db = driver.connect(str(path))
    db.execute(f"PRAGMA key = {Key(text).pragma_value}")
    db.execute("CREATE TABLE t(a)")
    db.close()
    # what SQLCipher itself makes of the bare text, bound as a value: the same key
    db = driver.connect(":memory:")
    db.execute("ATTACH ? AS other KEY ?", (str(path), text))
    assert db.execute("SELECT count(*) FROM other.sqlite_master").fetchone() == (1,)
    db.close()
    other = text.strip() if text.strip() != text else text + " "
    db = driver.connect(str(path))
    db.execute("PRAGMA cipher_log_level = NONE")
    db.execute(f"PRAGMA key = {Key(other).pragma_value}")
    with pytest.raises(driver.DatabaseError, match="not a database"):
        db.execute("SELECT * FROM t")
    db.close()


@pytest.mark.parametrize(
    ("text", "raw"),
    [
        (RAW, True),
        (RAW.upper(), True),
        ("x'" + "0" * 96 + "'", True),
        ("x'00ff'", False),
        (RAW + "\n", False),
        (RAW[2:-1], False),
        ("x'" + "g" * 64 + "'", False),
    ],
)
def test_only_sqlciphers_own_notation_is_a_raw_key(text: str, raw: bool) -> None:
    assert Key(text).is_raw is raw


def test_a_key_shows_nothing_of_itself_unasked() -> None:
    key = Key("very secret")
    assert "secret" not in repr(key) + str(key) + f"{key!r:>40}" + repr([key]) + repr({"k": key})
    assert not hasattr(key, "__dict__")
    for attempt in (lambda: pickle.dumps(key), lambda: copy.deepcopy(key), lambda: copy.copy(key)):
        with pytest.raises(TypeError):
            attempt()
    assert key.reveal() == "very secret"


@pytest.mark.parametrize("text", ["", "a\0secret", "a\udcffsecret"])
def test_a_key_that_sqlcipher_would_cut_or_drop_is_refused(text: str) -> None:
    with pytest.raises(NoKey) as caught:
        Key(text)
    assert "secret" not in str(caught.value) + caught.value.hint
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_new_keys_are_raw_and_differ() -> None:
    texts = {keys.generate_raw_key().reveal() for _ in range(50)}
    assert len(texts) == 50 and all(Key(text).is_raw for text in texts)


# --- the places ---


def test_the_first_place_that_is_set_decides(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = with_command("printf command-key")
    write_key(home / ".config" / "capy" / "db.key", b"saved-key\n")
    assert keys.database_key(Config()).reveal() == "saved-key"
    assert keys.database_key(config).reveal() == "command-key"
    monkeypatch.setenv("CAPY_DB_KEY_FILE", str(write_key(tmp_path / "k", b"file-key\n")))
    assert keys.database_key(config).reveal() == "file-key"
    monkeypatch.setenv("CAPY_DB_KEY", "variable-key")
    assert keys.database_key(config).reveal() == "variable-key"
    monkeypatch.setenv("CAPY_DB_KEY", "")
    assert keys.database_key(config).reveal() == "file-key"


def test_the_vault_has_its_own_places(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAPY_DB_KEY", "not this")
    with pytest.raises(NoKey, match="CAPY_VAULT_KEY"):
        keys.vault_key(Config())
    write_key(home / ".config" / "capy" / "vault.key", b"saved")
    assert keys.vault_key(Config()).reveal() == "saved"
    assert keys.vault_key(Config(keys=KeysConfig(vault_command="printf asked"))).reveal() == "asked"
    monkeypatch.setenv("CAPY_VAULT_KEY_FILE", str(write_key(tmp_path / "k", b"named")))
    assert keys.vault_key(Config()).reveal() == "named"
    monkeypatch.setenv("CAPY_VAULT_KEY", "set")
    assert keys.vault_key(Config()).reveal() == "set"


def test_the_source_of_a_key_is_named_without_the_key(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = write_key(home / ".config" / "capy" / "db.key", b"hush")
    assert keys.database_key_source(Config()) == str(saved)
    assert keys.database_key_source(with_command("printf hush")) == "[keys] db_command"
    monkeypatch.setenv("CAPY_DB_KEY", "hush")
    assert keys.database_key_source(Config()) == "CAPY_DB_KEY"


def test_no_key_names_the_one_command_that_makes_one() -> None:
    with pytest.raises(NoKey) as caught:
        keys.database_key(Config())
    assert caught.value.exit_code == 6
    assert caught.value.hint == "run: capy-store keygen --save"


def test_an_unusable_place_is_an_error_and_not_skipped(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_key(home / ".config" / "capy" / "db.key", b"saved-key\n")
    monkeypatch.setenv("CAPY_DB_KEY_FILE", "/nonexistent/key")
    with pytest.raises(NoKey, match="/nonexistent/key"):
        keys.database_key(Config())


# --- key files ---


@given(text=passphrases)
@settings(max_examples=50)
def test_a_saved_key_comes_back_to_the_letter(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("keys") / "new" / "db.key"
    keys.save_key_file(path, Key(text))
    assert keys.read_key_file(path).reveal() == text
    assert path.stat().st_mode & 0o777 == 0o600 and path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(("data", "text"), [(b"k", "k"), (b"k\n", "k"), (b"k\n\n", "k\n"), (b" k \r\n", " k \r")])
def test_one_newline_at_the_end_is_not_part_of_the_key(tmp_path: Path, data: bytes, text: str) -> None:
    assert keys.read_key_file(write_key(tmp_path / "k", data)).reveal() == text


def test_a_key_file_is_never_overwritten(tmp_path: Path) -> None:
    path = write_key(tmp_path / "k", b"old")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for target in (path, tmp_path / "link"):
        with pytest.raises(BadInput, match="exists"):
            keys.save_key_file(target, keys.generate_raw_key())
    assert path.read_bytes() == b"old" and not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("umask", [0, 0o777])
def test_the_umask_does_not_open_or_close_a_key_file(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        keys.save_key_file(tmp_path / "k", Key(LONG))
    finally:
        os.umask(before)
    assert (tmp_path / "k").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_key_file_open_to_others_is_refused(tmp_path: Path, mode: int) -> None:
    path = write_key(tmp_path / "k", b"secret", mode)
    with pytest.raises(NoKey, match=f"{mode:04o}") as caught:
        keys.read_key_file(path)
    assert caught.value.hint == f"run: chmod 600 {path}" and "secret" not in str(caught.value)


def test_a_key_file_of_another_user_is_refused(
    open_folder: Path, without_privileges: Callable[[Callable[[], Any]], Any]
) -> None:
    path = write_key(open_folder / "k", b"secret")
    os.chown(path, os.getuid(), os.getgid())
    mine = os.geteuid()

    def attempt() -> str:
        os.geteuid = lambda: mine + 1  # for a run that has no second user
        try:
            return keys.read_key_file(path).reveal()
        except NoKey as ex:
            return str(ex)

    answer = without_privileges(attempt)
    assert "belongs to another user" in answer or "Permission denied" in answer


@pytest.mark.parametrize("data", [b"", b"\n", b"a\0b", b"\xff\xfe", b"x" * 70_000])
def test_a_file_without_a_usable_key_is_named_and_not_shown(tmp_path: Path, data: bytes) -> None:
    path = write_key(tmp_path / "k", data)
    with pytest.raises(NoKey) as caught:
        keys.read_key_file(path)
    assert str(path) in caught.value.message and len(caught.value.message) < 300


def test_a_pipe_or_folder_in_place_of_a_key_file_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(NoKey, match="not a regular file"):
            keys.read_key_file(path)


def test_a_key_file_that_cannot_be_written_leaves_nothing(tmp_path: Path, python: Any) -> None:
    code = """
        import resource, signal, sys
        from pathlib import Path
        from capy_core import keys
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))  # a disk with no room for the key
        try:
            keys.save_key_file(Path(sys.argv[1]), keys.generate_raw_key())
        except Exception as ex:
            print(type(ex).__name__, ex)
    """
    done = python(code, tmp_path / "k")
    assert done.stdout.startswith(b"Unwritable cannot write") and done.stderr == b""
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(Unwritable):
        keys.save_key_file(Path("/proc/none/k"), Key(LONG))


# --- commands ---


def test_a_command_is_split_into_words_and_run_without_a_shell(tmp_path: Path) -> None:
    script = tmp_path / "it's me"
    script.write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    script.chmod(0o700)
    command = f"{shlex.quote(str(script))} 'a b' $HOME ;"
    assert keys.database_key(with_command(command)).reveal() == "a b|$HOME|;|"


def test_a_command_sees_no_key_and_no_input(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CAPY_VAULT_KEY", "CAPY_VAULT_KEY_FILE", "CAPY_DB_KEY"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("CAPY_VAULT_KEY", "other")
    monkeypatch.setenv("CAPY_NEW_DB_KEY", "next")
    code = "import os,sys; print([n for n in os.environ if n.startswith('CAPY_')], sys.stdin.read())"
    assert keys.database_key(with_command(shlex.join([sys.executable, "-c", code]))).reveal() == "[] "


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import sys; print('leaked'); sys.stderr.write('leaked'); sys.exit(3)", "exit status 3"),
        ("pass", "empty"),
        ("print()", "empty"),
        ("import sys; sys.stdout.buffer.write(b'leaked\\xff')", "not UTF-8"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "exit status -9"),
    ],
)
def test_a_command_that_gives_no_key_is_named_and_its_output_is_not(
    code: str, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(NoKey, match=said) as caught:
        keys.database_key(with_command(shlex.join([sys.executable, "-c", code])))
    told = str(caught.value) + caught.value.hint + repr(caught.value.__cause__) + "".join(capfd.readouterr())
    assert "db_command" in told and "leaked" not in told


@pytest.mark.parametrize("command", ["/nonexistent/tool", "'unclosed", " ", "/dev/null"])
def test_a_command_that_cannot_be_run_is_an_error(command: str) -> None:
    with pytest.raises(NoKey, match="db_command"):
        keys.database_key(with_command(command))


def test_a_command_that_does_not_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "_COMMAND_TIMEOUT_S", 0.5)
    note = tmp_path / "pid"
    with pytest.raises(NoKey, match="did not end"):
        keys.database_key(with_command(f"sh -c 'echo $$ > {note}; exec sleep 60'"))
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)


def test_what_a_command_leaves_running_does_not_hold_us_up(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    assert keys.database_key(with_command(f"sh -c 'sleep 25 & echo $! > {note}; printf found'")).reveal() == "found"
    os.kill(int(note.read_text()), signal.SIGTERM)  # fails if it is over: then we have waited for it


# --- warnings ---


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        (RAW, []),
        (LONG, []),
        ("hush hush", ["short_key"]),
        ("a" * 31, ["short_key"]),
        (RAW[2:-1], ["key_format"]),
        ("x'00ff'", ["key_format"]),
        (RAW[:-3] + "'", ["key_format"]),
        (RAW + " ", ["key_format"]),
        (LONG + "\r", ["key_format"]),
    ],
)
def test_a_doubtful_key_warns_without_showing_it(text: str, codes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAPY_DB_KEY", text)
    warnings = Warnings()
    assert keys.database_key(Config(), warnings).reveal() == text
    assert warnings == codes
    if codes:
        assert text not in warnings.text and "CAPY_DB_KEY" in warnings.text
