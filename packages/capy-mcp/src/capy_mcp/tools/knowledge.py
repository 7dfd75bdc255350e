"""capy_index, capy_search, capy_fetch_and_index: what goes into the knowledge base, and what it answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capy_core.errors import NotFound

from .. import reply
from ..arguments import BadArgument
from ..call import Call, Reply
from ..context import Context, here
from .rules import check_file

if TYPE_CHECKING:
    from capy_store.documents import IndexResult, SearchResult
    from capy_store.fetch.stored import Fetched
    from capy_store.store import Store

DEFAULT_HITS, MOST_HITS = 3, 50
SHOWN_OF_PAGE = 3_000  # characters
_PATIENCE_S = 20.0  # for output that is still being indexed
_REFRESHED = 5_000_000  # bytes: a changed file up to this size is indexed anew before it answers
_USUAL = ("durable", "session")


def index(context: Context, arguments: dict[str, Any], call: Call) -> Reply:
    """Store a text, or a file."""
    from capy_store.documents import Document

    content, path = arguments.get("content", ""), arguments.get("path", "")
    if not content.strip() and not path:
        raise BadArgument("`content` or `path` is needed: a text, or the file to index")
    call.doing = "indexing"
    with context.store() as store:
        if content.strip():
            label = arguments.get("source") or "notes"
            return Reply(_indexed(store.index(Document(label=label, content=content))))
        file = here(path, context.project)
        result = _index_file(context, store, file, arguments.get("source") or _label_of(file, context.project))
        return Reply(_indexed(result), raw_bytes=result.bytes)


def search(context: Context, arguments: dict[str, Any], call: Call) -> Reply:
    """Answer questions from all that was indexed."""
    queries = [query for query in arguments["queries"] if query.strip()]
    if not queries:
        raise BadArgument("`queries` is empty: ask at least one question")
    filters: dict[str, Any] = {"limit": max(1, min(MOST_HITS, arguments.get("limit", DEFAULT_HITS)))}
    source, kinds = arguments.get("source", ""), arguments.get("include_kinds", [])
    if source:
        filters["sources"] = (source,)
    if kinds or not source:
        filters["kinds"] = tuple(dict.fromkeys(kinds)) or _USUAL
    call.doing = "waiting for output that is being indexed"
    late = not context.keeper.wait(_PATIENCE_S)
    call.doing = "searching"
    with context.store() as store:
        notes = ["[output of an earlier call is still being indexed: ask again]"] if late else []
        notes += [f"[not indexed: {problem}]" for problem in context.keeper.problems()]
        results = [_search(context, store, query, filters, bool(kinds or source), notes) for query in queries]
        if not any(result.hits for result in results) and not store.stats()["sources"]:
            return Reply(
                "the knowledge base is empty; capy_execute with `intent`, capy_batch_execute, capy_index and "
                "capy_fetch_and_index fill it",
                is_error=True,
            )
    text = reply.search(results, budget=context.search_budget(len(queries)))
    return Reply("\n".join([text, *dict.fromkeys(notes)]))


def fetch_and_index(context: Context, arguments: dict[str, Any], call: Call) -> Reply:
    """Fetch a page into the store and show how it begins."""
    from capy_store.fetch.stored import fetch

    call.doing = f"fetching {arguments['url']}"
    with context.store() as store:
        fetched = fetch(
            store,
            arguments["url"],
            context.config().fetch,
            label=arguments.get("source", ""),
            kind=arguments.get("kind", "ephemeral"),
            force=arguments.get("force", False),
        )
        text = store.document(fetched.result.source)["content"]
    return Reply(_page(fetched, text), raw_bytes=len(text.encode("utf-8", "replace")))


def _search(
    context: Context, store: Store, query: str, filters: dict[str, Any], narrowed: bool, notes: list[str]
) -> SearchResult:
    """One query; files that changed since are indexed anew first, and what is usually left out is the last resort."""
    result = store.search(query, **filters)
    changed = {hit.path: hit.label for hit in result.hits if hit.stale == "changed" and hit.path}
    refreshed = [label for path, label in changed.items() if _refresh(context, store, Path(path), label)]
    if refreshed:
        notes.append(f"[indexed anew, because the file had changed: {', '.join(refreshed)}]")
        result = store.search(query, **filters)
    if not result.hits and not narrowed:
        result = store.search(query, **{**filters, "kinds": ()})
        if result.hits:
            notes.append("[from output of earlier commands, kept for a day]")
    return result


def _refresh(context: Context, store: Store, path: Path, label: str) -> bool:
    from capy_core.errors import CapyError

    try:
        if path.stat().st_size > _REFRESHED:
            return False
        _index_file(context, store, path, label)
    except (CapyError, OSError):
        return False
    return True


def _index_file(context: Context, store: Store, file: Path, label: str) -> IndexResult:
    """Index a file that the user's rules let us read."""
    from capy_core.errors import BadInput
    from capy_store.freshness import with_file
    from capy_store.origin import Origin

    check_file(context, file)
    try:
        if not file.is_file():
            raise NotFound(f"there is no file {file}", f"paths are relative to {context.project}")
        with file.open("rb") as stream:
            return store.index_stream(with_file(Origin(label), file, stream.fileno()), stream)
    except OSError as ex:
        raise BadInput(f"cannot read {file}: {ex.strerror}", "check its permissions") from ex


def _label_of(file: Path, project: Path) -> str:
    return file.relative_to(project).as_posix() if file.is_relative_to(project) else str(file)


def _indexed(result: IndexResult) -> str:
    secrets = f", {result.redactions} secrets redacted" if result.redactions else ""
    facts = f"{result.kind} {result.content_type}, {result.chunks} chunks, {result.bytes / 1000:.1f} KB{secrets}"
    return f"{result.status} {json.dumps(result.source, ensure_ascii=False)} ({facts})"


def _page(fetched: Fetched, text: str) -> str:
    age = f", from the store, {fetched.age_s // 60} min old; force: true fetches again" if fetched.cached else ""
    head = f"{fetched.title or fetched.url}\n[{_indexed(fetched.result)}{age}]"
    notes = "".join(f"\n[{note}]" for note in fetched.notes)
    if len(text) <= SHOWN_OF_PAGE:
        return f"{head}{notes}\n\n{text}"
    more = f'[{len(text) - SHOWN_OF_PAGE:,} more characters; ask capy_search with source "{fetched.result.source}"]'
    return f"{head}{notes}\n\n{text[:SHOWN_OF_PAGE].rstrip()}\n{more}"
