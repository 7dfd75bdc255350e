"""Which languages there are, and what is said when a runtime is missing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from capy_core.errors import NotFound, UsageError
from capy_exec.runtimes import ALIASES, LANGUAGES, PRELUDES, describe, find_runtime, language_named


def test_there_are_eleven_languages_and_no_name_twice() -> None:
    assert len(LANGUAGES) == 11
    assert not set(ALIASES) & set(LANGUAGES)


@pytest.mark.parametrize(("name", "language"), [("js", "javascript"), ("PY", "python"), ("bash", "shell"), ("R", "r")])
def test_other_names(name: str, language: str) -> None:
    assert language_named(name).name == language


def test_no_such_language() -> None:
    with pytest.raises(UsageError, match="no language 'cobol'") as caught:
        language_named("cobol")
    assert "javascript, typescript" in caught.value.hint


@pytest.mark.parametrize("language", LANGUAGES.values(), ids=LANGUAGES)
def test_every_preludes_file_is_there(language) -> None:  # type: ignore[no-untyped-def]
    words = [word for candidate in language.candidates for word in (*candidate.options, *candidate.file_options)]
    names = [language.prelude, language.file_suffix, language.file_beside]
    names += [word.rpartition("{preludes}/")[2] for word in words if "{preludes}/" in word]
    assert [name for name in names if name and not (PRELUDES / name).is_file()] == []


def test_the_first_candidate_on_path_is_taken(tmp_path: Path) -> None:
    for name in ("node", "bun"):
        program = tmp_path / name
        program.write_text("#!/bin/sh\necho v9.8.7\n", encoding="utf-8")
        program.chmod(0o755)
    record = describe(LANGUAGES["javascript"], str(tmp_path))
    assert (record["runtime"], record["version"], record["path"]) == ("bun", "9.8.7", str(tmp_path / "bun"))


def test_a_missing_runtime_names_language_candidates_and_remedy(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as caught:
        find_runtime(LANGUAGES["typescript"], str(tmp_path))
    assert caught.value.message == "no typescript runtime: bun or tsx or ts-node is not on PATH"
    assert "npm install -g tsx" in caught.value.hint


@pytest.mark.parametrize("language", LANGUAGES.values(), ids=LANGUAGES)
def test_this_machine_has_them_all_with_versions(language) -> None:  # type: ignore[no-untyped-def]
    record = describe(language, os.environ["PATH"])
    assert record["available"] is True
    assert str(record["version"])[0].isdigit()
    assert record["hint"] == ""
