"""capy-bench retrieval: how well the store answers the queries of a corpus."""

from __future__ import annotations

from pathlib import Path

import click

from capy_core.cli import App, common_options
from capy_core.records import Record

from .output import OutFile, deliver, doubt, progress


@click.command()
@click.option(
    "--corpus",
    "folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    required=True,
    help="A folder with docs.jsonl and queries.jsonl, or of such folders.",
)
@click.option("--limit", type=click.IntRange(min=1), help="Only the first so many queries of each group.")
@click.option("--seed", type=int, default=1, help="Of the order of indexing and the intervals (default 1).")
@click.option("--strict", is_flag=True, help="Refuse answers that are in no document instead of warning.")
@click.option("--out", type=OutFile(), help="Write the report to this file, too.")
@common_options
@click.pass_obj
def retrieval(app: App, folder: Path, limit: int | None, seed: int, strict: bool, out: Path | None) -> None:
    """Measure how well the store finds the documents of a corpus.

    A line of docs.jsonl has `id`, `text`, and if wanted `title` and `group`; a line of queries.jsonl has `id`, `text`,
    `relevant` (ids of documents) or `needles` (texts of which an answer holds one), and if wanted `group` and `kind`.
    Each group gets a store of its own, each kind its own figures. meta.json may hold `mode` ("docs" or "needles") and
    `fetch`, the number of hits to ask for. A query without an answer counts in negatives_answered alone.

    \b
    Example:
        capy-bench retrieval --corpus my-corpus
        capy-bench retrieval --corpus my-corpus --out now.json --format json
    """
    from .. import retrieval as library
    from ..corpus import retrieval_sets
    from ..record import Outcome, build

    sets = retrieval_sets(folder)
    doubt(app, [item for one in sets for item in one.doubts], strict=strict)
    sets = [one.first(limit) if limit else one for one in sets]
    outcome = Outcome()
    with progress(app, "indexing and asking", sum(len(one.documents) + len(one.queries) for one in sets)) as tick:
        for one in sets:
            found = library.measure(one, seed=seed, tick=tick)
            outcome.metrics += found.metrics
            outcome.failures += found.failures
            outcome.cases += found.cases
    settings: Record = {"limit": limit, "seed": seed, "sets": {one.name: [one.mode, one.fetch] for one in sets}}
    facts = {
        "name": folder.resolve().name,
        "split": "",
        "hash": sets[0].hash if len(sets) == 1 else _joint_hash([one.hash for one in sets]),
        "cases": len(outcome.cases),
    }
    deliver(app, build("retrieval", facts, settings, outcome), out)


def _joint_hash(hashes: list[str]) -> str:
    from hashlib import sha256

    return "sha256:" + sha256("\n".join(hashes).encode()).hexdigest()
