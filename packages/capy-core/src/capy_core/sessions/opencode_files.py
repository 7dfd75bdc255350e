"""OpenCode's storage before the database: a folder of small JSON files for each kind of record."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ..errors import NotFound
from ..records import loads
from .events import Origin, Session, Sidecar
from .lines import LIMIT
from .tree import Note, entries, folders, head, status
from .values import Json, mapping, seconds, string


class Item(NamedTuple):
    """A record as it is stored: its id, `Origin.source`, bytes (None: see `problem`, or beyond the limit), time."""

    id: str
    source: str
    size: int
    data: bytes | None
    time: float | None = None
    problem: str = ""


def is_session(path: Path) -> bool:
    """Whether a file lies where a session's own file does: `<any name>/session/<project>/<id>.json`."""
    return path.parent.parent.name == "session" and (path.parent.parent.parent / "message").is_dir()


def sessions(storage: Path, notes: list[Note]) -> list[Session]:
    """All sessions of a storage folder, by project and name."""
    found = []
    for project in folders(storage / "session", notes):
        for entry in entries(Path(project.path), notes):
            if entry.is_file(follow_symlinks=False) and entry.name.endswith(".json"):
                found += at(Path(entry.path), notes)
    return found


def at(path: Path, notes: list[Note]) -> list[Session]:
    """The session whose own file this is; its messages and their parts are its sidecars, named from the storage folder.

    Its size and mtime are those of all its files.
    """
    value = _object(path)
    id_, parent = string(value.get("id")) or path.stem, string(value.get("parentID"))
    files = _Files(id_, path)
    storage = files.storage
    sidecars = tuple(Sidecar(file, file.relative_to(storage).as_posix(), *status(file)) for file in files.all())
    size, mtime = status(path)
    return [
        Session(
            "opencode",
            id_,
            path,
            path.parent.name,
            size + sum(file.size for file in sidecars),
            max(mtime, *(file.mtime_ns for file in sidecars), 0),
            string(value.get("directory")),
            parent,
            id_ if parent else "",
            description=string(value.get("title")),
            sidecars=sidecars,
        )
    ]


@contextmanager
def opened(session: Session) -> Iterator[_Files]:
    """The files of one session.

    Raises:
        NotFound: the session's own file is gone.
    """
    if not session.path.is_file():
        raise NotFound(f"there is no session file {session.path}", "its host may have removed it")
    yield _Files(session.id, session.path)


def raw(session: Session, origin: Origin) -> bytes:
    """The content of one of the session's files."""
    return (Path(origin.source) if origin.source else session.path).read_bytes()


class _Files:
    def __init__(self, session: str, path: Path) -> None:
        self._session, self._path, self.storage = session, path, path.parent.parent.parent
        self._loose: dict[str, list[Path]] | None = None

    def all(self) -> Iterator[Path]:
        """All files but the session's own."""
        for message in _listed(self.storage / "message" / self._session):
            yield message
            yield from self._parts(string(_object(message).get("id")) or message.stem)

    def session(self) -> Iterator[Item]:
        yield _item(self._path)

    def messages(self) -> Iterator[Item]:
        paths = _listed(self.storage / "message" / self._session)
        yield from sorted((_item(path) for path in paths), key=lambda item: (item.time or 0, item.id))

    def parts(self, message: str) -> Iterator[Item]:
        return map(_item, self._parts(message))

    def _parts(self, message: str) -> list[Path]:
        # an id with a separator in it would lead elsewhere
        own = _listed(self.storage / "part" / message) if message and Path(message).name == message else []
        return own + self._flat().get(message, [])

    def _flat(self) -> dict[str, list[Path]]:
        """The parts of an older layout, by message: all in one folder."""
        if self._loose is None:
            self._loose = {}
            for path in _listed(self.storage / "part"):
                self._loose.setdefault(string(_object(path).get("messageID")), []).append(path)
        return self._loose


def _listed(folder: Path) -> list[Path]:
    found = (entry for entry in entries(folder, []) if entry.is_file(follow_symlinks=False))
    return [Path(entry.path) for entry in found if entry.name.endswith(".json")]


def _item(path: Path) -> Item:
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size <= LIMIT else None
    except OSError as ex:
        return Item(path.stem, str(path), 0, None, problem=f"cannot be read: {ex.strerror or ex}")
    return Item(path.stem, str(path), size, data, _created(data))


def _created(data: bytes | None) -> float | None:
    try:
        return seconds(mapping(mapping(loads(data or b"")).get("time")).get("created"))
    except ValueError:
        return None


def _object(path: Path) -> Json:
    try:
        return mapping(loads(head(path, LIMIT)))
    except ValueError:
        return {}
