"""Private folders: where they are made, and that they go."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from capy_core.errors import NotFound
from capy_exec import scratch
from capy_exec.scratch import scratch_folder

from .conftest import Run, Tool, wait_until


def contents(base: Path) -> list[Path]:
    """What processes have in their folders here."""
    return [path for home in base.iterdir() for path in home.iterdir()]


@pytest.fixture(autouse=True)
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder of the test's own."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def test_a_folder_is_private_and_goes_with_all_that_is_in_it(base: Path) -> None:
    with scratch_folder(executable=True) as folder:
        assert folder.parent.parent == base
        assert folder.parent.stat().st_mode & 0o777 == 0o700
        assert folder.stat().st_mode & 0o777 == 0o700
        assert list(folder.iterdir()) == [folder / "tmp"]
        locked = folder / "tmp" / "locked"
        locked.mkdir()
        (locked / "file").touch()
        locked.chmod(0o500)
    assert contents(base) == []


def test_nothing_outside_is_removed_through_a_link(base: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    with scratch_folder(executable=False) as folder:
        (folder / "link").symlink_to(outside)
    assert (outside / "kept").exists()


def test_the_run_finds_its_own_temporary_folder_and_leaves_none(base: Path, execute: Run) -> None:
    result = execute("shell", 'touch "$(mktemp)" && echo $TMPDIR')
    assert result.stdout.head.startswith(str(base / scratch.PREFIX))
    assert contents(base) == []


def test_a_process_leaves_nothing_at_all(base: Path, project: Path, tool: Tool) -> None:
    done = tool("capy-exec", "shell", "-c", 'mkdir "$TMPDIR/x"; echo done')
    assert (done.returncode, list(base.iterdir())) == (0, [])


def test_a_temporary_folder_that_was_cleaned_up_is_made_again(base: Path) -> None:
    with scratch_folder(executable=False) as folder:
        pass
    folder.parent.rmdir()
    with scratch_folder(executable=False) as folder:
        assert (folder / "tmp").is_dir()


_OWNER = "import sys, time; from capy_exec.scratch import scratch_folder\n"
_OWNER += "with scratch_folder(executable=False) as f: print(f, flush=True); time.sleep(60)"


def test_litter_of_dead_runs_is_removed_and_living_ones_are_kept(base: Path) -> None:
    owners = [subprocess.Popen([sys.executable, "-c", _OWNER], stdout=subprocess.PIPE) for _ in range(2)]
    folders = [Path(owner.stdout.readline().decode().strip()) for owner in owners if owner.stdout]
    other = base / "capy-other"
    other.mkdir()
    owners[0].kill()
    owners[0].wait()
    assert folders[0].exists()
    with scratch_folder(executable=False):
        assert not folders[0].exists()
        assert folders[1].exists()
        assert other.exists()
    owners[1].send_signal(signal.SIGINT)
    owners[1].wait()
    assert wait_until(lambda: not folders[1].parent.exists())
    for owner in owners:
        assert owner.stdout
        owner.stdout.close()


def test_many_starting_at_once_do_not_take_each_others_folders(base: Path) -> None:
    code = (
        "from capy_exec import scratch\n"
        "for _ in range(150):\n"
        "    scratch._remove_homes()\n"
        "    scratch._homes.clear()\n"
        "    with scratch.scratch_folder(executable=False) as folder:\n"
        "        assert (folder / 'tmp').is_dir()\n"
    )
    starters = [subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE) for _ in range(4)]
    for starter in starters:
        _, errors = starter.communicate(timeout=60)
        assert errors == b""
    assert list(base.iterdir()) == []


class Statistics:
    """What os.statvfs says of a file system mounted noexec."""

    f_flag = os.ST_NOEXEC


@pytest.mark.parametrize("executable", [False, True])
def test_a_place_where_programs_may_run_is_preferred(
    executable: bool, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.statvfs
    monkeypatch.setattr(os, "statvfs", lambda path: Statistics() if str(path) == str(base) else real(path))
    with scratch_folder(executable=executable) as folder:
        assert folder.parent.parent != base


def test_a_script_makes_do_with_a_place_where_programs_may_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "statvfs", lambda path: Statistics())
    with scratch_folder(executable=False) as folder:
        assert (folder / "tmp").is_dir()


def test_one_clear_word_when_there_is_no_such_place(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "statvfs", lambda path: Statistics())
    with pytest.raises(NotFound) as caught, scratch_folder(executable=True):
        pass
    assert f"{base} (mounted noexec)" in caught.value.message
    assert "TMPDIR" in caught.value.hint


def test_a_tree_deeper_than_a_path_may_be_long_goes_as_well(base: Path, execute: Run) -> None:
    name = "d" * 200
    result = execute("shell", f"cd $TMPDIR; for i in $(seq 40); do mkdir {name} && cd {name} || exit 9; done; touch x")
    assert (result.outcome, result.stderr.head) == ("ok", "")
    assert contents(base) == []
