"""capy-store evidence: the lines of an output that answer a question; no key, no database."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from capy_core.cli import App, common_options
from capy_core.errors import BadInput, NotFound, UsageError
from capy_core.records import Record, parse_record, read_lines

from . import stdin
from .index import TEXTS
from .wording import plural, size

if TYPE_CHECKING:
    from ..evidence import Evidence

_PIECE = 1 << 20
_FINE = frozenset(("ok", "soft", "background"))  # outcomes of capy-exec that are no failure


@click.command()
@click.argument("question")
@click.argument("file", required=False, metavar="[FILE]")
@click.option(
    "--budget",
    type=click.IntRange(200),
    metavar="BYTES",
    help="Show so many bytes of lines at most (default: by the size, 6000 at most).",
)
@common_options
@click.pass_context
def evidence(ctx: click.Context, question: str, file: str | None, budget: int | None) -> None:
    """Show the lines of an output that answer a question; exit 1 when none does.

    Reads FILE or stdin: plain text, or records of capy-exec. Beside what matches come the lines that tell of failure,
    those that sum up, the head and the tail, all in their order. Nothing is stored, and no key is needed. Secrets are
    redacted.

    \b
    Example:
        pytest 2>&1 | capy-store evidence 'which test failed and why'
        capy-exec shell -c 'make test' | capy-store evidence 'which test failed'
        capy-store evidence 'how many rows were skipped' import.log --budget 2000
    """
    app: App = ctx.obj
    _check(question)
    answered = False
    for rest, text, errors, failed in _from_file(app, file) if file not in (None, "-") else _from_stdin(app):
        record = _record(question, text, errors, rest, budget=budget, failed=failed)
        app.emit(record, _shown)
        answered |= not record["unanswered"] or _tells(record["spans"]) or _tells(record.get("stderr", []))
    if not answered:
        ctx.exit(1)


Output = tuple[Record, str, str, bool]  # fields to hand on, text, stderr, whether what wrote it failed


def _check(question: str) -> None:
    from ..search.terms import parse

    if parse(question).is_blank:
        raise UsageError("the question holds nothing to look for", "give at least one word or name")


def _from_file(app: App, file: str | None) -> Iterator[Output]:
    from capy_core.pathrules import require_path
    from capy_core.permissions import load

    from .opening import place

    path = Path(file or "")
    if rules := load(str(place(app).root)):
        require_path(str(path), rules, cwd=os.getcwd())
    try:
        with path.open("rb") as stream:
            yield from _plain(stream, str(path), {"path": str(path)})
    except FileNotFoundError as ex:
        raise NotFound(f"there is no file {path}", "check the path", path=str(path)) from ex
    except OSError as ex:
        raise BadInput(f"cannot read {path}: {ex.strerror}", "check its permissions", path=str(path)) from ex


def _from_stdin(app: App) -> Iterator[Output]:
    if sys.stdin.isatty():
        raise UsageError("nothing to read", "name a file, or pipe text or records into it")
    what, stream = stdin.sniff(sys.stdin.buffer)
    if what == "text":
        yield from _plain(stream, "stdin", {})
    elif what == "records":
        from ..incoming import streams

        for number, line in read_lines(stream):
            record = parse_record(line, number)
            out, err = streams(record, number)
            if record.get("truncated"):
                app.warn(
                    "truncated_input",
                    f"line {number} holds only the head and the tail of an output",
                    "for all of it run capy-exec with --max-output 0",
                )
            if out.strip() or err.strip():
                yield _handed_on(record), out, err, record.get("outcome", "ok") not in _FINE


def _handed_on(record: Record) -> Record:
    """The fields of a record that hold no text of it, redacted."""
    from capy_core.secrets import redact_values

    return dict(redact_values({name: value for name, value in record.items() if name not in TEXTS}))


def _plain(stream: BinaryIO, name: str, rest: Record) -> Iterator[Output]:
    from ..intake import text_blocks

    blocks: Iterable[bytes] = iter(partial(stream.read, _PIECE), b"")
    text = "".join(text_blocks(blocks, name))
    if text.strip():
        yield rest, text, "", False


def _record(question: str, text: str, errors: str, rest: Record, *, budget: int | None, failed: bool) -> Record:
    from capy_core.secrets import redact

    from ..evidence import find

    found = find(redact(text), question, budget=budget, failed=failed)
    record: Record = {"schema": "capy.evidence/1", **rest, "question": redact(question), **_fields(found)}
    if errors.strip():
        its = find(redact(errors), question, budget=budget, failed=failed)
        fields = _fields(its)
        record |= {"stderr": fields["spans"], "unanswered": record["unanswered"] and fields["unanswered"]}
        record["corrected"] = {**fields["corrected"], **record["corrected"]}
    return record


def _fields(found: Evidence) -> Record:
    return {
        "lines": found.lines,
        "bytes": found.bytes,
        "spans": [asdict(span) for span in found.spans],
        "corrected": found.corrected,
        "unanswered": bool(found.unanswered),
        "notes": list(found.notes),
    }


def _tells(spans: list[Record]) -> bool:
    return any(span["why"] in ("failure", "summary") for span in spans)


def _shown(record: Record) -> str:
    """The lines as people read them."""
    from ..evidence import Span, render_spans

    parts = [render_spans([Span(**span) for span in record["spans"]])]
    if "stderr" in record:
        parts += ["stderr:", render_spans([Span(**span) for span in record["stderr"]])]
    facts = f"of {plural(record['lines'], 'line')}, {size(record['bytes'])}"
    corrected = "".join(f"; read {used} for {word}" for word, used in record["corrected"].items())
    parts += record["notes"]
    parts.append(f"({facts}{corrected}{'; no line has a word of the question' if record['unanswered'] else ''})")
    return "\n".join(part for part in parts if part)
