"""What the tools share: the project, its settings and rules, the knowledge base, the count of what was saved."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any

from .keeping import Keeper
from .reply import SEARCH_BUDGET
from .stats import Stats

if TYPE_CHECKING:
    from capy_core.config import Config
    from capy_core.keys import Key
    from capy_core.permissions import Rules
    from capy_store.store import Store

_EARLY = (
    "anyio._backends._asyncio",
    "capy_exec.run",
    "capy_mcp.tools.execute",
    "capy_store.evidence",
    "capy_store.store",
)
_IDLE_STORES = 4  # open connections that are kept for the next call
_LAST_WRITES_S = 1.0
_WINDOW_S = 60.0
_SEARCHED = 48_000  # bytes of search replies in a window; then they get shorter, and never none
_LEAST, _MOST = 1_500, 16_000


class Context:
    """One server's state. Its methods may be called from any thread.

    Attributes:
        project: the project's folder.
        stats: counts of this session and of all sessions.
        keeper: indexes output.
        lifeline: of what runs in the background: it ends when this process does.
        limiter: of calls at once; set by the server, which knows its event loop.
    """

    def __init__(self, project: Path) -> None:
        self.project = project
        self.stats = Stats.of_project(project)
        self.keeper = Keeper(self)
        self.lifeline, self._held = os.pipe()
        self.limiter: Any = None
        self._lock = Lock()
        self._idle: list[Store] = []
        self._key: Key | None = None
        self._shown: list[tuple[float, int]] = []
        self._closed = False

    @classmethod
    def of_environment(cls) -> Context:
        """The context of `$CLAUDE_PROJECT_DIR`, or of the folder in which the host started us.

        Never fails: where that is no folder, calls say what is wrong with it.
        """
        from capy_core.errors import CapyError
        from capy_core.paths import project_root

        try:
            return cls(project_root())
        except (CapyError, OSError) as ex:
            _warn("project", str(ex), getattr(ex, "hint", ""))
            return cls(Path(os.environ.get("CLAUDE_PROJECT_DIR") or "/"))

    def get_ready(self) -> None:
        """Do ahead what the first call would wait for. A key in the environment is taken out of it before any code
        runs that could read it in /proc; other sources of the key may ask the user, so they wait for their first use.
        """
        from importlib import import_module

        from capy_core.secrets import redact
        from capy_exec.process import get_ready

        get_ready()
        if os.environ.get("CAPY_DB_KEY"):
            with suppress(Exception):  # the call that needs it says what is wrong
                self.database_key()
        for module in _EARLY:
            import_module(module)
        with suppress(Exception):  # as above
            self.config()
            self.rules()
            redact("")
            self._open_early()

    def config(self) -> Config:
        """The settings as the files say now: a change counts without a restart.

        Raises:
            BadConfig: a file cannot be read.
        """
        from capy_core.config import load

        return load(self.project, _warn)

    def rules(self) -> Rules:
        """The user's permission rules as the files say now."""
        from capy_core.permissions import load

        return load(str(self.project))

    @contextmanager
    def store(self) -> Iterator[Store]:
        """An open knowledge base for one call; opened on first use, created when there is none.

        Raises:
            NoKey: there is no key; the hint names the command that makes one.
            DatabaseError: it cannot be opened.
        """
        store = self._take() or self._open()
        try:
            yield store
        finally:
            self._give_back(store)

    def close(self) -> None:
        """End what runs, write what waits, and close the knowledge base; its last connection folds the log into it."""
        os.close(self._held)
        self.keeper.wait(_LAST_WRITES_S)
        with self._lock:
            self._closed = True
            stores, self._idle = self._idle, []
        for store in stores:
            with suppress(Exception):  # the file is whole without it; nobody is left to tell
                store.close()

    def search_budget(self, queries: int) -> int:
        """Bytes for the reply to a search of several queries: fewer when much was shown in the last minute, by whatever
        agents share this server.
        """
        now = monotonic()
        with self._lock:
            self._shown = [(at, size) for at, size in self._shown if now - at < _WINDOW_S]
            left = _SEARCHED - sum(size for _, size in self._shown)
            budget = max(_LEAST, min(SEARCH_BUDGET + 1_000 * (queries - 1), _MOST, left))
            self._shown.append((now, budget))
        return budget

    def database_key(self) -> Key:
        """The key; looked up once, then gone from the environment that children and /proc could show.

        Raises:
            NoKey: there is none.
        """
        with self._lock:
            if self._key is None:
                from capy_core.keys import database_key
                from capy_exec.environment import scrub_own_keys

                self._key = database_key(self.config(), _warn)
                scrub_own_keys()
            return self._key

    def _open_early(self) -> None:
        """Open a knowledge base that is there: a passphrase takes a tenth of a second. None is created."""
        from capy_core.paths import database_path

        config = self.config()
        if not config.keys.db_command and database_path(config, self.project).exists():
            self._give_back(self._open())

    def _open(self) -> Store:
        from capy_core.paths import claim_folder, database_path
        from capy_store.store import Store

        config, key = self.config(), self.database_key()
        database = database_path(config, self.project)
        claim_folder(database, self.project)
        return Store.open(database, key, config.store, warn=_warn)

    def _take(self) -> Store | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _give_back(self, store: Store) -> None:
        with self._lock:
            if not self._closed and len(self._idle) < _IDLE_STORES:
                self._idle.append(store)
                return
        with suppress(Exception):
            store.close()


def _warn(_code: str, message: str, hint: str) -> None:
    """Warnings go to the host's log: an agent can do nothing about them."""
    print(f"capy-mcp: {message}; {hint}" if hint else f"capy-mcp: {message}", file=sys.stderr, flush=True)


def here(path: str, project: Path) -> Path:
    """A path that an agent names, relative to the project."""
    return Path(os.path.abspath(project / Path(path).expanduser()))
