"""A needle in a haystack: what of an output a model receives, and whether the answer is in it.

Judged is the text of the reply as it would enter the model's context, with its heads and hints, not the rows behind it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from . import tally
from .corpus import OutputSet
from .fixtures import Dataset
from .record import Failure, Outcome
from .scratch import no_tick
from .tally import Kind, Scored

if TYPE_CHECKING:
    from .scratch import Tick

Way = Callable[[str, Sequence[str]], Iterator[str]]  # a text and the questions to it -> the reply to each

SMALL = 5_000  # bytes; less is hardly worth reducing: its figures are kept apart
_SIZES = ((SMALL, "< 5 KB"), (20_000, "5-20 KB"), (100_000, "20-100 KB"), (400_000, "100-400 KB"))
_LARGEST = "> 400 KB"
_BYTES_PER_TOKEN = 4  # of English and code, roughly; no tokenizer is asked
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")

KINDS = {
    "compression": Kind(),
    "context_recall": Kind(strict=True),
    "perfect_recall": Kind(strict=True),
    "effective_compression": Kind(),
    "bytes": Kind("lower", "bytes"),
    "tokens": Kind("lower", "tokens"),
    "larger_than_raw": Kind("lower", "count", strict=True, total=True),
}


class Question(NamedTuple):
    """A question to an output. `classes`: groups that it counts in beside those of its output."""

    case: str
    text: str
    needles: tuple[str, ...]
    classes: tuple[str, ...] = ()


class Output(NamedTuple):
    """A text of `size` bytes, of a class such as "json" or "test", and the questions to it."""

    id: str
    class_: str
    text: str
    size: int
    questions: tuple[Question, ...]


def from_fixtures(dataset: Dataset) -> Iterator[Output]:
    """The haystacks with the questions that they answer."""
    for haystack in dataset.haystacks:
        questions = tuple(
            Question(case.id, case.query, case.needles, tuple(f"trait {trait}" for trait in case.traits))
            for case in haystack.cases
            if not case.is_negative
        )
        if questions:
            yield Output(haystack.id, haystack.content_type, haystack.text, len(haystack.text.encode()), questions)


def from_corpus(corpus: OutputSet) -> Iterator[Output]:
    """The files of a corpus with the questions to them; bytes that are not UTF-8 are read as U+FFFD."""
    for file in dict.fromkeys(case.file for case in corpus.cases):
        cases = [case for case in corpus.cases if case.file == file]
        data = cases[0].path.read_bytes()
        questions = tuple(Question(case.id, case.question, case.needles) for case in cases)
        yield Output(file, cases[0].kind, data.decode("utf-8", "replace"), len(data), questions)


def measure(
    outputs: Iterable[Output],
    ways: Mapping[str, Way],
    *,
    judged: Sequence[str],
    seed: int = 1,
    tick: Tick = no_tick,
) -> Outcome:
    """Answer every question in each way and see how much is left, and what is lost.

    Args:
        ways: name -> how to answer, in the order of the report.
        judged: the ways whose lost needles are failures; the others stand beside them for comparison.
        seed: of the bootstrap; the questions to one output are drawn together.
        tick: told about the questions that were answered.
    """
    scored: list[Scored] = []
    failures: list[Failure] = []
    for output in outputs:
        for variant, way in ways.items():
            replies = way(output.text, [question.text for question in output.questions])
            for question, reply in zip(output.questions, replies, strict=True):
                result = _scored(variant, output, question, reply)
                scored.append(result)
                if variant in judged:
                    failures += _failures(result, question, reply)
        tick(len(output.questions))
    place = {variant: at for at, variant in enumerate(ways)}
    scored.sort(key=lambda case: place[case.variant])
    failures.sort(key=lambda failure: place[failure.group.partition("/")[0]])
    return Outcome(tally.metrics(scored, KINDS, seed=seed), failures, tally.cases(scored))


def holds(reply: str, needle: str) -> bool:
    """Whether a needle is in a reply: as it is, without colour codes, or escaped as in a JSON string."""
    views = (reply, _COLOUR.sub("", reply), reply.replace('\\"', '"').replace("\\\\", "\\"))
    return any(needle in view or _COLOUR.sub("", needle) in view for view in views)


def _scored(variant: str, output: Output, question: Question, reply: str) -> Scored:
    size = len(reply.encode("utf-8", "replace"))
    recall = sum(holds(reply, needle) for needle in question.needles) / len(question.needles)
    compression = max(0.0, 1 - size / output.size)
    scores = {
        "compression": compression,
        "context_recall": recall,
        "perfect_recall": float(recall == 1),
        "effective_compression": compression * recall,
        "bytes": float(size),
        "tokens": size / _BYTES_PER_TOKEN,
        "larger_than_raw": float(size > output.size),
    }
    return Scored(question.case, output.id, variant, _classes(output, question), scores)


def _classes(output: Output, question: Question) -> tuple[str, ...]:
    size = "size " + next((name for limit, name in _SIZES if output.size < limit), _LARGEST)
    if output.size < SMALL:
        return (size,)
    return (*filter(None, (output.class_,)), "overall", size, *question.classes)


def _failures(result: Scored, question: Question, reply: str) -> Iterator[Failure]:
    lost = [needle for needle in question.needles if not holds(reply, needle)]
    if lost:
        wanted = "; ".join(" ".join(needle[:200].split()) for needle in lost[:3])
        found, size = len(question.needles) - len(lost), int(result.scores["bytes"])
        got = f"{found} of {len(question.needles)} needles in {size:,} bytes"
        group = f"{result.variant}/{result.classes[0]}"
        yield Failure(result.case, group, "needle_lost", wanted, got, f"question: {question.text}")
