"""Search quality on fixtures: is what answers found, how high, by which lane, and is nothing found for nothing?

Every question is asked of one store that holds all texts ("shared"), and of a store of its content type ("per-type").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from . import tally
from .fixtures import Case, Dataset, Haystack
from .metrics import DEPTH, first_rank, is_tied, ranking
from .record import Failure, Outcome
from .scratch import no_tick, scratch_store, shuffled
from .tally import Kind, Scored

if TYPE_CHECKING:
    from capy_store.documents import Document, Hit
    from capy_store.store import Store

    from .scratch import Tick

STORES = ("shared", "per-type")

KINDS = {
    "recall_at_1": Kind(),
    "recall_at_3": Kind(),
    "recall_at_5": Kind(),
    "recall_at_10": Kind(),
    "mrr": Kind(),
    "ndcg_at_10": Kind(),
    "layer_accuracy": Kind(strict=True),
    "within_rank_ceiling": Kind(),
    "negatives_answered": Kind(better="lower", strict=True),
    "ties": Kind(better="none", unit="count", total=True),
}

# Given where whoever indexes knows it (by a file's suffix, or because they wrote the text); else it is detected.
_TYPE_GIVEN = {"code": "code", "transcript": "transcript"}


def measure(dataset: Dataset, *, stores: Sequence[str] = STORES, seed: int = 1, tick: Tick = no_tick) -> Outcome:
    """Ask all questions of a dataset.

    Args:
        stores: of STORES.
        seed: of the order of indexing and of the bootstrap.
        tick: told about each question that was asked.
    """
    scored: list[Scored] = []
    failures: list[Failure] = []
    for variant in stores:
        for haystacks in _stores(dataset, variant):
            documents = (_document(haystack) for haystack in shuffled(haystacks, lambda item: item.id, seed))
            with scratch_store(documents) as store:
                bodies = list(_bodies(store))
                for haystack in haystacks:
                    for case in haystack.cases:
                        hits = store.search(case.query, limit=DEPTH).hits
                        chunks = sum(holds(case, body) for body in bodies)
                        result = _scored(variant, haystack, case, hits, chunks)
                        scored.append(result)
                        failures += _failures(result, case, hits, chunks)
                        tick(1)
    return Outcome(tally.metrics(scored, KINDS, seed=seed), failures, tally.cases(scored))


def holds(case: Case, text: str) -> bool:
    """Whether a text answers a case: it holds any of the needles."""
    return any(needle in text for needle in case.needles)


def _stores(dataset: Dataset, variant: str) -> Iterator[list[Haystack]]:
    if variant == "shared":
        yield list(dataset.haystacks)
        return
    for kind in dict.fromkeys(haystack.content_type for haystack in dataset.haystacks):
        yield [haystack for haystack in dataset.haystacks if haystack.content_type == kind]


def _document(haystack: Haystack) -> Document:
    from capy_store.documents import Document

    type_ = _TYPE_GIVEN.get(haystack.content_type, "")
    return Document(haystack.label, haystack.text, kind=haystack.kind, content_type=type_)


def _bodies(store: Store) -> Iterator[str]:
    for source in store.sources():
        for chunk in store.chunks(source["label"]):
            yield chunk["content"]


def _scored(variant: str, haystack: Haystack, case: Case, hits: Sequence[Hit], chunks: int) -> Scored:
    """The scores of one answer. `chunks`: how many chunks of the store hold a needle."""
    if case.is_negative:
        scores = {"negatives_answered": float(bool(hits))}
        return Scored(case.id, haystack.id, variant, (haystack.content_type, "overall"), scores)
    judged = [(hit.score, holds(case, hit.content)) for hit in hits]
    scores = {**ranking(judged, chunks), "ties": float(is_tied(judged))}
    classes = [haystack.content_type, "overall", *(f"trait {trait}" for trait in case.traits)]
    if case.layer:
        classes.append(f"layer {case.layer}")
        scores["layer_accuracy"] = float(bool(hits) and case.layer in hits[0].layers)
    if case.ceiling:
        scores["within_rank_ceiling"] = float(0 < first_rank(judged) <= case.ceiling)
    return Scored(case.id, haystack.id, variant, tuple(classes), scores)


def _failures(result: Scored, case: Case, hits: Sequence[Hit], chunks: int) -> Iterator[Failure]:
    group = f"{result.variant}/{result.classes[0]}"
    top = f"{hits[0].label}: {_start(hits[0].content)}" if hits else "nothing"
    if case.is_negative:
        if hits:
            yield Failure(case.id, group, "negative_answered", "no hits", top, f"query: {case.query}")
        return
    wanted = _start(case.needles[0])
    lost = "" if chunks else "; no chunk holds a needle whole"
    rank = first_rank([(hit.score, holds(case, hit.content)) for hit in hits])
    if not hits:
        yield Failure(case.id, group, "no_results", wanted, "nothing", f"query: {case.query}{lost}")
    elif not rank:
        yield Failure(case.id, group, "needle_lost", wanted, top, f"query: {case.query}{lost}")
    if case.ceiling and not 0 < rank <= case.ceiling:
        yield Failure(
            case.id, group, "rank_ceiling", f"rank {case.ceiling} at most", f"rank {rank or 'none'}", f"first: {top}"
        )
    if case.layer and not (hits and case.layer in hits[0].layers):
        yield Failure(case.id, group, "layer", case.layer, ", ".join(hits[0].layers) if hits else "none", top)


def _start(text: str) -> str:
    """The beginning of a text on one line."""
    line = " ".join(text[:400].split())
    return line if len(line) <= 100 else line[:99] + "…"
