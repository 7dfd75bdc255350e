"""capy-qualstat and capy-bench compare: real files, the real programs."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from capy_bench.compare import Unusable, compare, read
from capy_bench.qualstat import run

Report = dict[str, Any]


def metric(name: str, value: float, **more: Any) -> Report:
    return {
        "group": "overall", "metric": name, "value": value, "low": None, "high": None, "n": 100,
        "better": "higher", "unit": "ratio", "strict": False, **more,
    }  # fmt: skip


def report(*metrics: Report, kind: str = "quality", failures: tuple[Report, ...] = (), data: str = "a") -> Report:
    return {
        "schema": "capy.bench.report/1",
        "kind": kind,
        "created_at": "2026-11-30T12:00:00Z",
        "git": {"sha": "abc1234", "branch": "main", "dirty": False},
        "dataset": {"name": "fixtures", "split": "test", "hash": f"sha256:{data * 64}", "cases": 100},
        "metrics": list(metrics),
        "failures": list(failures),
        "cases": [],
    }


def failure(case: str, kind: str = "no_results") -> Report:
    return {"case": case, "group": "overall", "failure": kind, "expected": "x", "actual": "", "detail": "found nothing"}


BASE = report(metric("recall_at_1", 0.93), metric("context_recall", 0.99, strict=True), failures=(failure("md3_q1"),))


@pytest.fixture
def files(tmp_path: Path) -> Any:
    def write(**reports: Report) -> list[str]:
        paths = []
        for name, content in reports.items():
            path = tmp_path / f"{name}.json"
            path.write_text(json.dumps(content))
            paths.append(str(path))
        return paths

    return write


def changed(**values: float) -> Report:
    other = copy.deepcopy(BASE)
    for item in other["metrics"]:
        item["value"] = values.get(item["metric"], item["value"])
    return other


def test_a_report_against_itself_is_clean_and_shows_a_tilde(files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    base, target = files(base=BASE, target=BASE)
    assert run([base, target, "--all"]) == 0
    out = capsys.readouterr().out
    assert "~" in out
    assert "!" not in out
    assert "no regression" in out


def test_a_loss_beyond_the_threshold_is_marked_and_exits_1(files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    base, target = files(base=BASE, target=changed(recall_at_1=0.90))
    assert run([base, target]) == 1
    line = next(line for line in capsys.readouterr().out.splitlines() if "recall_at_1" in line)
    assert line.split() == ["overall", "recall_at_1", "0.930", "0.900", "-0.030", "!"]


def test_a_loss_within_the_threshold_is_shown_without_a_mark(files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    base, target = files(base=BASE, target=changed(recall_at_1=0.915))
    assert run([base, target]) == 0
    assert "-0.015" in capsys.readouterr().out


def test_a_strict_metric_may_lose_nothing(files: Any) -> None:
    base, target = files(base=BASE, target=changed(context_recall=0.989))
    assert run([base, target]) == 1


def test_rounding_is_no_change_even_for_a_strict_metric(files: Any) -> None:
    base, target = files(base=BASE, target=changed(context_recall=0.99 - 5e-6))
    assert run([base, target]) == 0


def test_a_new_failure_is_a_regression_and_a_resolved_one_is_told(
    files: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    target_report = changed()
    target_report["failures"] = [failure("md9_q2", "rank_ceiling")]
    base, target = files(base=BASE, target=target_report)
    assert run([base, target]) == 1
    out = capsys.readouterr().out
    assert "NEW: md9_q2 (overall): rank_ceiling: found nothing" in out
    assert "RESOLVED: md3_q1" in out


def test_another_dataset_exits_2_and_says_both(files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    base, target = files(base=BASE, target=report(metric("recall_at_1", 1.0), data="b"))
    assert run([base, target]) == 2
    err = capsys.readouterr().err
    assert "sha256:aaaa" in err
    assert "sha256:bbbb" in err


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"schema": "other"}', '{"schema": "capy.bench.report/1"}', "[" * 100_000, '{"a": "\\ud800"}'],
)
def test_a_file_that_is_no_report_exits_2(tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    assert run([str(path)]) == 2
    assert str(path) in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["a", "b", "c"], ["a", "--threshold", "x"], ["a", "--threshold", "7"]])
def test_wrong_usage_exits_2(arguments: list[str]) -> None:
    assert run(arguments) == 2


def test_a_metric_that_vanished_is_a_regression_and_a_new_one_is_not() -> None:
    fewer, more = report(metric("mrr", 0.9)), report(metric("mrr", 0.9), metric("ndcg", 0.9))
    assert [row.change for row in compare(fewer, more).rows] == ["same", "new"]
    assert compare(fewer, more).clean
    assert [row.change for row in compare(more, fewer).rows] == ["same", "gone"]
    assert not compare(more, fewer).clean


def timing(value: float, low: float, high: float) -> Report:
    return report(metric("p50", value, low=low, high=high, unit="ms", better="lower"), kind="perf")


def test_a_slower_time_counts_only_when_the_intervals_are_apart() -> None:
    assert compare(timing(10, 8, 14), timing(13, 11, 16)).clean
    assert not compare(timing(10, 9, 11), timing(13, 12, 14)).clean
    assert compare(timing(10, 9.9, 10.1), timing(10.8, 10.7, 10.9)).clean, "8 % is tolerated"
    assert compare(timing(13, 12, 14), timing(10, 9, 11)).rows[0].change == "better"


def test_lower_is_better_where_the_report_says_so() -> None:
    old, new = (report(metric("negatives_answered", value, better="lower")) for value in (0.0, 0.05))
    assert compare(old, new).rows[0].change == "regression"
    assert compare(new, old).rows[0].change == "better"


def test_reports_of_different_kinds_are_not_comparable() -> None:
    with pytest.raises(Unusable, match="kind quality against perf"):
        compare(report(), report(kind="perf"))


def test_markdown_holds_a_table_and_the_failures_as_bullets(files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    base, target = files(base=BASE, target=changed(recall_at_1=0.5))
    run([base, target, "--markdown"])
    out = capsys.readouterr().out
    assert "| group | metric | base | target | delta |\n|---|---|---|---|---|\n" in out
    assert "| overall | recall_at_1 | 0.930 | 0.500 | -0.430 ! |" in out


def test_json_is_one_object_with_every_change(files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    base, target = files(base=BASE, target=changed(recall_at_1=0.5))
    assert run([base, target, "--format", "json"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert record["schema"] == "capy.bench.comparison/1"
    assert record["clean"] is False
    assert [item["change"] for item in record["metrics"]] == ["regression", "same"]


def test_one_report_alone_is_shown_by_group_with_its_intervals(files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    (base,) = files(base=report(metric("mrr", 0.951, low=0.93, high=0.97), metric("p50", 3.21, unit="ms")))
    assert run([base]) == 0
    out = capsys.readouterr().out
    assert "0.951 [0.930 0.970]" in out
    assert "3.21" in out


def test_colour_only_where_it_is_wanted(files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    paths = files(base=BASE, target=changed(recall_at_1=0.5))
    run(paths)
    assert "\x1b" not in capsys.readouterr().out
    run([*paths, "--color", "always"])
    assert "\x1b[31moverall" in capsys.readouterr().out


def test_read_gives_back_what_was_written(files: Any) -> None:
    (path,) = files(base=BASE)
    assert read(path) == BASE


def test_the_installed_program_imports_neither_click_nor_the_store(files: Any) -> None:
    paths = files(base=BASE, target=BASE)
    code = (
        "import sys; from capy_bench.qualstat import run; code = run(sys.argv[1:]);"
        "heavy = {'click', 'orjson', 'capy_store', 'capy_core', 'pathlib', 'dataclasses'} & set(sys.modules);"
        "sys.exit(f'{heavy}' if heavy else code)"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code, *paths], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_both_programs_agree(files: Any) -> None:
    paths = files(base=BASE, target=changed(recall_at_1=0.5))
    bin_ = Path(sys.executable).parent
    records = [
        subprocess.run([*command, *paths, "--format", "json"], capture_output=True, text=True, check=False)
        for command in ([bin_ / "capy-qualstat"], [bin_ / "capy-bench", "compare"])
    ]
    assert [done.returncode for done in records] == [1, 1]
    assert json.loads(records[0].stdout) == json.loads(records[1].stdout)


DAMAGE: dict[str, Any] = {
    "value: is no figure": lambda r: r["metrics"][0].update(value=10**400),
    "value: is not a number": lambda r: r["metrics"][0].update(value=True),
    "low: is not a number": lambda r: r["metrics"][0].update(low="0.1"),
    "group: is not a text": lambda r: r["metrics"][0].update(group=["overall"]),
    "unit: is missing": lambda r: r["metrics"][0].pop("unit"),
    "better: is missing": lambda r: r["metrics"][0].pop("better"),
    "better: 'more' is not one of": lambda r: r["metrics"][0].update(better="more"),
    "strict: is not true or false": lambda r: r["metrics"][0].update(strict="no"),
    "is there twice": lambda r: r["metrics"].append(r["metrics"][0]),
    "metrics: is not a list": lambda r: r.update(metrics={}),
    "metrics[0]: is not an object": lambda r: r["metrics"].insert(0, None),
    "kind: is missing": lambda r: r.pop("kind"),
    "hash: is not a text": lambda r: r["dataset"].update(hash=5),
    "dataset: is not an object": lambda r: r.update(dataset=None),
    "failures[0].case: is not a text": lambda r: r["failures"][0].update(case=[]),
    "git: is not an object": lambda r: r.update(git="main"),
    "git.branch: is not a text": lambda r: r["git"].update(branch=1),
    "machine: is not an object": lambda r: r.update(machine=[]),
    "surrogates not allowed": lambda r: r["metrics"][0].update(group="\ud800"),
    "NaN is no figure": lambda r: r["metrics"][0].update(value=float("nan")),
    "-Infinity is no figure": lambda r: r["metrics"][0].update(low=float("-inf")),
}


@pytest.mark.parametrize("words", DAMAGE)
def test_a_damaged_report_is_refused_with_its_field(
    words: str, tmp_path: Path, files: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = copy.deepcopy(BASE)
    DAMAGE[words](damaged)
    base, target = files(base=BASE, target=damaged)
    for arguments in ([target], [base, target], [target, base, "--markdown"], [base, target, "--format", "json"]):
        assert run(arguments) == 2
        told = capsys.readouterr()
        assert told.out == ""
        assert words in told.err


def test_a_value_beyond_any_number_is_no_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(BASE).replace("0.93", "1e999"))
    assert run([str(path)]) == 2
    assert "metrics[0].value: is no figure" in capsys.readouterr().err


def test_a_report_may_lack_what_no_table_needs(tmp_path: Path, files: Any) -> None:
    bare = copy.deepcopy(BASE)
    for field in ("git", "created_at", "cases"):
        del bare[field]
    bare["dataset"] = {"hash": bare["dataset"]["hash"]}
    for field in ("low", "high", "n"):
        del bare["metrics"][0][field]
    (path,) = files(bare=bare)
    assert [run([path]), run([path, path, "--markdown"])] == [0, 0]
    Path(path).write_bytes(b"\xef\xbb\xbf" + Path(path).read_bytes())
    assert run([path]) == 0, "an editor's byte order mark is no damage"


def test_an_endless_file_is_refused(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("capy_bench.reading._MOST_BYTES", 1 << 20)
    assert run(["/dev/zero"]) == 2
    assert "larger than 1 MB" in capsys.readouterr().err


def test_other_settings_do_not_compare_but_another_seed_does() -> None:
    both, one = ({**BASE, "settings": {"stores": stores, "seed": 1}} for stores in (["shared", "per-type"], ["shared"]))
    with pytest.raises(Unusable, match="setting stores"):
        compare(both, one)
    assert compare(both, {**both, "settings": {**both["settings"], "seed": 2}}).clean


@pytest.mark.parametrize("field", [{"unit": "ms"}, {"better": "lower"}])
def test_a_metric_that_means_something_else_now_does_not_compare(field: Report) -> None:
    with pytest.raises(Unusable, match=f"{next(iter(field))} of overall mrr"):
        compare(report(metric("mrr", 0.9)), report(metric("mrr", 0.9, **field)))


def test_a_figure_of_fewer_cases_is_a_regression_however_good_it_is() -> None:
    found = compare(report(metric("mrr", 0.9, n=100)), report(metric("mrr", 1.0, n=50)))
    assert ([row.change for row in found.rows], found.clean) == (["fewer"], False)
    assert compare(report(metric("mrr", 0.9, n=100)), report(metric("mrr", 0.9, n=110))).clean


def test_a_target_cannot_drop_that_a_metric_is_strict() -> None:
    strict, loose = (report(metric("recall", value, strict=flag)) for value, flag in ((0.99, True), (0.985, False)))
    assert not compare(strict, loose).clean


def test_something_out_of_nothing_and_below_nothing_is_judged() -> None:
    def lower(value: float) -> Report:
        return report(metric("larger", value, unit="count", better="lower"))

    assert compare(lower(0), lower(1)).rows[0].change == "regression"
    assert compare(lower(-5), lower(-4)).rows[0].change == "regression"
    assert compare(lower(-4), lower(-5)).rows[0].change == "better"


def test_times_of_another_machine_are_shown_and_ratios_judged(files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    def speed(cpus: int, time: float, ratio: float) -> Report:
        figures = metric("time", time, unit="ms", better="lower"), metric("ratio", ratio, unit="x", better="lower")
        return {**report(*figures, kind="perf"), "machine": {"cpus": cpus, "platform": "Linux x86_64"}}

    assert not compare(speed(2, 10, 1), speed(2, 30, 1)).clean
    assert [row.change for row in compare(speed(2, 10, 1), speed(8, 30, 1)).rows] == ["changed", "same"]
    assert not compare(speed(2, 10, 1), speed(8, 10, 2)).clean
    assert run(files(base=speed(2, 10, 1), target=speed(8, 30, 1))) == 0
    assert "other machine" in capsys.readouterr().out


def test_a_slow_machine_is_no_regression_of_ours() -> None:
    def bare(value: float) -> Report:
        more: Report = {"unit": "ms", "better": "lower"}
        return report(
            metric("sh_start", value, **more | {"group": "floor"}), metric("bare", value, **more), kind="perf"
        )

    found = compare(bare(10), bare(30))
    assert ([row.change for row in found.rows], found.clean) == (["changed", "changed"], True)


def test_odd_names_do_nothing_to_a_terminal_or_a_page(files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    odd = report(metric("mrr", 0.9, group="a\x1b[31m\nb|<img src=x>\u202e"), failures=(failure("c\x1b]0;x\x07\r<b>"),))
    base, target = files(base=report(), target=odd)
    for more in ([], ["--markdown"]):
        for arguments in ([target], [base, target]):
            run([*arguments, *more])
            out = capsys.readouterr().out
            assert not set("\x1b\x07\r\u202e") & set(out)
            assert "a [31m b" in out
            assert not more or ("\\<img" in out and " <b>" not in out and "b\\|" in out)


@pytest.mark.parametrize(("target", "status"), [("/dev/full", 2), ("closed", 0)])
def test_an_output_that_takes_nothing_is_no_traceback(files: Any, target: str, status: int) -> None:
    paths = files(base=BASE)
    program = str(Path(sys.executable).with_name("capy-qualstat"))
    redirect = ">&-" if target == "closed" else f">{target}"
    done = subprocess.run(
        ["sh", "-c", f'"$@" {redirect}', "sh", program, *paths], capture_output=True, text=True, check=False
    )
    assert done.returncode == status
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == (1 if status else 0)


def test_what_an_encoding_lacks_is_escaped(files: Any) -> None:
    (path,) = files(base=report(metric("mrr", 0.9, group="日本語")))
    done = subprocess.run(
        [Path(sys.executable).with_name("capy-qualstat"), path],
        env={"PYTHONIOENCODING": "ascii"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u65e5" in done.stdout
