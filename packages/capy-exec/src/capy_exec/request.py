"""What to run, and what came of it: the values that travel between the command line, batch, server and runner."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

from . import outcome
from .runtimes import language_named
from .stream import NOTHING, Shown, marker


class Request(NamedTuple):
    """What to run.

    Args:
        language: a name or an alias from runtimes.py.
        code: the source, text; lone surrogates stand for bytes that are not UTF-8, as in `os.fsdecode`.
        label: names the output; by default made of language and code.
        file: a file whose content the code finds in FILE_CONTENT; relative to this process's current folder.
        args: the script's arguments.
        packages: requirements (PEP 508) that Python code can import.
        timeout: seconds; None for the configured time.
        cwd: the working folder; None for this process's current folder.
        max_output: bytes of each stream in the result; None for `max_record_bytes`, 0 for everything.
    """

    language: str
    code: str
    label: str = ""
    file: Path | None = None
    args: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    timeout: float | None = None
    cwd: Path | None = None
    max_output: int | None = None

    @property
    def shown_label(self) -> str:
        """The label, or the default: `execute:<language>:<8 hex of SHA-256>`, `file:<path>:<8 hex>`. Redacted."""
        from capy_core.secrets import redact

        if self.label:
            return redact(self.label)
        digest = hashlib.sha256(encode(self.code)).hexdigest()[:8]
        subject = f"file:{self.file}" if self.file else f"execute:{language_named(self.language).name}"
        return redact(f"{subject}:{digest}")


class Result(NamedTuple):
    """What came of it. `record()` is its `capy.exec.result/1`; the fields are described in docs/formats."""

    label: str
    language: str
    code: str
    outcome: str
    reason: str
    started_at: str
    cwd: str
    exit_code: int | None = None
    signal: str | None = None
    stdout: Shown = NOTHING
    stderr: Shown = NOTHING
    stdout_bytes: int = 0
    stderr_bytes: int = 0
    duration_ms: int = 0
    pid: int | None = None
    log: str | None = None

    @property
    def succeeded(self) -> bool:
        """True when the code did its work, an answer "no" included."""
        return self.outcome in outcome.SUCCESSES

    def record(self) -> dict[str, Any]:
        """The result as a JSON-ready dict."""
        record: dict[str, Any] = {
            "schema": "capy.exec.result/1",
            "label": self.label,
            "language": self.language,
            "code": self.code,
            "exit_code": self.exit_code,
            "signal": self.signal,
            "outcome": self.outcome,
            "reason": self.reason,
            "stdout": self._text(self.stdout),
            "stderr": self._text(self.stderr),
            "stdout_bytes": self.stdout_bytes,
            "stderr_bytes": self.stderr_bytes,
            "truncated": bool(self.stdout.cut_bytes or self.stderr.cut_bytes),
            "timed_out": self.outcome == outcome.TIMEOUT,
            "duration_ms": self.duration_ms,
            "started_at": self.started_at,
            "cwd": self.cwd,
        }
        for name, shown in (("stdout_b64", self.stdout), ("stderr_b64", self.stderr)):
            if shown.raw is not None:
                from binascii import b2a_base64

                record[name] = b2a_base64(shown.raw, newline=False).decode("ascii")
        if self.pid is not None:
            record |= {"pid": self.pid, "log": self.log}
        return record

    def _text(self, shown: Shown) -> str:
        return shown.text(marker(shown.cut_bytes, shown.cut_lines, self.label)) if shown.cut_bytes else shown.head


def encode(text: str) -> bytes:
    """Code as bytes: UTF-8, and what `os.fsdecode` made of other bytes as it was."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a lone surrogate that stands for no byte
        return text.encode("utf-8", "replace")
