"""capy-bench perf: the arithmetic, the made-up text, and one real run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capy_bench.perf import programs
from capy_bench.perf.measure import QUICK, Plan
from capy_bench.perf.text import KINDS, LAYERS, document, documents, planted, question
from capy_bench.perf.timing import interleaved, metric, quantile, ratio
from capy_core.config import ExecutorConfig
from capy_exec.request import Request


def test_the_median_of_a_hundred_values_has_the_interval_of_its_order_statistics() -> None:
    assert quantile(range(100), 0.5) == (50, 40, 60)


def test_the_interval_of_few_values_is_their_range() -> None:
    assert quantile([3.0, 1.0, 2.0], 0.5) == (2.0, 1.0, 3.0)


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=50), st.sampled_from([0.5, 0.95, 0.99]))
def test_a_quantile_is_a_value_within_its_interval(values: list[float], share: float) -> None:
    value, low, high = quantile(values, share)
    assert min(values) <= low <= value <= high <= max(values)
    assert value in values


def test_one_value_has_no_interval_and_speeds_are_better_high() -> None:
    speed = metric("index", "log", [3.14159], unit="MB/s")
    assert (speed.value, speed.low, speed.high, speed.n, speed.better) == (3.142, None, None, 1, "higher")
    assert metric("hook", "time", [1.0, 2.0, 3.0]).better == "lower"


def test_a_ratio_is_taken_round_by_round() -> None:
    assert ratio("x", "ratio", [2.0, 30.0, 4.0], [1.0, 10.0, 4.0]).value == 2.0


def test_actions_are_measured_in_turns_after_one_uncounted_round() -> None:
    calls: list[str] = []
    taken = interleaved({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, 2)
    assert calls == ["a", "b", "a", "b", "a", "b"]
    assert {name: len(times) for name, times in taken.items()} == {"a": 2, "b": 2}


@pytest.mark.parametrize("kind", KINDS)
def test_a_made_up_text_holds_what_its_questions_ask_for_and_is_the_same_again(kind: str) -> None:
    text = document(kind, 7, 20_000)
    assert text == document(kind, 7, 20_000)
    assert 19_000 < len(text.encode()) < 24_000
    for word in planted(7).values():
        assert text.count(word) == 1
        assert word not in document(kind, 8, 20_000)


def test_a_json_text_is_json_and_a_question_with_a_typing_error_is_not_the_word_itself() -> None:
    assert isinstance(json.loads(document("json", 1, 5_000)), list)
    word, asked = planted(3)["fuzzy"], question("fuzzy", 3)
    assert sorted(word) == sorted(asked)
    assert {layer: question(layer, 3) for layer in LAYERS} != {layer: question(layer, 4) for layer in LAYERS}


def test_documents_add_up_to_the_size_asked_for() -> None:
    total = sum(len(text.encode()) for _, text in documents("log", 120_000))
    assert 120_000 <= total < 124_000


def test_other_plans_are_other_datasets() -> None:
    assert Plan().hash() == Plan().hash() != QUICK.hash()


def test_a_quick_run_gives_a_report_with_the_floors_of_this_machine(tmp_path: Path) -> None:
    out = tmp_path / "perf.json"
    program = Path(sys.executable).with_name("capy-bench")
    command = [str(program), "perf", "--quick", "--only", "open", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    report = json.loads(done.stdout)
    assert json.loads(out.read_text()) == report
    figures = {(item["group"], item["metric"]): item for item in report["metrics"]}
    assert report["kind"] == "perf"
    assert figures["floor", "python_start"]["unit"] == "ms"
    raw, passphrase = (figures["open", name]["value"] for name in ("raw_key", "passphrase"))
    assert 0 < raw < passphrase, "deriving a key from a passphrase is the larger part of opening"


def test_a_language_that_does_not_run_bare_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("sh", "perl"):
        (tmp_path / "bin" / name).write_text(
            "#!/bin/sh\nexit 3\n" if name == "perl" else '#!/bin/sh\nexec /bin/sh "$@"\n'
        )
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    groups = {metric.group for metric in programs.executing(tmp_path, 1, lambda _now: None)}
    assert "exec/shell" in groups
    assert "exec/perl" not in groups


def test_what_capy_cannot_run_is_no_time_of_it() -> None:
    with pytest.raises(ValueError, match="shell ran bare and not by capy"):
        programs._by_capy(Request("shell", "exit 3"), ExecutorConfig())


def test_programs_see_nothing_that_leads_to_the_users_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_DATA_HOME", "CAPY_KEY", "CLAUDE_PROJECT_DIR", "OTHER"):
        monkeypatch.setenv(name, "/users")
    seen = programs._apart(tmp_path)
    assert seen["HOME"] == str(tmp_path)
    assert [name for name, value in seen.items() if value == "/users"] == ["OTHER"]
