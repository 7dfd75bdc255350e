"""capy-store keygen and encrypt: make a key, and put the database under another one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from capy_core import keys
from capy_core.cli import App, common_options, write_stdout
from capy_core.errors import NotFound, UsageError
from capy_core.keys import Key
from capy_core.records import Record

from .opening import place

_NEW = "CAPY_NEW_DB_KEY"


@click.command()
@click.option("--save", is_flag=True, help="Save it as your key file (0600) instead of printing it.")
@common_options
@click.pass_obj
def keygen(app: App, save: bool) -> None:
    """Make a raw 256-bit key, and print it.

    A raw key opens a database in a millisecond, a passphrase in a tenth of a second. Without the key nobody can read
    the database, you included: keep a copy in a password manager.

    \b
    Example:
        capy-store keygen --save
        capy-store keygen > other.key && chmod 600 other.key
    """
    key = keys.generate_raw_key()
    if save:
        path = keys.database_key_file()
        keys.save_key_file(path, key)
        _warn_of_other_key(app, path)
        app.emit({"schema": "capy.keygen/1", "path": str(path)}, lambda record: f"saved in {record['path']}")
    elif app.format == "json":
        app.emit({"schema": "capy.keygen/1", "key": key.reveal()})
    else:  # the bare key in a pipe too: it is for $(...)
        write_stdout(key.reveal().encode() + b"\n")


@click.command()
@click.option("--new-key-file", type=click.Path(path_type=Path), help="A file (0600) that holds the new key.")
@click.option("--keep-backup", is_flag=True, help="Keep the old file, under its old key or in plaintext.")
@common_options
@click.pass_obj
def encrypt(app: App, new_key_file: Path | None, keep_backup: bool) -> None:
    """Encrypt a plaintext database, or put an encrypted one under a new key.

    A plaintext database gets the key that capy-store uses anyway. For an encrypted one the new key comes from
    CAPY_NEW_DB_KEY, from --new-key-file, or from a question that does not show what you type. The old file is
    replaced only after the new one was read back and compared. Databases of other projects stay under the old key.

    \b
    Example:
        capy-store keygen > new.key && chmod 600 new.key
        capy-store encrypt --new-key-file new.key
        export CAPY_DB_KEY_FILE="$PWD/new.key"
    """
    from capy_core.rekey import rekey

    where = place(app)
    if not where.database.exists():
        raise NotFound(f"there is no database at {where.database}", "index something first", path=str(where.database))
    new = _new_key(new_key_file)
    old = None if _is_plaintext(where.database) else keys.database_key(where.config, app.warn)
    if new is None:
        new = keys.database_key(where.config, app.warn) if old is None else _asked()
    done = rekey(where.database, old, new, keep_backup=keep_backup)
    record = {
        "schema": "capy.encrypt/1",
        "database": str(where.database),
        "was": "plaintext" if old is None else "encrypted",
        "bytes": done.size,
        "backup": str(done.backup) if done.backup else None,
    }
    app.emit(record, _encrypted)


def _warn_of_other_key(app: App, path: Path) -> None:
    """A variable goes before the key file: what is indexed now would need that other key for ever."""
    for name in ("CAPY_DB_KEY", "CAPY_DB_KEY_FILE"):
        if os.environ.get(name):
            app.warn("other_key", f"{name} is set and goes before {path}", f"unset {name} to use the new key")


def _new_key(file: Path | None) -> Key | None:
    if file is not None:
        return keys.read_key_file(file)
    text = os.environ.get(_NEW)
    return Key(text) if text else None


def _asked() -> Key:
    if not sys.stdin.isatty():
        raise UsageError("no new key was given", f"set {_NEW}, or use --new-key-file; capy-store keygen makes one")
    return Key(click.prompt("New key", hide_input=True, confirmation_prompt=True, err=True))


def _is_plaintext(path: Path) -> bool:
    from capy_core.database import connect
    from capy_core.errors import WrongKey

    try:
        connect(path, None).close()
    except WrongKey:
        return False
    return True


def _encrypted(record: Record) -> str:
    kept = f"; the old file is {record['backup']}" if record["backup"] else ""
    return f"{record['database']} is under the new key{kept}; capy-store needs that key from now on"
