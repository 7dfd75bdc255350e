"""The error tree is a contract: codes and statuses are what scripts branch on."""

from __future__ import annotations

import json
from collections.abc import Iterator

from capy_core import cli, errors
from capy_core.errors import CapyError

STATUSES = {1, 2, 3, 4, 5, 6, 7, 70}


def test_every_error_has_its_own_code_a_docstring_and_a_known_status() -> None:
    kinds = list(subclasses(CapyError))
    assert cli.Bug in kinds and errors.SystemFailure in kinds
    codes = [kind.code for kind in kinds]
    assert len(set(codes)) == len(codes), sorted(codes)
    for kind in kinds:
        assert kind.__doc__ and kind.__doc__.strip().endswith("."), kind
        assert kind.exit_code in STATUSES, kind


def test_the_module_docstring_draws_every_error_with_its_status() -> None:
    drawn = {}
    for line in (errors.__doc__ or "").splitlines():
        words = line.split()
        if len(words) > 2 and words[1].isdigit():
            drawn[words[0]] = int(words[1])
    assert drawn == {
        kind.__name__: kind.exit_code for kind in subclasses(CapyError) if kind.__module__ == errors.__name__
    }


def test_a_record_holds_code_message_hint_and_details() -> None:
    record = errors.TooLarge("too large", "split it", limit=5).record()
    assert record == {
        "schema": "capy.error/1",
        "code": "too_large",
        "message": "too large",
        "hint": "split it",
        "limit": 5,
    }
    assert json.loads(json.dumps(record)) == record


def subclasses(kind: type[CapyError]) -> Iterator[type[CapyError]]:
    for child in kind.__subclasses__():
        yield child
        yield from subclasses(child)
