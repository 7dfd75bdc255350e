"""Bytes kept out of the context and bytes let in, counted for every call, those that saved nothing included."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .call import Reply

_MOST_BYTES = 1 << 20  # of the file; then its lines are added up


class Total(NamedTuple):
    """Of one tool: calls, bytes that would have entered the context without capy, bytes that did."""

    calls: int = 0
    raw: int = 0
    returned: int = 0

    def __add__(self, other: object) -> Total:
        if not isinstance(other, Total):
            return NotImplemented
        return Total(self.calls + other.calls, self.raw + other.raw, self.returned + other.returned)

    @property
    def kept_out(self) -> int:
        """Bytes saved; less than nothing where replies were larger than what they stand for."""
        return self.raw - self.returned


class Stats:
    """Counts of this session in memory, of all sessions in a file: a line for each call, appended in one write, so that
    several servers of a project add to it side by side.
    """

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._lock = Lock()
        self._session: dict[str, Total] = {}
        self.started = time.time()

    @classmethod
    def of_project(cls, project: Path) -> Stats:
        """Those of a project, below the user's state folder; without a home folder they are not kept."""
        from capy_core.errors import CapyError
        from capy_core.paths import state_dir

        name = sha256(os.fsencode(str(project))).hexdigest()[:16]
        try:
            return cls(state_dir() / "stats" / f"{name}.ndjson")
        except CapyError:
            return cls(None)

    def count(self, tool: str, reply: Reply) -> None:
        """Count a call. Where nothing was kept out, the reply stands for itself and saves 0."""
        returned = len(reply.text.encode("utf-8", "replace"))
        total = Total(1, reply.raw_bytes or returned, returned)
        with self._lock:
            self._session[tool] = self._session.get(tool, Total()) + total
            self._append({"tool": tool, "calls": 1, "raw": total.raw, "returned": returned})

    def session(self) -> dict[str, Total]:
        """By tool, since this server started."""
        with self._lock:
            return dict(self._session)

    def all_time(self) -> dict[str, Total]:
        """By tool, of all servers of this project that ever ran. Lines that are torn or foreign are passed over."""
        totals: dict[str, Total] = {}
        with suppress(OSError):
            for line in self._file.read_bytes().splitlines() if self._file else ():
                with suppress(ValueError, KeyError, TypeError):
                    item = json.loads(line)
                    total = Total(int(item["calls"]), int(item["raw"]), int(item["returned"]))
                    totals[str(item["tool"])] = totals.get(str(item["tool"]), Total()) + total
        return totals

    def _append(self, item: dict[str, object]) -> None:
        if self._file is None:
            return
        with suppress(OSError):  # a full or read-only disk must not cost an answer
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(handle, json.dumps(item, separators=(",", ":")).encode() + b"\n")
                large = os.fstat(handle).st_size > _MOST_BYTES
            finally:
                os.close(handle)
            if large:
                self._add_up()

    def _add_up(self) -> None:
        """One line for each tool instead of thousands. A line that another server appends meanwhile may be lost."""
        from capy_core.atomic import write_file

        assert self._file is not None
        lines = [json.dumps({"tool": tool, **total._asdict()}) for tool, total in self.all_time().items()]
        write_file(self._file, ("\n".join(lines) + "\n").encode())
