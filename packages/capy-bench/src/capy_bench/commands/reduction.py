"""capy-bench reduction: how much of an output a model gets to read, and whether the answer is in it."""

from __future__ import annotations

from pathlib import Path

import click

from capy_core.cli import App, common_options
from capy_core.errors import UsageError
from capy_core.records import Record

from ..fixtures import CONTENT_TYPES, SPLITS
from .output import OutFile, deliver, doubt, progress


@click.command()
@click.option(
    "--split",
    type=click.Choice((*SPLITS, "all")),
    default="test",
    help="test (default) judges; dev is for tuning.",
)
@click.option("--types", multiple=True, type=click.Choice(CONTENT_TYPES), help="Only this content type (repeatable).")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first so many texts of each type, or cases.")
@click.option("--seed", type=int, default=1, help="Of the intervals (default 1).")
@click.option(
    "--fixtures",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Your own fixtures instead of those of the package.",
)
@click.option(
    "--corpus",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A folder with cases.jsonl and the outputs that it names.",
)
@click.option("--strict", is_flag=True, help="Refuse doubtful questions instead of warning.")
@click.option("--out", type=OutFile(), help="Write the report to this file, too.")
@common_options
@click.pass_obj
def reduction(
    app: App,
    split: str,
    types: tuple[str, ...],
    limit: int | None,
    seed: int,
    fixtures: Path | None,
    corpus: Path | None,
    strict: bool,
    out: Path | None,
) -> None:
    """Measure how much of an output is cut, and whether the answer is still in it.

    Each question is answered as the server would: from the output alone (intent), by a search after indexing it
    (search), and as the query of a batch (batch). Beside them stand `tail -200`, grep for the question's words, and the
    best five chunks by BM25. Judged is the text that the model would get.

    cut: 1 - bytes of the reply / bytes of the output. recall: share of the needles in the reply; perfect: all of them.
    effective: cut x recall. Tokens are bytes / 4. Outputs below 5 KB have a group of their own and count in no other.

    \b
    Example:
        capy-bench reduction
        capy-bench reduction --corpus my-outputs --out now.json
    """
    from .. import reduction as library
    from ..baselines import BASELINES
    from ..record import build
    from ..replies import SERVER

    facts: Record
    if corpus is not None:
        if fixtures is not None or types:
            raise UsageError("--corpus takes no --fixtures and no --types", "leave one of them out")
        from ..corpus import output_set

        found = output_set(corpus)
        doubt(app, found.doubts, strict=strict)
        found = found.first(limit) if limit else found
        facts, outputs = found.record(), library.from_corpus(found)
    else:
        from ..fixtures import load

        dataset = load(split, folder=fixtures, types=types)
        doubt(app, dataset.doubts, strict=strict)
        dataset = dataset.first(limit) if limit else dataset
        facts, outputs = dataset.record(), library.from_fixtures(dataset)
    with progress(app, "answering", facts["cases"]) as tick:
        ways = {**SERVER, **BASELINES}
        outcome = library.measure(outputs, ways, judged=tuple(SERVER), seed=seed, tick=tick)
    settings = {"types": list(types), "limit": limit, "seed": seed, "ways": list(ways)}
    deliver(app, build("reduction", facts, settings, outcome), out)
