"""The steps from nothing to the newest schema. A released step is never edited."""

from __future__ import annotations

from capy_core.database import Connection, Migration

from . import schema


def m001_initial(db: Connection) -> None:
    for statement in schema.ALL:
        db.execute(statement)


MIGRATIONS = (Migration(1, "initial", m001_initial),)
