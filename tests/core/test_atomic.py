from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capy_core.atomic import write_file
from capy_core.errors import Unwritable


def test_a_file_is_replaced_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b"old")
    path.chmod(0o640)
    write_file(path, b"new\n")
    assert (path.read_bytes(), path.stat().st_mode & 0o7777) == (b"new\n", 0o640)
    write_file(path, b"newer", mode=0o600)
    assert (path.read_bytes(), path.stat().st_mode & 0o7777) == (b"newer", 0o600)
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_gets_the_mode_of_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_file(tmp_path / "new", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640


def test_a_symbolic_link_stays_one_and_its_target_changes(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "file"
    target.write_bytes(b"old")
    (tmp_path / "link").symlink_to("real/file")
    (tmp_path / "link2").symlink_to("link")
    write_file(tmp_path / "link2", b"new")
    assert target.read_bytes() == b"new"
    assert (tmp_path / "link").is_symlink() and (tmp_path / "link2").is_symlink()


@pytest.mark.parametrize("name", ["n" * 255, "名" * 85])
def test_a_name_as_long_as_the_system_allows_can_be_written(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write_file(path, b"x")
    assert path.read_bytes() == b"x"


@pytest.mark.parametrize("path", ["/proc/none/file", "/dev/null/file"])
def test_a_place_that_cannot_be_written_is_named(path: str) -> None:
    with pytest.raises(Unwritable, match=path):
        write_file(Path(path), b"x")


def test_without_permission_the_old_file_stays(
    open_folder: Path, without_privileges: Callable[[Callable[[], Any]], Any]
) -> None:
    path = open_folder / "file"
    path.write_bytes(b"old")
    open_folder.chmod(0o555)

    def attempt() -> str:
        try:
            write_file(path, b"new")
        except Unwritable as ex:
            return ex.message
        return "written"

    assert without_privileges(attempt) == f"cannot write {path}: Permission denied"
    assert path.read_bytes() == b"old" and list(open_folder.iterdir()) == [path]


def test_on_a_full_disk_the_old_file_stays(tmp_path: Path, python: Any) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    code = """
        import resource, sys
        from pathlib import Path
        from capy_core.atomic import write_file
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            write_file(Path(sys.argv[1]), bytes(5000))
        except Exception as ex:
            print(type(ex).__name__)
    """
    assert python(code, path).stdout == b"Unwritable\n"
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


def test_a_kill_at_any_instant_leaves_a_whole_file(tmp_path: Path, start: Any) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"a" * 300_000)
    code = """
        import sys
        from pathlib import Path
        from capy_core.atomic import write_file
        print("ready", flush=True)
        while True:
            for letter in b"ab":
                write_file(Path(sys.argv[1]), bytes([letter]) * 300_000)
    """
    for round_ in range(10):
        process = start(code, path)
        process.stdout.readline()
        time.sleep(0.003 * round_)
        process.send_signal(signal.SIGKILL)
        process.wait()
        data = path.read_bytes()
        assert len(data) == 300_000 and len(set(data)) == 1
