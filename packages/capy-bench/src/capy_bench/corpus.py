"""Corpora from folders: documents with queries, outputs with questions. Checked and hashed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path, PurePath
from typing import Any

from capy_core.errors import BadInput, NotFound
from capy_core.records import Record, parse_record, read_lines


@dataclass(frozen=True)
class Document:
    id: str
    text: str
    title: str
    group: str


@dataclass(frozen=True)
class Query:
    """A question to the documents of its group. Without `relevant` and `needles` nothing should answer it.

    Args:
        relevant: ids of documents that answer it (mode "docs").
        needles: texts of which an answer holds one (mode "needles").
        kind: a class of its own in the figures, or "".
    """

    id: str
    text: str
    relevant: frozenset[str]
    needles: tuple[str, ...]
    group: str
    kind: str

    @property
    def is_negative(self) -> bool:
        return not self.relevant and not self.needles


@dataclass(frozen=True)
class RetrievalSet:
    """A folder with `docs.jsonl` and `queries.jsonl`.

    Args:
        mode: "docs" or "needles".
        fetch: hits to ask for; more than 10 where several of a document count as one.
        doubts: answers that no search could find, in words.
    """

    name: str
    mode: str
    fetch: int
    hash: str
    documents: tuple[Document, ...]
    queries: tuple[Query, ...]
    doubts: tuple[str, ...] = ()

    def first(self, limit: int) -> RetrievalSet:
        """The first `limit` queries of each group, as another set: its figures compare with no others."""
        taken: Counter[str] = Counter()
        kept = []
        for query in self.queries:
            taken[query.group] += 1
            if taken[query.group] <= limit:
                kept.append(query)
        return replace(self, hash=limited_hash(self.hash, limit), queries=tuple(kept))


@dataclass(frozen=True)
class OutputCase:
    """A question about an output. `kind`: a class of its own in the figures."""

    id: str
    path: Path
    file: str
    question: str
    needles: tuple[str, ...]
    kind: str


@dataclass(frozen=True)
class OutputSet:
    """A folder with `cases.jsonl` and the files that it names. `doubts`: needles that their files lack, in words."""

    name: str
    hash: str
    cases: tuple[OutputCase, ...]
    doubts: tuple[str, ...] = ()

    def record(self) -> Record:
        """The `dataset` of a report."""
        return {"name": self.name, "split": "", "hash": self.hash, "cases": len(self.cases)}

    def first(self, limit: int) -> OutputSet:
        """The first `limit` cases, as another set: its figures compare with no others."""
        return OutputSet(self.name, limited_hash(self.hash, limit), self.cases[:limit])


def limited_hash(hash_: str, limit: int) -> str:
    """The hash of the first so many of a dataset."""
    return "sha256:" + sha256(f"{hash_} first {limit}".encode()).hexdigest()


def retrieval_sets(folder: Path) -> list[RetrievalSet]:
    """The set in a folder, or those in its subfolders, by name.

    Raises:
        NotFound: no folder, or no `docs.jsonl` in it nor one level below.
        BadInput: a line is not as docs/formats/corpora.md says; file, line and field are named.
    """
    folders = [path.parent for path in (folder / "docs.jsonl", *sorted(folder.glob("*/docs.jsonl"))) if path.is_file()]
    if not folders:
        raise NotFound(f"no docs.jsonl in {folder}", "name a folder with docs.jsonl and queries.jsonl")
    return [_retrieval_set(path) for path in folders]


def output_set(folder: Path) -> OutputSet:
    """The outputs and questions in a folder.

    Raises:
        NotFound: no `cases.jsonl`, or a file that it names is missing.
        BadInput: a line is not as docs/formats/corpora.md says; file, line and field are named.
    """
    digest = sha256()
    cases = []
    for where, record in _records(folder / "cases.jsonl", digest):
        needles = _texts(record, "needles", where)
        if not needles:
            raise BadInput(f"{where}: needles: there is none", "give at least one text that the answer holds")
        file = _text(record, "file", where)
        path = _inside(folder, file, where)
        kind = _text(record, "kind", where, "")
        cases.append(
            OutputCase(_text(record, "id", where), path, file, _text(record, "question", where), needles, kind)
        )
    _unique([case.id for case in cases], folder / "cases.jsonl")
    doubts = []
    for file in sorted({case.file for case in cases}):
        data = (folder / file).read_bytes()
        _digest_file(digest, file, data)
        text = data.decode("utf-8", "replace")
        asked = [(case.id, needle) for case in cases if case.file == file for needle in case.needles]
        doubts += [f"{id_}: needles: {needle[:100]!r} is not in {file}" for id_, needle in asked if needle not in text]
    return OutputSet(folder.resolve().name, f"sha256:{digest.hexdigest()}", tuple(cases), tuple(doubts))


def _inside(folder: Path, file: str, where: str) -> Path:
    """The path of a file of the corpus; it has something in it, and its name does not lead out of the folder."""
    if PurePath(file).is_absolute() or ".." in PurePath(file).parts:
        raise BadInput(f"{where}: file: {file!r} is not in the corpus' folder", "put it there and name it from there")
    path = folder / file
    if not path.is_file():
        raise NotFound(f"{where}: file: there is no {path}", "correct its name")
    if not path.stat().st_size:
        raise BadInput(f"{where}: file: {path} is empty", "take it out: of nothing nothing can be cut")
    return path


def _retrieval_set(folder: Path) -> RetrievalSet:
    digest = sha256()
    documents = tuple(
        Document(
            _text(record, "id", where), _text(record, "text", where), _text(record, "title", where, ""),
            _text(record, "group", where, ""),
        )
        for where, record in _records(folder / "docs.jsonl", digest)
    )  # fmt: skip
    queries = tuple(
        Query(
            _text(record, "id", where), _text(record, "text", where), frozenset(_texts(record, "relevant", where)),
            _texts(record, "needles", where), _text(record, "group", where, ""), _text(record, "kind", where, ""),
        )
        for where, record in _records(folder / "queries.jsonl", digest)
    )  # fmt: skip
    _unique([f"{document.group}/{document.id}" for document in documents], folder / "docs.jsonl")
    _unique([query.id for query in queries], folder / "queries.jsonl")
    mode, fetch = _meta(folder / "meta.json", digest)
    mode = mode or ("needles" if any(query.needles for query in queries) else "docs")
    unknown = sorted({query.group for query in queries} - {document.group for document in documents})
    if unknown:
        raise BadInput(f"{folder / 'queries.jsonl'}: no document is in group {unknown[0]!r}", "correct `group`")
    doubts = tuple(_doubts(queries, documents, mode, folder / "queries.jsonl"))
    return RetrievalSet(folder.resolve().name, mode, fetch, f"sha256:{digest.hexdigest()}", documents, queries, doubts)


def _doubts(queries: Iterable[Query], documents: Iterable[Document], mode: str, path: Path) -> Iterator[str]:
    """Answers that are not among the documents of their group: no search could find them.

    Raises:
        BadInput: the answer of a query is given in the form of the other mode.
    """
    ids: dict[str, set[str]] = {}
    texts: dict[str, list[str]] = {}
    for document in documents:
        ids.setdefault(document.group, set()).add(document.id)
        texts.setdefault(document.group, []).append(document.text)
    wanted, other = ("needles", "relevant") if mode == "needles" else ("relevant", "needles")
    for query in queries:
        if not query.is_negative and not getattr(query, wanted):
            where = f"{path}: {query.id}: {wanted}"
            raise BadInput(f'{where}: is missing, the mode is "{mode}"', f"{other} alone does not do there")
        for id_ in sorted(query.relevant - ids[query.group]) if mode == "docs" else ():
            yield f"{query.id}: relevant: {id_!r} is no document of its group"
        for needle in query.needles if mode == "needles" else ():
            if not any(needle in text for text in texts[query.group]):
                yield f"{query.id}: needles: {needle[:100]!r} is in no document of its group"


def _meta(path: Path, digest: Any) -> tuple[str, int]:
    """`mode` and `fetch` of a meta.json; it may be missing."""
    if not path.is_file():
        return "", 10
    data = path.read_bytes()
    _digest_file(digest, path.name, data)
    try:
        meta = parse_record(data, 1)
    except BadInput as ex:
        raise BadInput(f"{path}: {ex.message}", ex.hint) from ex
    mode, fetch = meta.get("mode", ""), meta.get("fetch", 10)
    if mode not in ("", "docs", "needles"):
        raise BadInput(f'{path}: mode: {mode!r} is not "docs" or "needles"', "correct it")
    if type(fetch) is not int or not 10 <= fetch <= 1000:
        raise BadInput(f"{path}: fetch: {fetch!r} is no whole number from 10 to 1000", "correct it")
    return mode, fetch


def _records(path: Path, digest: Any) -> Iterator[tuple[str, Record]]:
    """The lines of a file as records, each with `file:line`; its bytes go into the digest."""
    from io import BytesIO

    try:
        data = path.read_bytes()
    except FileNotFoundError as ex:
        raise NotFound(f"there is no {path}", "the formats of corpora are in docs/formats/corpora.md") from ex
    _digest_file(digest, path.name, data)
    found = False
    for number, line in read_lines(BytesIO(data)):
        try:
            yield f"{path}:{number}", parse_record(line, number)
        except BadInput as ex:
            raise BadInput(f"{path}: {ex.message}", ex.hint, line=number) from ex
        found = True
    if not found:
        raise BadInput(f"{path} is empty", "each line must hold one JSON object")


def _digest_file(digest: Any, name: str, data: bytes) -> None:
    digest.update(f"{name}\0{len(data)}\0".encode("utf-8", "replace") + data)


def _text(record: Record, field: str, where: str, default: str | None = None) -> str:
    value = record.get(field)
    if value is None and default is not None:
        return default
    if not isinstance(value, str) or (default is None and not value.strip()):
        raise BadInput(f"{where}: {field}: {'is missing' if value is None else 'is no text'}", "correct the line")
    return value


def _texts(record: Record, field: str, where: str) -> tuple[str, ...]:
    value = record.get(field)
    value = [] if value is None else value
    if not isinstance(value, list) or not all(isinstance(item, str) and item.strip() for item in value):
        raise BadInput(f"{where}: {field}: is no list of texts", "correct the line")
    return tuple(value)


def _unique(names: list[str], path: Path) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise BadInput(f"{path}: id: {name!r} is there twice", "give each line its own id")
        seen.add(name)
