"""capy-store index: files, a pipe of plain text, or a pipe of records."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from capy_core.cli import App, common_options, errors_as_json, report
from capy_core.errors import BadInput, NotFound, Refused, UsageError
from capy_core.permissions import load as load_rules
from capy_core.records import Record, parse_record, read_lines

from ..documents import CONTENT_TYPES, KINDS, IndexResult
from . import stdin
from .opening import open_store, place
from .progress import watched
from .wording import plural, size

if TYPE_CHECKING:
    from capy_core.permissions import Rules

    from ..origin import Origin
    from ..store import Store

# fields of a record that are not handed on
TEXTS = frozenset(("schema", "code", "stdout", "stderr", "stdout_b64", "stderr_b64", "content", "chunks"))
_SKIPPED_FOLDERS = frozenset(("node_modules", "__pycache__", "venv", "target", "dist", "build"))


@dataclass(frozen=True)
class _Choices:
    """What the options say of each document; None: nothing."""

    label: str | None
    kind: str | None
    content_type: str | None
    title: str | None

    def origin(self, label: str) -> Origin:
        from ..origin import Origin

        return Origin(label, self.kind or "durable", self.content_type or "", self.title or "")


@dataclass(frozen=True)
class _Input:
    """One thing to index: where it is (for an error), and how; `put` gives the result and the fields to hand on."""

    where: Record
    put: Callable[[Store], tuple[IndexResult, Record]]


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--label", metavar="NAME", help="Name of the source; plain text on stdin needs one.")
@click.option("--kind", type=click.Choice(KINDS), help="durable (default), ephemeral (a day) or session (two months).")
@click.option("--type", "content_type", type=click.Choice(CONTENT_TYPES), help="Do not guess what the text is.")
@click.option("--title", metavar="TEXT", help="Title of text that has no headings.")
@click.option("-r", "--recursive", is_flag=True, help="Index the text files below a folder.")
@common_options
@click.pass_context
def index(
    ctx: click.Context,
    paths: tuple[str, ...],
    label: str | None,
    kind: str | None,
    content_type: str | None,
    title: str | None,
    recursive: bool,
) -> None:
    """Index files, or what comes on stdin: records or plain text.

    Records are capy.exec.result/1 and capy.document/1, one a line. A label that exists is replaced when its text
    changed. Secrets are redacted before anything is stored. A file that the permission rules deny reading is refused.
    Exit 1 when a part of the input was refused, 7 when the only file was denied.

    \b
    Example:
        capy-store index README.md docs/*.md
        capy-exec shell -c 'make test' | capy-store index
        journalctl -b | capy-store index --label boot-log --kind ephemeral
    """
    app: App = ctx.obj
    choices = _Choices(label, kind, content_type, title)
    if label is not None and (len(paths) > 1 or recursive):
        raise UsageError("--label names one source, and there are several", "leave it out, or give one path")
    from_stdin = paths in ((), ("-",))
    inputs = _from_stdin(app, choices) if from_stdin else _from_paths(app, paths, choices, recursive=recursive)
    alone = not from_stdin and len(paths) == 1 and not recursive
    failures = 0
    with open_store(app, create=True) as store:
        for item in inputs:
            try:
                result, rest = item.put(store)
            except (BadInput, NotFound, Refused) as ex:
                if alone:
                    raise
                failures += 1
                report({**ex.record(), **item.where}, as_json=errors_as_json(app.format))
            else:
                app.emit({"schema": "capy.index.result/1", **rest, **asdict(result)}, sentence)
    if failures:
        ctx.exit(1)


def _from_paths(app: App, paths: tuple[str, ...], choices: _Choices, *, recursive: bool) -> Iterator[_Input]:
    root = place(app).root
    rules = load_rules(str(root))
    for path in paths:
        for file in _files(Path(path), recursive=recursive):
            put = partial(_index_file, app=app, path=file, root=root, choices=choices, rules=rules)
            yield _Input({"path": str(file)}, put)


def _files(path: Path, *, recursive: bool) -> Iterator[Path]:
    """The path itself, or the files below a folder without hidden and generated ones, in the order of their names."""
    if not path.is_dir():
        yield path
        return
    if not recursive:
        raise UsageError(f"{path} is a folder", "add --recursive to index the text files below it")
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED_FOLDERS)
        for name in sorted(names):
            file = Path(folder, name)
            if not name.startswith(".") and file.is_file() and file.stat().st_size:
                yield file


def _index_file(
    store: Store, app: App, path: Path, root: Path, choices: _Choices, rules: Rules
) -> tuple[IndexResult, Record]:
    from ..freshness import with_file

    if rules:
        from capy_core.pathrules import require_path

        require_path(str(path), rules, cwd=os.getcwd())
    try:
        with path.open("rb") as stream:
            absolute = Path(os.path.abspath(path))
            label = choices.label
            if label is None:
                label = absolute.relative_to(root).as_posix() if absolute.is_relative_to(root) else str(absolute)
            origin = with_file(choices.origin(label), absolute, stream.fileno())
            with watched(app, stream, label, origin.file_size) as input_:
                return store.index_stream(origin, input_), {}
    except FileNotFoundError as ex:
        raise NotFound(f"there is no file {path}", "check the path", path=str(path)) from ex
    except OSError as ex:
        raise BadInput(f"cannot read {path}: {ex.strerror}", "check its permissions", path=str(path)) from ex


def _from_stdin(app: App, choices: _Choices) -> Iterator[_Input]:
    if sys.stdin.isatty():
        raise UsageError("nothing to index", "name files, or pipe text or records into it")
    what, stream = stdin.sniff(sys.stdin.buffer)
    if what == "records":
        yield from _from_records(app, stream, choices)
    elif choices.label is not None:
        yield _Input({"label": choices.label}, partial(_index_stream, app=app, stream=stream, choices=choices))
    elif what == "text":
        raise UsageError("stdin holds plain text, and it has no name", "name it with --label")


def _index_stream(store: Store, app: App, stream: BinaryIO, choices: _Choices) -> tuple[IndexResult, Record]:
    assert choices.label is not None
    with watched(app, stream, choices.label, None) as input_:
        return store.index_stream(choices.origin(choices.label), input_), {}


def _from_records(app: App, stream: BinaryIO, choices: _Choices) -> Iterator[_Input]:
    for count, (number, line) in enumerate(read_lines(stream), 1):
        if count == 2 and choices.label is not None:
            raise UsageError("--label names one source, and stdin holds several records", "leave it out")
        where: Record = {"line": number}
        yield _Input(where, partial(_index_record, app=app, line=line, where=where, choices=choices))


def _index_record(store: Store, app: App, line: bytes, where: Record, choices: _Choices) -> tuple[IndexResult, Record]:
    from ..incoming import document_from, warn_if_truncated

    record = parse_record(line, where["line"])
    if isinstance(record.get("label"), str):
        where["label"] = record["label"]
    if choices.label is not None:
        record["label"] = choices.label
    document = document_from(record, where["line"])
    document.kind = choices.kind or document.kind
    document.content_type = choices.content_type or document.content_type
    document.title = choices.title or document.title
    result = store.index(document)
    warn_if_truncated(record, app.warn)
    return result, handed_on(record, result)


def handed_on(record: Record, result: IndexResult) -> Record:
    """The fields of a record that its result repeats, redacted."""
    rest = {name: value for name, value in record.items() if name not in TEXTS}
    if rest == {"label": result.source}:  # as it is stored; the rules take longer to load than all the rest
        return rest
    from capy_core.secrets import redact_values

    return dict(redact_values(rest))


def sentence(record: Record) -> str:
    """What indexing a document did, for people."""
    secrets = f", {plural(record['redactions'], 'secret')} redacted" if record["redactions"] else ""
    facts = f"{plural(record['chunks'], 'chunk')}, {size(record['bytes'])}{secrets}"
    return f"{record['status']:9}  {record['source']}  ({record['kind']} {record['content_type']}, {facts})"
