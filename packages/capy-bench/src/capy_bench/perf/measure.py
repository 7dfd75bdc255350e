"""All measurements in one run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from ..record import Metric

PARTS = ("floor", "open", "index", "exec", "output", "hook", "mcp", "start")


class Plan(NamedTuple):
    """How much is measured.

    Attributes:
        megabytes: sizes of the stores that are filled and searched.
        output_megabytes: sizes of output that is streamed.
        rounds: of each short program; fewer of long ones.
        queries: for each lane and store.
    """

    megabytes: tuple[int, ...] = (1, 10, 50)
    output_megabytes: tuple[int, ...] = (1, 10, 50)
    rounds: int = 25
    queries: int = 200

    def hash(self) -> str:
        """Figures of two runs are comparable only when they did the same."""
        return "sha256:" + hashlib.sha256(json.dumps(self).encode()).hexdigest()


QUICK = Plan(megabytes=(1, 5), output_megabytes=(10,), rounds=9, queries=60)


def measure(plan: Plan, parts: tuple[str, ...], progress: Callable[[str], None]) -> Iterator[Metric]:
    """The figures of a run, as they come.

    Args:
        parts: of PARTS, those wanted; the floors are always measured.
        progress: told what is measured now.
    """
    from . import floors, knowledge, programs

    with ExitStack() as stack:
        scratch = Path(stack.enter_context(TemporaryDirectory(prefix="capy-bench-")))
        progress("the bare machine")
        yield from floors.floors(scratch, plan.rounds)
        if "start" in parts:
            progress("command lines")
            yield from programs.commands(scratch, plan.rounds)
        if "hook" in parts:
            progress("hook")
            yield from programs.hooking(scratch, plan.rounds)
        if "mcp" in parts:
            progress("server")
            yield from programs.serving(scratch, plan.rounds)
        if "exec" in parts:
            yield from programs.executing(scratch, plan.rounds, progress)
        if "output" in parts:
            for megabytes in plan.output_megabytes:
                progress(f"{megabytes} MB of output")
                yield from programs.streaming(megabytes, 3)
        if "open" in parts:
            progress("open a store")
            yield from knowledge.opening(scratch, plan.rounds)
        if "index" in parts:
            sizes = [size * 1_000_000 for size in plan.megabytes]
            yield from knowledge.indexing_and_searching(scratch, sizes, plan.queries, 3, progress)
