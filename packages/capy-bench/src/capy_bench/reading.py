"""A report read from a file and held to its format, so that nothing behind this needs to doubt it. Stdlib only.

What is checked is what a comparison, a table or a page reads; docs/formats/bench.report.schema.json has the whole form.
"""

from __future__ import annotations

SCHEMA = "capy.bench.report/1"
BETTER = ("higher", "lower", "none")
_MOST_BYTES = 256 << 20
_LARGEST = 1e300  # a larger figure is none; sums and differences of these stay finite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    Record = dict[str, Any]  # as read from JSON

_NONE = type(None)  # among a field's types: it may be null or missing
_NUMBER = (int, float)
_REPORT = {
    "kind": (str,), "dataset": (dict,), "metrics": (list,), "failures": (list,), "settings": (dict, _NONE),
    "git": (dict, _NONE), "machine": (dict, _NONE), "versions": (dict, _NONE), "created_at": (str, _NONE),
}  # fmt: skip
_DATASET = {"hash": (str,), "name": (str, _NONE), "split": (str, _NONE), "cases": (int, _NONE)}
_METRIC = {
    "group": (str,), "metric": (str,), "value": _NUMBER, "better": (str,), "unit": (str,), "strict": (bool,),
    "low": (*_NUMBER, _NONE), "high": (*_NUMBER, _NONE), "n": (int, _NONE),
}  # fmt: skip
_FAILURE = {"case": (str,), "group": (str,), "failure": (str,), "detail": (str, _NONE)}
_GIT = {"sha": (str, _NONE), "branch": (str, _NONE)}
_WORDS = {str: "a text", dict: "an object", list: "a list", int: "a number", float: "a number", bool: "true or false"}


class Unusable(Exception):
    """A file that is no report, or two reports that cannot be compared; the message says why."""


def read(path: str) -> Record:
    """The report in a file.

    Raises:
        Unusable: it cannot be read, is not JSON, or is not a report; the message names the field.
    """
    import json

    try:
        with open(path, "rb") as file:  # noqa: PTH123 - pathlib would double the start of this program
            data = file.read(_MOST_BYTES + 1)
    except OSError as ex:
        raise Unusable(f"{path}: {ex.strerror}") from ex
    if len(data) > _MOST_BYTES:
        raise Unusable(f"{path} is larger than {_MOST_BYTES >> 20} MB: no report")
    if not data.strip():
        raise Unusable(f"{path} is empty")
    try:
        report = json.loads(data.decode("utf-8-sig"), parse_constant=_refused)
        json.dumps(report, ensure_ascii=False).encode()  # half a character, as "\\ud800", could not be shown
    except (ValueError, RecursionError) as ex:
        raise Unusable(f"{path} is not JSON: {ex}") from ex
    if not isinstance(report, dict) or report.get("schema") != SCHEMA:
        raise Unusable(f"{path} is no report of capy-bench ({SCHEMA}); write one with --out, e.g. capy-bench quality")
    problem = next(_problems(report), "")
    if problem:
        raise Unusable(f"{path} is a damaged report: {problem}")
    return report


def plain(text: object) -> str:
    """A text of a report for a terminal: on one line, without what moves a cursor or changes a colour."""
    return "".join(char if char.isprintable() else " " for char in str(text))


def _problems(report: Record) -> Iterator[str]:
    yield from _shape(report, _REPORT, "")
    yield from _shape(report["dataset"], _DATASET, "dataset.")
    yield from _shape(report.get("git") or {}, _GIT, "git.")
    seen: set[tuple[str, str]] = set()
    for number, metric in enumerate(report["metrics"]):
        where = f"metrics[{number}]"
        yield from _shape(metric, _METRIC, where + ".")
        if metric["better"] not in BETTER:
            yield f"{where}.better: {metric['better']!r} is not one of {', '.join(BETTER)}"
        if (metric["group"], metric["metric"]) in seen:
            yield f"{where}: {metric['metric']} of {metric['group']} is there twice"
        seen.add((metric["group"], metric["metric"]))
    for number, failure in enumerate(report["failures"]):
        yield from _shape(failure, _FAILURE, f"failures[{number}].")


def _shape(value: object, fields: Mapping[str, tuple[type, ...]], where: str) -> Iterator[str]:
    """What is missing or of another type; numbers must be ones to calculate with."""
    if not isinstance(value, dict):
        yield f"{where.rstrip('.')}: is not an object"
        return
    for field, types in fields.items():
        item = value.get(field)
        if type(item) not in types:
            yield f"{where}{field}: is " + ("missing" if field not in value else f"not {_WORDS[types[0]]}")
        elif isinstance(item, _NUMBER) and not -_LARGEST < item < _LARGEST:
            yield f"{where}{field}: is no figure"


def _refused(name: str) -> None:
    raise ValueError(f"{name} is no figure")
