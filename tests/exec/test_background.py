"""Background jobs: they outlive what started them, are listed, and end with all their processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from capy_core.config import ExecutorConfig
from capy_core.errors import NotFound, UsageError
from capy_exec.background import end_job, is_alive, jobs_folder, list_jobs, start_job
from capy_exec.run import Request, Result

from .conftest import processes_with, wait_until

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


@pytest.fixture
def start(project: Path):  # type: ignore[no-untyped-def]
    """Start a job; whatever is still alive after the test is ended."""

    def go(language: str, code: str, *, config: ExecutorConfig | None = None, **fields: Any) -> Result:
        return start_job(Request(language, code, cwd=project, **fields), config or ExecutorConfig())

    yield go
    for job in list(list_jobs()):
        end_job(job["pid"])


def only(**wanted: Any) -> dict[str, Any]:
    """The one job of this test, once it has these values."""
    assert wait_until(lambda: next(list_jobs(ended=True)).items() >= wanted.items())
    (job,) = list_jobs(ended=True)
    return job


def test_returns_at_once_goes_on_and_can_be_read_and_ended(start: Any, mark: str) -> None:
    result = start("shell", f"n=0; while true; do echo line $((n+=1)); sleep 0.0{mark}; done; sleep {mark}", label="L")
    record = result.record()
    assert (record["outcome"], record["exit_code"], record["label"]) == ("background", None, "L")
    log = Path(record["log"])
    assert wait_until(lambda: "line 3" in log.read_text(encoding="utf-8"))
    assert log.stat().st_mode & 0o777 == 0o600
    (job,) = list_jobs()
    assert (job["pid"], job["label"], job["status"], job["log"]) == (record["pid"], "L", "running", str(log))
    assert job["bytes"] > 0 and job["age_s"] >= 0
    ended = end_job(record["pid"])
    assert (ended["status"], ended["outcome"], ended["reason"]) == ("ended", "killed", "cancelled")
    assert not processes_with(mark)
    assert list(list_jobs()) == []


def test_ends_with_the_whole_tree(start: Any, mark: str) -> None:
    result = start("shell", f"(env -i setsid sleep {mark} &); (trap '' TERM; sleep {mark}) & sleep {mark}")
    assert wait_until(lambda: sum("sleep" in line for line in processes_with(mark)) >= 3)
    end_job(result.pid or 0)
    assert not processes_with(mark)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_plain_kill_of_the_pid_ends_the_whole_tree_as_well(number: int, start: Any, mark: str) -> None:
    result = start("shell", f"setsid sleep {mark} & sleep {mark}")
    assert wait_until(lambda: processes_with(mark))
    os.kill(result.pid or 0, number)
    assert wait_until(lambda: not processes_with(mark))
    assert only(status="ended" if number == signal.SIGTERM else "lost")["pid"] == result.pid


def test_notes_how_it_ended(start: Any) -> None:
    start("shell", "echo out; echo err >&2; exit 3")
    job = only(status="ended")
    assert (job["outcome"], job["exit_code"], job["reason"]) == ("error", 3, "exit code 3")
    assert sorted(Path(job["log"]).read_text(encoding="utf-8").splitlines()) == ["err", "out"]


def test_a_given_timeout_counts_the_configured_one_does_not(start: Any, mark: str) -> None:
    start("shell", f"sleep {mark}", timeout=0.3)
    assert only(status="ended")["outcome"] == "timeout"
    start("shell", "sleep 0.5; echo done", config=ExecutorConfig(timeout_s=0.1), label="second")
    job = next(job for job in list_jobs() if job["label"] == "second")
    assert wait_until(lambda: not is_alive(Path(job["log"])))
    assert Path(job["log"]).read_text(encoding="utf-8") == "done\n"


def test_secrets_do_not_reach_the_disk(start: Any) -> None:
    start("shell", f"echo token {TOKEN}", label=f"label {TOKEN}")
    job = only(status="ended")
    text = "".join(file.read_text(encoding="utf-8") for file in jobs_folder().iterdir())
    assert job["bytes"] > 0
    assert TOKEN[8:] not in text


def test_a_full_log_says_so_and_the_job_goes_on(start: Any, project: Path) -> None:
    start("shell", "yes | head -c 500000; touch reached", config=ExecutorConfig(hard_cap_bytes=100_000))
    job = only(status="ended")
    log = Path(job["log"]).read_bytes()
    assert job["outcome"] == "ok" and (project / "reached").exists()
    assert log[:100_000] == b"y\n" * 50_000
    assert log[100_000:] == b"\n[capy: the log is full (executor.hard_cap_bytes); what follows is not kept]\n"


def test_outlives_the_program_that_started_it(project: Path, mark: str, start: Any) -> None:
    code = (
        "from capy_exec.background import start_job; from capy_exec.run import Request; "
        "from capy_core.config import ExecutorConfig; "
        f"print(start_job(Request('shell', 'sleep {mark}'), ExecutorConfig()).pid)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=project, check=True)
    (job,) = list_jobs()
    assert job["pid"] == int(done.stdout)
    assert wait_until(lambda: processes_with(mark))


def test_what_cannot_run_is_refused_before_anything_starts(start: Any) -> None:
    with pytest.raises(UsageError):
        start("cobol", "x")
    assert not jobs_folder().exists() or list(jobs_folder().iterdir()) == []


def test_a_pid_that_is_no_living_job_is_left_alone(start: Any, project: Path) -> None:
    bystander = subprocess.Popen(["sleep", "60"])
    try:
        start("shell", "true")
        job = only(status="ended")
        note = Path(job["log"]).with_suffix(".json")
        note.write_text(json.dumps({**json.loads(note.read_bytes()), "pid": bystander.pid}), encoding="utf-8")
        with pytest.raises(NotFound, match=f"no background job has the pid {bystander.pid}"):
            end_job(bystander.pid)
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_old_logs_are_removed_young_and_living_ones_kept(start: Any, mark: str) -> None:
    start("shell", "true")
    old = only(status="ended")
    start("shell", f"sleep {mark}")
    (living,) = list_jobs()
    yesterday = time.time() - 25 * 3600
    for job in (old, living):
        os.utime(job["log"], (yesterday, yesterday))
    assert [job["pid"] for job in list_jobs(ended=True)] == [living["pid"]]
    assert not Path(old["log"]).exists() and Path(living["log"]).exists()


def test_foreign_files_among_the_jobs_are_passed_over(start: Any) -> None:
    start("shell", "true")
    only(status="ended")
    (jobs_folder() / "x.json").write_text("{not json", encoding="utf-8")
    (jobs_folder() / "y.json").write_text("[]", encoding="utf-8")
    assert len(list(list_jobs(ended=True))) == 1
