"""The store of the command line: which one, with which key, opened how."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from capy_core import config as settings
from capy_core import keys, paths
from capy_core.cli import App
from capy_core.config import Config, Warn
from capy_core.errors import WrongKey

if TYPE_CHECKING:
    from ..store import Store


@dataclass(frozen=True)
class Place:
    """Where a command works: the project, its settings, its database."""

    root: Path
    config: Config
    database: Path


def place(app: App, *, warn: Warn | None = None) -> Place:
    """The project and database that the options and the environment name; `warn` instead of the App's own."""
    root = paths.project_root(app.project_dir)
    config = settings.load(root, warn or app.warn)
    return Place(root, config, app.database or paths.database_path(config, root))


def open_store(app: App, *, create: bool = False, readonly: bool = False) -> Store:
    """Open the store that the options and the environment name.

    Raises:
        NotFound: there is none and `create` is false. Also what `Store.open` raises.
    """
    from ..store import Store

    where = place(app)
    key = keys.database_key(where.config, app.warn)
    if create:
        paths.claim_folder(where.database, where.root)
    try:
        return Store.open(where.database, key, where.config.store, create=create, readonly=readonly, warn=app.warn)
    except WrongKey as ex:
        ex.hint = f"the key came from {keys.database_key_source(where.config)}; use the one it was made with"
        raise
