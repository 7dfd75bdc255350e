"""What the client sees of each tool. An agent pays for every character in each session, so each one earns its place.

Plain dicts: the front answers `tools/list` with them before anything else is loaded. Annotations are left out where
they equal the protocol's defaults (not read-only, destructive, not idempotent, open world).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "capy"
INSTRUCTIONS = (
    "capy keeps long output out of the context and finds the lines that matter in it. Use it before Bash when a "
    "command may print more than 50 lines (tests, builds, logs, API replies, history): capy_execute with `intent` "
    "(your question), or capy_batch_execute for several commands and questions in one call. The whole output stays "
    "searchable with capy_search, and so do pages from capy_fetch_and_index (use it instead of curl or WebFetch), "
    "notes from capy_index and earlier sessions. Read and Bash remain right for short output and for files that you "
    "will edit. On "
    '"capy stats" or "capy doctor" call that tool and show its result unchanged.'
)

_LANGUAGE = {
    "type": "string",
    "enum": [
        "shell", "python", "javascript", "typescript", "ruby", "go", "rust", "php", "perl", "r", "elixir",
    ],
}  # fmt: skip
_INTENT = {
    "type": "string",
    "description": "Your question about the output; long output is cut to the lines that answer",
}
_TIMEOUT = {"type": "number", "description": "Milliseconds"}
_TEXTS = {"type": "array", "items": {"type": "string"}}
_KINDS = {"type": "array", "items": {"type": "string", "enum": ["durable", "ephemeral", "session"]}}


def _tool(
    name: str, description: str, properties: dict[str, Any], required: tuple[str, ...] = (), **hints: bool
) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    tool = {"name": name, "description": description, "inputSchema": schema}
    return {**tool, "annotations": {f"{hint}Hint": value for hint, value in hints.items()}} if hints else tool


TOOLS = [
    _tool(
        "capy_execute",
        "Run code in a subprocess in the project's folder; only what it prints comes back. With `intent`, output over "
        "5 KB is indexed whole and answered by the lines that matter.",
        {
            "language": _LANGUAGE,
            "code": {"type": "string"},
            "intent": _INTENT,
            "timeout": {"type": "number", "description": "Milliseconds, default 30000"},
            "background": {"type": "boolean", "description": "Leave it running at the timeout (servers, watchers)"},
        },
        ("language", "code"),
    ),
    _tool(
        "capy_execute_file",
        "Run code over a file without reading it into the context: FILE_CONTENT holds its text, FILE_CONTENT_PATH its "
        "path (lower case in Elixir, $ in front in PHP, Perl, shell). For logs, data and files too large to read.",
        {
            "path": {"type": "string"},
            "language": _LANGUAGE,
            "code": {"type": "string"},
            "intent": _INTENT,
            "timeout": _TIMEOUT,
        },
        ("path", "language", "code"),
    ),
    _tool(
        "capy_batch_execute",
        "Run several shell commands, index their output and answer all queries from it, in one call.",
        {
            "commands": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"label": {"type": "string"}, "command": {"type": "string"}},
                    "required": ["command"],
                },
            },
            "queries": {**_TEXTS, "description": "Questions about the output; more of them cost little"},
            "timeout": {"type": "number", "description": "Milliseconds for the whole batch, default 60000"},
            "concurrency": {"type": "integer", "description": "Commands at once, 1 to 8, default 1"},
        },
        ("commands", "queries"),
    ),
    _tool(
        "capy_index",
        "Store text for later search: `content`, or the file at `path`. For findings and documents worth keeping.",
        {
            "content": {"type": "string"},
            "path": {"type": "string"},
            "source": {"type": "string", "description": "Label; the same label replaces"},
        },
        destructive=False,
        idempotent=True,
        openWorld=False,
    ),
    _tool(
        "capy_search",
        "Search all that was indexed: output, pages, notes, past sessions. Put all your questions in one call.",
        {
            "queries": _TEXTS,
            "limit": {"type": "integer", "description": "Hits for each query, default 3"},
            "source": {
                "type": "string",
                "description": "Only this label, or labels that begin with it if it ends in *",
            },
            "include_kinds": {**_KINDS, "description": "Default: durable, and whatever `source` names"},
        },
        ("queries",),
        readOnly=True,
        openWorld=False,
    ),
    _tool(
        "capy_fetch_and_index",
        "Fetch a web page as Markdown, or JSON, index it, show its beginning; then ask capy_search. Cached for a day.",
        {
            "url": {"type": "string"},
            "source": {"type": "string", "description": "Label, default the URL"},
            "kind": {
                "type": "string",
                "enum": ["ephemeral", "durable"],
                "description": "durable: keep (reference docs)",
            },
            "force": {"type": "boolean", "description": "Fetch again"},
        },
        ("url",),
        destructive=False,
        idempotent=True,
    ),
    _tool("capy_stats", "What was kept out of the context so far.", {}, readOnly=True, openWorld=False),
    _tool("capy_doctor", "Check that capy works here.", {}, readOnly=True, openWorld=False),
    _tool(
        "capy_cleanup",
        "Remove old entries from the knowledge base. A preview unless dry_run is false.",
        {
            "dry_run": {"type": "boolean", "description": "Default true"},
            "source": {"type": "string", "description": "Remove this label"},
            "purge_ephemeral": {"type": "boolean"},
            "purge_session": {"type": "boolean"},
        },
        openWorld=False,
    ),
]
