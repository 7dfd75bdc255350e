"""Search quality on corpora of others: documents, and queries with known answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from . import tally
from .corpus import Document, Query, RetrievalSet
from .metrics import DEPTH, Hits, found, is_tied, ranking
from .record import Failure, Outcome
from .scratch import no_tick, scratch_store, shuffled
from .tally import Kind, Scored

if TYPE_CHECKING:
    from capy_store.documents import Document as StoreDocument
    from capy_store.documents import Hit
    from capy_store.store import Store

    from .scratch import Tick

KINDS = {
    "recall_at_1": Kind(),
    "recall_at_3": Kind(),
    "recall_at_5": Kind(),
    "recall_at_10": Kind(),
    "mrr": Kind(),
    "ndcg_at_10": Kind(),
    "found_at_10": Kind(),
    "negatives_answered": Kind(better="lower", strict=True),
    "ties": Kind(better="none", unit="count", total=True),
}


def measure(corpus: RetrievalSet, *, seed: int = 1, tick: Tick = no_tick) -> Outcome:
    """Index the documents of each group into a store of its own and ask the group's queries.

    Args:
        seed: of the order of indexing and of the bootstrap. Queries are drawn one by one: nothing is known of what
            they share.
        tick: told about each document and each query that is done.

    found_at_10 is the share of the relevant documents (or needles) in the first ten hits.
    """
    scored: list[Scored] = []
    failures: list[Failure] = []
    groups: dict[str, tuple[list[Document], list[Query]]] = {}
    for document in corpus.documents:
        groups.setdefault(document.group, ([], []))[0].append(document)
    for query in corpus.queries:
        groups[query.group][1].append(query)
    for documents, queries in groups.values():
        ordered = shuffled(documents, lambda document: document.id, seed)
        with scratch_store(_documents(ordered, tick)) as store:
            bodies = _bodies(store, documents) if corpus.mode == "needles" else []
            for query in queries:
                hits = store.search(query.text, limit=corpus.fetch).hits
                result = _scored(corpus, query, hits, bodies)
                scored.append(result)
                failures += _failures(result, query, hits)
                tick(1)
    return Outcome(tally.metrics(scored, KINDS, seed=seed), failures, tally.cases(scored))


def _documents(documents: Iterable[Document], tick: Tick) -> Iterator[StoreDocument]:
    from capy_store.documents import Document as StoreDocument

    for document in documents:
        yield StoreDocument(document.id, document.text, title=document.title)
        tick(1)


def _bodies(store: Store, documents: Iterable[Document]) -> list[str]:
    return [chunk["content"] for document in documents for chunk in store.chunks(document.id)]


def _scored(corpus: RetrievalSet, query: Query, hits: Sequence[Hit], bodies: Sequence[str]) -> Scored:
    """The scores of one answer. `bodies`: all chunks of the store, in mode "needles"."""
    classes = ("overall", f"kind {query.kind}") if query.kind else ("overall",)
    if query.is_negative:
        scores = {"negatives_answered": float(bool(hits))}
    else:
        if corpus.mode == "needles":
            judged: Hits = [(hit.score, _holds(query, hit.content)) for hit in hits]
            total = sum(_holds(query, body) for body in bodies)
            held = [any(needle in hit.content for hit in hits[:DEPTH]) for needle in query.needles]
            share = sum(held) / len(held)
        else:
            judged = _by_document(query, hits)
            total = len(query.relevant)
            share = found(judged) / total
        scores = {
            **ranking(judged, total), "found_at_10": share, "ties": float(is_tied(judged)),
        }  # fmt: skip
    return Scored(query.id, query.id, corpus.name, classes, scores)


def _holds(query: Query, text: str) -> bool:
    return any(needle in text for needle in query.needles)


def _by_document(query: Query, hits: Sequence[Hit]) -> Hits:
    """The hits, each document once, at its best place."""
    best = {hit.label: hit.score for hit in reversed(hits)}
    return [(best[label], label in query.relevant) for label in dict.fromkeys(hit.label for hit in hits)]


def _failures(result: Scored, query: Query, hits: Sequence[Hit]) -> Iterator[Failure]:
    group = f"{result.variant}/overall"
    top = hits[0].label if hits else "nothing"
    if query.is_negative:
        if hits:
            yield Failure(query.id, group, "negative_answered", "no hits", top, f"query: {query.text}")
        return
    wanted = ", ".join(sorted(query.relevant)[:3]) or " ".join(query.needles[0].split())[:100]
    if not hits:
        yield Failure(query.id, group, "no_results", wanted, "nothing", f"query: {query.text}")
    elif not result.scores["recall_at_10"]:
        yield Failure(query.id, group, "needle_lost", wanted, top, f"query: {query.text}")
