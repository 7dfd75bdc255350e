"""Fetch into the store: the page becomes a source, and a fresh one is answered from there."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from capy_core.database import write
from capy_core.errors import BadInput
from capy_core.secrets import redact

from .. import queries
from ..documents import Document
from ..indexing import result_of
from .network import INTERNET, Network
from .page import Known, Page, check_url, fetch_page

if TYPE_CHECKING:
    from capy_core.config import FetchConfig

    from ..documents import IndexResult
    from ..queries import SourceRow
    from ..store import Store

KINDS = ("ephemeral", "durable")


@dataclass(frozen=True)
class Fetched:
    """What fetching one URL did.

    Args:
        result: the source in the store.
        url: as asked for, normalised.
        final_url, status_code, media_type, bytes: see `page.Page`.
        title: what the page calls itself, or "".
        cached: it was answered from the store without any request.
        age_s: seconds since the page was fetched or found unchanged.
        notes: what a reader should know, one sentence each.
    """

    result: IndexResult
    url: str
    final_url: str
    status_code: int
    media_type: str
    bytes: int
    title: str
    cached: bool = False
    age_s: int = 0
    notes: tuple[str, ...] = ()


def fetch(
    store: Store,
    url: str,
    config: FetchConfig,
    *,
    label: str = "",
    kind: str = "ephemeral",
    force: bool = False,
    timeout_s: float | None = None,
    network: Network = INTERNET,
) -> Fetched:
    """Fetch a page and index it, unless the store has it fresh.

    A source answers for a URL when it has its label, came from that URL and has the kind asked for. Younger than
    `config.ttl_hours` it is the answer; older, the site is asked whether it changed.

    Args:
        label: the source's name; "" = the normalised URL.
        kind: ephemeral or durable.
        force: fetch even when the store has it, and whatever the site says about changes.

    Raises:
        BadInput: unknown kind. All that `page.fetch_page` and `Store.index` raise; nothing is stored then.
    """
    if kind not in KINDS:
        raise BadInput(f"a page cannot be {kind!r}", f"use one of {', '.join(KINDS)}")
    address = check_url(url)
    name = label or address
    row = None if force else _answering(store, name, address, kind)
    age = max(0, int(time.time()) - row.indexed_at) if row else 0
    if row and age < config.ttl_hours * 3600:
        return _from_store(row, cached=True, age_s=age)
    page = fetch_page(url, config, timeout_s=timeout_s, known=_known(row), network=network)
    if page is None:
        assert row is not None
        with write(store.db):
            queries.update_source(store.db, row.id, {"indexed_at": int(time.time())})
        return _from_store(row, cached=False, age_s=0)
    return _index(store, page, name, kind)


def _answering(store: Store, name: str, address: str, kind: str) -> SourceRow | None:
    if redact(address) != address:
        return None  # what is stored does not tell such URLs apart
    row = queries.source_by_label(store.db, redact(name).strip())
    return row if row and row.url == address and row.kind == kind else None


def _known(row: SourceRow | None) -> Known | None:
    if row is None:
        return None
    meta = json.loads(row.meta)
    return Known(meta.get("final_url", ""), meta.get("etag", ""), meta.get("last_modified", ""))


def _index(store: Store, page: Page, name: str, kind: str) -> Fetched:
    meta = {
        "final_url": page.final_url,
        "status_code": page.status_code,
        "media_type": page.media_type,
        "charset": page.charset,
        "bytes_fetched": page.bytes,
        "etag": page.etag,
        "last_modified": page.last_modified,
    }
    document = Document(
        label=name,
        content=page.text,
        kind=kind,
        content_type=page.content_type,
        title=page.title,
        url=page.url,
        meta={key: value for key, value in meta.items() if value},
    )
    return Fetched(
        result=store.index(document),
        url=page.url,
        final_url=page.final_url,
        status_code=page.status_code,
        media_type=page.media_type,
        bytes=page.bytes,
        title=page.title,
        notes=page.notes,
    )


def _from_store(row: SourceRow, *, cached: bool, age_s: int) -> Fetched:
    meta = json.loads(row.meta)
    return Fetched(
        result=result_of(row, "unchanged"),
        url=row.url or "",
        final_url=meta.get("final_url", row.url),
        status_code=meta.get("status_code", 200),
        media_type=meta.get("media_type", ""),
        bytes=meta.get("bytes_fetched", row.bytes),
        title=row.title,
        cached=cached,
        age_s=age_s,
    )
