"""Records from a pipe -> documents."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from capy_core.config import Warn
from capy_core.errors import BadInput
from capy_core.records import Record

from .documents import Chunk, Document, Part

DOCUMENT = "capy.document/1"
EXEC_RESULT = "capy.exec.result/1"
_EXEC_FACTS = (
    "language", "code", "exit_code", "signal", "outcome", "reason", "stdout_bytes", "stderr_bytes", "truncated",
    "timed_out", "duration_ms", "started_at", "cwd",
)  # fmt: skip
_COMMAND = 120


def document_from(record: Record, line: int = 0) -> Document:
    """The document that a capy.document/1 or capy.exec.result/1 record holds.

    Raises:
        BadInput: another schema, or a field that is missing or of the wrong type; `details` holds the line.
    """
    schema = record.get("schema")
    make = {DOCUMENT: _from_document, EXEC_RESULT: _from_exec}.get(str(schema))
    if make is None:
        raise BadInput(
            f"cannot index a record of schema {schema!r}", f"send {DOCUMENT} or {EXEC_RESULT} records", line=line
        )
    return make(_Fields(record, line))


def streams(record: Record, line: int = 0) -> tuple[str, str]:
    """The text of a record and its stderr: of a capy.document/1 its content and "".

    Raises:
        BadInput: as `document_from`.
    """
    fields = _Fields(record, line)
    if record.get("schema") == EXEC_RESULT:
        return _stream(fields, "stdout"), _stream(fields, "stderr")
    document = document_from(record, line)
    return document.content or "".join([chunk.body for chunk in document.chunks or ()]), ""


class _Fields:
    """Typed access to a record."""

    def __init__(self, record: Record, line: int) -> None:
        self.record, self.line = record, line

    def text(self, name: str, default: str | None = None) -> str:
        value = self.record.get(name, default)
        if value is None and default is not None:
            value = default
        if not isinstance(value, str):
            raise self.wrong(name, "a text" if name in self.record else "given")
        return value

    def wrong(self, name: str, wanted: str) -> BadInput:
        where = f" on line {self.line}" if self.line else ""
        label = self.record.get("label")
        of = f" of {label!r}" if isinstance(label, str) else ""
        return BadInput(
            f"{name!r}{of}{where} must be {wanted}", "see docs/formats for the fields of each record",
            line=self.line, label=label if isinstance(label, str) else None,
        )  # fmt: skip


def _from_document(fields: _Fields) -> Document:
    record = fields.record
    chunks = record.get("chunks")
    if chunks == [] and record.get("content"):  # no chunks beside a text: the text counts
        chunks = None
    meta = record.get("meta") or {}
    if not isinstance(meta, dict):
        raise fields.wrong("meta", "an object")
    return Document(
        label=fields.text("label"),
        content=fields.text("content") if chunks is None else "",
        kind=fields.text("kind", "durable"),
        content_type=fields.text("content_type", ""),
        title=fields.text("title", ""),
        chunks=None if chunks is None else _chunks(chunks, fields),
        path=fields.text("path", "") or None,
        url=fields.text("url", "") or None,
        meta=meta,
    )


def _chunks(items: Any, fields: _Fields) -> list[Chunk]:
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise fields.wrong("chunks", "a list of objects")
    chunks: list[Chunk] = []
    for item in items:
        inner = _Fields(item, fields.line)
        body = inner.text("content")
        before = chunks[-1].line_end if chunks else 0
        start = _number(inner, "line_start", before + 1)
        end = _number(inner, "line_end", start + body.rstrip("\n").count("\n"))
        chunks.append(Chunk(inner.text("title", ""), body, start, end, bool(item.get("is_code"))))
    return chunks


def _number(fields: _Fields, name: str, default: int) -> int:
    value = fields.record.get(name)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise fields.wrong(name, "a number of a line")
    return value


def _from_exec(fields: _Fields) -> Document:
    record = fields.record
    label = fields.text("label")
    title = _command(fields.text("code", "")) or label
    outcome = fields.text("outcome", "ok")
    if outcome != "ok":
        title += f" ({_failure(record, outcome)})"
    stdout, stderr = _stream(fields, "stdout"), _stream(fields, "stderr")
    parts = [Part(title, stdout, _type_of(stdout))]
    if stderr.strip():
        parts.append(Part(f"{title}, stderr", stderr, "output"))
    return Document(
        label=label,
        kind=fields.text("kind", "ephemeral"),
        title=title,
        parts=parts,
        content_type=parts[0].content_type,
        meta={name: record[name] for name in _EXEC_FACTS if name in record},
    )


def _command(code: str) -> str:
    """The first line of code that says something, cut to a title's length."""
    lines = (line.strip() for line in code.split("\n"))
    first = next((line for line in lines if line and not line.startswith("#!")), "")
    return first if len(first) <= _COMMAND else first[: _COMMAND - 1] + "…"


def _failure(record: Record, outcome: str) -> str:
    """What the title says of a run that did not end well: `exit 2`, `timeout`, `SIGKILL`."""
    if outcome in ("error", "soft") and isinstance(record.get("exit_code"), int):
        return f"exit {record['exit_code']}"
    return str(record.get("signal") or outcome.replace("_", " "))


def _stream(fields: _Fields, name: str) -> str:
    encoded = fields.text(f"{name}_b64", "")
    if encoded:
        from .intake import text_blocks

        try:
            return "".join(text_blocks([b64decode(encoded, validate=True)], name))
        except (ValueError, BadInput):  # binary: what the record shows as text is all there is to index
            pass
    return fields.text(name, "")


def _type_of(stdout: str) -> str:
    from .chunk.detect import is_json

    return "json" if is_json(stdout) else "output"


def warn_if_truncated(record: Record, warn: Warn) -> None:
    """Say so when a record holds only head and tail of an output, and how to index all of it."""
    if record.get("schema") == EXEC_RESULT and record.get("truncated"):
        total = sum(size for name in ("stdout", "stderr") if isinstance(size := record.get(f"{name}_bytes"), int))
        label = record.get("label")
        warn(
            "truncated_input",
            f"only the head and the tail of {label!r} were indexed: the run wrote {total} bytes",
            "to index all of it, run it with --format text --max-output 0 and pipe that into"
            f" capy-store index --label {label}",
        )
