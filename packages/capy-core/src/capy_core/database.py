"""One opener for every encrypted SQLite file: the store's and the vault's.

Signatures are settled; recovery, checks and error classes are being filled in.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import Busy
from .keys import Key

Connection = Any  # sqlcipher3.dbapi2.Connection, which ships no types


@dataclass(frozen=True)
class Migration:
    """One step of a schema. `apply` runs inside a transaction that also records the step."""

    version: int
    name: str
    apply: Callable[[Connection], None]


def open_database(path: Path, key: Key, migrations: Sequence[Migration], *, create: bool = True) -> Connection:
    """Open an encrypted database and bring it to the newest schema. Autocommit: use `write` for transactions."""
    import sqlcipher3.dbapi2 as driver

    path.parent.mkdir(parents=True, exist_ok=True)
    db = driver.connect(str(path), isolation_level=None, timeout=5, check_same_thread=False)
    db.execute(f"PRAGMA key = {key.pragma_value}")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("PRAGMA secure_delete = ON")
    db.execute("PRAGMA foreign_keys = ON")
    db.execute("PRAGMA busy_timeout = 0")
    done = db.execute("PRAGMA user_version").fetchone()[0]
    for step in migrations:
        if step.version > done:
            with write(db):
                step.apply(db)
                db.execute(f"PRAGMA user_version = {step.version}")
    return db


@contextmanager
def write(db: Connection, *, wait_s: float = 30.0) -> Iterator[Connection]:
    """A write transaction: BEGIN IMMEDIATE, retried with jitter until `wait_s`, then COMMIT or ROLLBACK.

    Raises:
        Busy: another process held the lock for longer.
    """
    import sqlcipher3.dbapi2 as driver

    deadline, pause = time.monotonic() + wait_s, 0.002
    while True:
        try:
            db.execute("BEGIN IMMEDIATE")
            break
        except driver.OperationalError as ex:
            if "locked" not in str(ex) and "busy" not in str(ex):
                raise
            if time.monotonic() > deadline:
                raise Busy(
                    f"the database stayed locked for {wait_s:.0f} s", "try again, or end the process that holds it"
                ) from ex
            time.sleep(random.uniform(0.001, pause))
            pause = min(pause * 2, 0.1)
    try:
        yield db
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
