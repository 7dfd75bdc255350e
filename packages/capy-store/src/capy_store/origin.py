"""What is known of a source beside its text, made fit for the store: whole characters, no secrets."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any, NamedTuple

from capy_core.errors import BadInput
from capy_core.secrets import RULES_VERSION, redact, redact_values

from .documents import CONTENT_TYPES, KINDS

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")

CHUNKING_VERSION = 1  # raise it when the same text gives other chunks


class Origin(NamedTuple):
    """Where a text comes from and what it is to be. The file's facts are those of before it was read."""

    label: str
    kind: str = "durable"
    content_type: str = ""
    title: str = ""
    path: str | None = None
    url: str | None = None
    file_size: int | None = None
    file_mtime_ns: int | None = None
    file_ctime_ns: int | None = None
    meta: dict[str, Any] | None = None

    @property
    def name(self) -> str:
        """A file name or label, whose suffix may tell the type."""
        return self.path or self.label

    @property
    def chunk_title(self) -> str:
        """The title of chunks that have none of their own."""
        return self.title or self.label

    @property
    def recipe(self) -> str:
        """What the rows depend on beside the raw text: our versions, the type asked for, the titles."""
        rest = "\0".join((self.content_type, self.chunk_title, self.path or ""))
        return f"{RULES_VERSION}.{CHUNKING_VERSION}.{sha256(rest.encode()).hexdigest()[:16]}"

    def facts(self) -> dict[str, Any]:
        """The fields of `sources` that a re-index of the same text renews."""
        return {
            "kind": self.kind,
            "path": self.path,
            "url": self.url,
            "file_size": self.file_size,
            "file_mtime_ns": self.file_mtime_ns,
            "file_ctime_ns": self.file_ctime_ns,
            "meta": _as_json(self.meta) if self.meta else "{}",
        }


def validate(origin: Origin) -> None:
    """Look at label, kind and type.

    Raises:
        BadInput: no label, an unknown kind or content type.
    """
    if not origin.label.strip():
        raise BadInput("a document needs a label", "name it, for instance with --label")
    for name, value, known in (("kind", origin.kind, KINDS), ("content type", origin.content_type, CONTENT_TYPES)):
        if value not in known and (value or name == "kind"):
            label = clean_line(origin.label)
            raise BadInput(f"unknown {name} {value!r} for {label!r}", f"use one of {', '.join(known)}", label=label)


def redacted(origin: Origin) -> Origin:
    """The origin with everything that is stored of it redacted."""
    return origin._replace(
        label=clean_line(origin.label),
        title=clean_line(origin.title),
        path=whole(origin.path) if origin.path else None,
        url=clean_line(origin.url) if origin.url else None,
        meta=redact_values(_whole(origin.meta)),
    )


def same_chunks(recipe: str, other: str) -> bool:
    """True when two recipes cut the same redacted text alike."""
    return recipe.partition(".")[2] == other.partition(".")[2]


def clean_line(text: str) -> str:
    """A label, title or URL as it is stored: redacted, on one line."""
    return _CONTROL.sub(" ", redact(whole(text))).strip() if text else ""


def whole(text: str) -> str:
    """The text with lone surrogates as U+FFFD, so that it can be encoded."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return {whole(key): _whole(item) for key, item in value.items()} if isinstance(value, dict) else value


def _as_json(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)
