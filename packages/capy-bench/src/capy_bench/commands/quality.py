"""capy-bench quality: how well the store answers questions about fixtures."""

from __future__ import annotations

from pathlib import Path

import click

from capy_core.cli import App, common_options

from ..fixtures import CONTENT_TYPES, SPLITS
from .output import OutFile, deliver, doubt, progress


@click.command()
@click.option(
    "--split",
    type=click.Choice((*SPLITS, "all")),
    default="test",
    help="test (default) judges; dev is for tuning.",
)
@click.option(
    "--stores",
    type=click.Choice(("shared", "per-type", "both")),
    default="both",
    help="One store for all texts, one for each content type, or both (default).",
)
@click.option("--types", multiple=True, type=click.Choice(CONTENT_TYPES), help="Only this content type (repeatable).")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first so many texts of each type.")
@click.option("--seed", type=int, default=1, help="Of the order of indexing and the intervals (default 1).")
@click.option(
    "--fixtures",
    "folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Your own fixtures instead of those of the package.",
)
@click.option("--strict", is_flag=True, help="Refuse fixtures with doubtful questions instead of warning.")
@click.option("--out", type=OutFile(), help="Write the report to this file, too.")
@common_options
@click.pass_obj
def quality(
    app: App,
    split: str,
    stores: str,
    types: tuple[str, ...],
    limit: int | None,
    seed: int,
    folder: Path | None,
    strict: bool,
    out: Path | None,
) -> None:
    """Measure how well the store finds what answers a question.

    Texts of seven types are indexed into a scratch store, and questions with known answers are asked of it; your own
    store and key are not touched. A group's name says which store was asked: shared (all texts in one) or per-type.

    R@k: share of questions with an answer in the first k hits. MRR: mean of 1 / rank of the first such hit. layer: the
    best hit was found by the lane that it should be found by. ceiling: the answer stands as high as it should.
    negatives: questions without an answer that got one. ties: questions in which equal scores had a say.

    \b
    Example:
        capy-bench quality
        capy-bench quality --split dev --types json --stores per-type
        capy-bench quality --fixtures my-fixtures --out now.json
    """
    from .. import quality as library
    from ..fixtures import load
    from ..record import build

    dataset = load(split, folder=folder, types=types)
    doubt(app, dataset.doubts, strict=strict)
    if limit:
        dataset = dataset.first(limit)
    asked = library.STORES if stores == "both" else (stores,)
    facts = dataset.record()
    with progress(app, "asking", facts["cases"] * len(asked)) as tick:
        outcome = library.measure(dataset, stores=asked, seed=seed, tick=tick)
    settings = {"stores": list(asked), "types": list(types), "limit": limit, "seed": seed}
    deliver(app, build("quality", facts, settings, outcome), out)
