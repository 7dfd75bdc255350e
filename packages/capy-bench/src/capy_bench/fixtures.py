"""Texts with questions about them: read from JSONL, held to their format, hashed. The format: docs/formats/fixtures.md.

A folder holds one file for each content type, `<type>.jsonl`, or folders `dev` and `test` that do. The package's own
are beside this module.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

from capy_core.errors import BadInput, NotFound
from capy_core.records import Record, loads, read_lines

from .corpus import limited_hash

OWN = Path(__file__).parent / "fixtures"
CONTENT_TYPES = ("markdown", "json", "plaintext", "transcript", "curated", "code", "cjk")
SPLITS = ("dev", "test")
KINDS = ("durable", "ephemeral", "session")
ORIGINS = ("written", "output")
LAYERS = ("", "porter", "part", "cjk", "trigram", "fuzzy")
TRAITS = ("typo", "identifier", "paraphrase", "near_duplicate", "exact", "multi_needle", "long_input")
LONGEST_LINE = 1 << 20

_ENTRY = dict.fromkeys(("id", "content_type", "haystack", "source_label", "source_kind", "origin"), str) | {
    "cases": list
}
_CASE = {
    "case_id": str, "query": str, "needles": list, "expected_layer": str, "expected_rank_ceiling": int, "traits": list,
}  # fmt: skip
_DEFAULTS: Record = {"origin": "written", "expected_layer": "", "expected_rank_ceiling": 0, "traits": []}
_MOST_NAMED = 20


@dataclass(frozen=True)
class Case:
    """A question about a haystack.

    Args:
        needles: what an answer must hold one of, exact parts of the haystack; none: nothing here answers it.
        layer: a lane that the best hit must name, or "".
        ceiling: the worst rank that will do, or 0.
    """

    id: str
    query: str
    needles: tuple[str, ...]
    layer: str = ""
    ceiling: int = 0
    traits: tuple[str, ...] = ()

    @property
    def is_negative(self) -> bool:
        return not self.needles


@dataclass(frozen=True)
class Haystack:
    """A text under a label, and the questions about it. `kind` as in the store; `origin`: "written" or "output"."""

    id: str
    content_type: str
    text: str
    label: str
    kind: str
    origin: str
    cases: tuple[Case, ...]


@dataclass(frozen=True)
class Dataset:
    """Haystacks by content type, in the order of CONTENT_TYPES.

    Args:
        hash: "sha256:<hex>" over the names and all bytes of the files that were read.
        doubts: what makes figures less telling, in words: questions asked twice, needles that several haystacks hold.
    """

    name: str
    split: str
    hash: str
    haystacks: tuple[Haystack, ...]
    doubts: tuple[str, ...] = ()

    def record(self) -> Record:
        """The `dataset` of a report."""
        cases = sum(len(haystack.cases) for haystack in self.haystacks)
        return {"name": self.name, "split": self.split, "hash": self.hash, "cases": cases}

    def first(self, limit: int) -> Dataset:
        """The first `limit` haystacks of each type, as another dataset: its figures compare with no others."""
        taken: Counter[str] = Counter()
        kept = []
        for haystack in self.haystacks:
            taken[haystack.content_type] += 1
            if taken[haystack.content_type] <= limit:
                kept.append(haystack)
        return replace(self, hash=limited_hash(self.hash, limit), haystacks=tuple(kept))


def load(split: str = "test", *, folder: Path | None = None, types: tuple[str, ...] = ()) -> Dataset:
    """Read and check fixtures.

    Args:
        split: "dev", "test" or "all". A folder without such folders in it is read as it is.
        folder: whose; None: the package's own.
        types: only these content types; empty: all.

    Raises:
        NotFound: there is no such folder, or none of the files in it.
        BadInput: a file is not as the format says; file, line, id and field are named, in `details` all of them.
    """
    root = OWN if folder is None else folder
    parts = [root / name for name in (SPLITS if split == "all" else (split,)) if (root / name).is_dir()] or [root]
    wanted = types or CONTENT_TYPES
    files = [path for part in parts for kind in wanted if (path := part / f"{kind}.jsonl").is_file()]
    if not files:
        raise NotFound(f"no fixtures in {root}", f"name a folder with files such as {wanted[0]}.jsonl")
    digest = sha256()
    problems: list[str] = []
    entries: list[Haystack] = []
    for path in files:
        data = path.read_bytes()
        name = str(path.relative_to(root))
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
        entries += _entries(data, name, path.stem, problems)
    problems += _doubles(entries)
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        hint = "correct it; the format is in docs/formats/fixtures.md"
        raise BadInput(problems[0] + more, hint, problems=problems[:_MOST_NAMED])
    order = {kind: place for place, kind in enumerate(CONTENT_TYPES)}
    entries.sort(key=lambda entry: order[entry.content_type])  # stable: the order of the files is kept
    name = "fixtures" if folder is None else folder.resolve().name
    used = split if parts != [root] else ""
    return Dataset(name, used, f"sha256:{digest.hexdigest()}", tuple(entries), tuple(_doubts(entries)))


def _entries(data: bytes, name: str, kind: str, problems: list[str]) -> Iterator[Haystack]:
    """The entries of a file that are whole; what is wrong with the others goes to `problems`."""
    if not data.strip():
        problems.append(f"{name} is empty")
    for number, line in read_lines(BytesIO(data)):
        where = f"{name}:{number}"
        if len(line) > LONGEST_LINE:
            problems.append(f"{where}: the line is longer than {LONGEST_LINE:,} bytes")
            continue
        try:
            value = loads(line)
        except ValueError as ex:
            problems.append(f"{where}: not JSON ({ex})")
            continue
        found = list(_problems(value, where, kind))
        problems += found
        if not found:
            yield _haystack(value)


def _problems(value: Any, where: str, kind: str) -> Iterator[str]:
    """What is wrong with an entry, each as `file:line: id: field: reason`."""
    if not isinstance(value, dict):
        yield f"{where}: not an object"
        return
    where = f"{where}: {value.get('id', 'no id')}"
    wrong = list(_shape(value, _ENTRY, where))
    yield from wrong
    if wrong:
        return
    for field in ("id", "haystack", "source_label"):
        if not value[field].strip():
            yield f"{where}: {field}: is blank"
    for field, allowed in (("content_type", (kind,)), ("source_kind", KINDS), ("origin", ORIGINS)):
        if value[field] not in allowed:
            yield f"{where}: {field}: {value[field]!r} is not {_either(allowed)}"
    if not value["cases"]:
        yield f"{where}: cases: there is none"
    for number, case in enumerate(value["cases"], 1):
        named = case.get("case_id", f"case {number}") if isinstance(case, dict) else f"case {number}"
        yield from _case_problems(case, f"{where}: {named}", value["haystack"])


def _case_problems(case: Any, where: str, haystack: str) -> Iterator[str]:
    if not isinstance(case, dict):
        yield f"{where}: not an object"
        return
    wrong = list(_shape(case, _CASE, where))
    yield from wrong
    if wrong:
        return
    for field in ("case_id", "query"):
        if not case[field].strip():
            yield f"{where}: {field}: is blank"
    yield from _needle_problems(case["needles"], f"{where}: needles", haystack)
    if case["expected_layer"] not in LAYERS:
        yield f"{where}: expected_layer: {case['expected_layer']!r} is not {_either(LAYERS)}"
    if case["expected_rank_ceiling"] < 0:
        yield f"{where}: expected_rank_ceiling: is below 0"
    if not case["needles"] and (case["expected_layer"] or case["expected_rank_ceiling"]):
        yield f"{where}: needles: there is none, but a layer or a rank is expected"
    for trait in case["traits"]:
        if trait not in TRAITS:
            yield f"{where}: traits: {trait!r} is not {_either(TRAITS)}"


def _needle_problems(needles: list[Any], where: str, haystack: str) -> Iterator[str]:
    for needle in needles:
        if not isinstance(needle, str) or not needle.strip():
            yield f"{where}: {needle!r} is no text"
        elif needle not in haystack:
            yield f"{where}: {needle!r} is not in the haystack"
    if len({str(needle) for needle in needles}) < len(needles):
        yield f"{where}: one is given twice"


def _shape(value: Record, fields: Mapping[str, type], where: str) -> Iterator[str]:
    """Fields that are missing, of another type, or unknown. Those that may be left out get their default."""
    for field, type_ in fields.items():
        if field in _DEFAULTS:
            value.setdefault(field, _DEFAULTS[field])
        if field not in value:
            yield f"{where}: {field}: is missing"
        elif type(value[field]) is not type_:
            yield f"{where}: {field}: is not {_NAMES[type_]}"
    for field in sorted(set(value) - set(fields)):
        yield f"{where}: {field}: no such field"


_NAMES = {str: "a text", list: "a list", int: "a whole number"}


def _either(allowed: tuple[str, ...]) -> str:
    return ", ".join(f'"{item}"' for item in allowed)


def _haystack(value: Record) -> Haystack:
    cases = tuple(
        Case(
            case["case_id"], case["query"], tuple(case["needles"]), case["expected_layer"],
            case["expected_rank_ceiling"], tuple(case["traits"]),
        )
        for case in value["cases"]
    )  # fmt: skip
    return Haystack(
        value["id"], value["content_type"], value["haystack"], value["source_label"], value["source_kind"],
        value["origin"], cases,
    )  # fmt: skip


def _doubles(entries: list[Haystack]) -> Iterator[str]:
    """Names that must be unique and are not: a second text under a label would replace the first."""
    for field, names in (
        ("id", Counter(entry.id for entry in entries)),
        ("case_id", Counter(case.id for entry in entries for case in entry.cases)),
        ("source_label", Counter(entry.label for entry in entries)),
    ):
        for name, count in names.items():
            if count > 1:
                yield f"{field}: {name!r} is there {count} times"


def _doubts(entries: list[Haystack]) -> Iterator[str]:
    """What an answer cannot be blamed or praised for: the question or its needle fits more than one text."""
    asked: dict[str, str] = {}
    for entry in entries:
        for case in entry.cases:
            words = " ".join(case.query.lower().split())
            if words in asked:
                yield f"{case.id} asks what {asked[words]} asks"
            asked.setdefault(words, case.id)
            if words and words == " ".join(entry.label.lower().split()):
                yield f"{case.id} asks with the label of its text"
            for needle in case.needles:
                others = [other.id for other in entries if other is not entry and needle in other.text]
                if others:
                    yield f"a needle of {case.id} is also in {', '.join(others)}: {needle!r}"
