"""A small set of fixtures of our own making, written to a folder for each test that wants to change it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Record = dict[str, Any]
Write = Callable[[dict[str, list[Record]]], Path]


def case(name: str, query: str, *needles: str, **fields: Any) -> Record:
    """A case of a fixture; without needles a negative."""
    return {"case_id": name, "query": query, "needles": list(needles), **fields}


def entry(name: str, kind: str, haystack: str, *cases: Record, **fields: Any) -> Record:
    """An entry of a fixture file."""
    return {
        "id": name, "content_type": kind, "haystack": haystack, "source_label": f"{name}.txt", "source_kind": "durable",
        "origin": "written", "cases": list(cases), **fields,
    }  # fmt: skip


def log(lines: int, special: str = "", at: int = 0) -> str:
    """A log of so many lines, one of which may be special."""
    text = [f"12:{i // 60 % 60:02}:{i % 60:02} worker-{i % 7} finished job {i} in {i % 13} ms" for i in range(lines)]
    if special:
        text[at] = f"12:59:59 {special}"
    return "\n".join(text) + "\n"


LIGHTS = (
    "# Lighthouses\n\nThe keeper winds the clockwork every four hours.\n\n"
    "## Fuel\n\nColza oil replaced whale oil in 1846.\n\n"
    "## Lens\n\nA Fresnel lens of the first order weighs two tonnes.\n"
)
BREAD = (
    "# Bread\n\nA sourdough starter is fed with equal weights of rye flour and water.\n\nProving takes eleven hours.\n"
)
SMALL: dict[str, list[Record]] = {
    "markdown": [
        entry(
            "lights", "markdown", LIGHTS,
            case(
                "lights_q1", "who winds the clockwork", "keeper winds", expected_layer="porter", expected_rank_ceiling=1
            ),
            case("lights_q2", "weight of a frensel lens", "weighs two tonnes", expected_layer="fuzzy", traits=["typo"]),
            case("lights_neg1", "zeppelin mooring mast"),
        ),
        entry(
            "bread", "markdown", BREAD,
            case("bread_q1", "what is a sourdough starter fed with", "rye flour", traits=["paraphrase"]),
        ),
    ],
    "plaintext": [
        entry(
            "log", "plaintext", log(200, "upload failed: bucket quota of tenant kestrel exceeded", 150),
            case("log_q1", "which upload failed", "bucket quota of tenant kestrel", expected_rank_ceiling=3),
            case("log_neg1", "ammonite suture"),
            source_kind="ephemeral",
        ),
    ],
}  # fmt: skip


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write fixtures by content type into a folder and give the folder."""

    def into_folder(entries: dict[str, list[Record]]) -> Path:
        folder = tmp_path / "fixtures"
        folder.mkdir(exist_ok=True)
        for kind, lines in entries.items():
            text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
            (folder / f"{kind}.jsonl").write_text(text, encoding="utf-8")
        return folder

    return into_folder


@pytest.fixture
def small(write: Write) -> Path:
    """The folder of the small set."""
    return write(SMALL)
