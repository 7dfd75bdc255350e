"""The tools joined by pipes, as people and scripts use them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from .conftest import Shell

OTHER_KEY = "x'" + "a5" * 32 + "'"


def records(done: subprocess.CompletedProcess[bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def text_of(shell: Shell, label: str) -> str:
    (record,) = records(shell('capy-store show "$LABEL"', LABEL=label))
    return str(record["content"])


def test_output_of_a_command_is_indexed_and_found(shell: Shell) -> None:
    done = shell("capy-exec shell --label history -c 'seq 5000; echo the needle is here; seq 5000' | capy-store index")
    (record,) = records(done)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (record["source"], record["status"], record["kind"], record["exit_code"]) == (
        "history",
        "indexed",
        "ephemeral",
        0,
    )
    assert "stdout" not in record
    found = shell("capy-store search 'where is the needle' --source history | head -n 1")
    (hit,) = records(found)
    assert "the needle is here" in hit["content"] and len(found.stdout) < 4000


def test_a_failed_command_is_indexed_too_and_the_line_fails(shell: Shell) -> None:
    done = shell("capy-exec shell --label build -c 'echo cannot link; exit 3' | capy-store index")
    (record,) = records(done)
    assert done.returncode == 1 and (record["exit_code"], record["outcome"]) == (3, "error")
    assert "cannot link" in text_of(shell, "build")


def test_a_batch_keeps_its_order_and_its_own_fields(shell: Shell) -> None:
    items = [{"label": f"step-{i}", "command": f"sleep 0.{3 - i}; echo result {i}", "ticket": i} for i in range(3)]
    done = shell("capy-exec batch | capy-store index", b"".join(json.dumps(item).encode() + b"\n" for item in items))
    assert [(record["source"], record["ticket"], record["item"]) for record in records(done)] == [
        ("step-0", 0, 1),
        ("step-1", 1, 2),
        ("step-2", 2, 3),
    ]
    assert shell("capy-store sources | wc -l").stdout.strip() == b"3"


def test_a_bad_item_fails_alone(shell: Shell) -> None:
    items = b'{"label": "good", "command": "echo one"}\nnot json\n{"label": "last", "command": "echo two"}\n'
    done = shell("capy-exec batch | capy-store index", items)
    assert [record["source"] for record in records(done)] == ["good", "last"]
    (error,) = (json.loads(line) for line in done.stderr.splitlines())
    assert done.returncode == 1 and (error["code"], error["line"]) == ("bad_input", 2)


def test_plain_text_needs_a_name_and_is_stored_as_it_came(shell: Shell) -> None:
    text = "first\r\nZürich – 東京 – 🦫\r\nin one line\u2028still in it\r\n\r\nlast without newline"
    assert shell("cat | capy-store index", text.encode()).returncode == 2
    done = shell("cat | capy-store index --label notes", text.encode())
    assert (done.returncode, records(done)[0]["redactions"]) == (0, 0)
    assert text_of(shell, "notes").replace("\r\n", "\n") == text.replace("\r\n", "\n")
    assert records(shell("capy-store search 東京 --source notes"))[0]["line_start"] == 1


def test_unicode_passes_through_the_sandbox_and_the_store(shell: Shell) -> None:
    code = "print('naïve 東京 🦫 \\u2028 end', end='\\r\\n')"
    done = shell('capy-exec python --label out -c "$CODE" | capy-store index', CODE=code)
    assert done.returncode == 0
    assert text_of(shell, "out").strip() == "naïve 東京 🦫 \u2028 end"


def test_a_secret_does_not_pass(shell: Shell) -> None:
    secret = "ghp_" + "a1B2" * 9
    done = shell(
        'capy-exec shell --label env -c "echo token=$SECRET" | tee record.json | capy-store index', SECRET=secret
    )
    assert done.returncode == 0
    assert secret not in text_of(shell, "env")
    assert secret.encode() not in shell("cat record.json").stdout


def test_nothing_in_nothing_out(shell: Shell) -> None:
    for line in ("true | capy-store index", "true | capy-exec batch", "capy-exec batch < /dev/null | capy-store index"):
        done = shell(line)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), line


def test_a_store_moves_to_another_project_and_key(shell: Shell, tmp_path: Path) -> None:
    shell("printf '# Setup\\n\\nInstall the needle.\\n' > guide.md; capy-store index guide.md")
    shell("capy-exec shell --label history -c 'seq 3000; echo a thread; seq 3000' | capy-store index")
    other = tmp_path / "other"
    other.mkdir()
    names = {"OTHER": str(other), "KEY": OTHER_KEY}
    line = 'capy-store export | CAPY_DB_KEY="$KEY" capy-store --project-dir "$OTHER" import'
    done = shell(line, **names)
    assert done.returncode == 0 and {record["status"] for record in records(done)} == {"indexed"}
    for label in ("guide.md", "history"):
        moved = shell(f'CAPY_DB_KEY="$KEY" capy-store --project-dir "$OTHER" show {label}', **names)
        assert records(moved)[0]["content"] == text_of(shell, label)
    found = shell('CAPY_DB_KEY="$KEY" capy-store --project-dir "$OTHER" search "install needle"', **names)
    assert records(found)[0]["label"] == "guide.md"
    again = shell(line, **names)
    assert again.returncode == 0 and {record["status"] for record in records(again)} <= {"unchanged"}
    assert shell('capy-store --project-dir "$OTHER" sources', **names).returncode == 6  # our key is not its key


def test_a_reader_that_leaves_ends_the_writer_quietly(shell: Shell) -> None:
    shell("seq 200000 | capy-store index --label numbers")
    for line in ("capy-store show numbers", "capy-store show numbers --chunks", "capy-store export"):
        done = shell(f"set +o pipefail; {line} | head -c 20 > /dev/null; echo ${{PIPESTATUS[0]}}")
        assert (done.stdout, done.stderr) == (b"141\n", b""), line


def test_a_reader_that_leaves_does_not_undo_what_was_indexed(shell: Shell) -> None:
    items = b"".join(
        b'{"schema": "capy.document/1", "label": "d%d", "content": "text %d"}\n' % (i, i) for i in range(200)
    )
    done = shell("set +o pipefail; capy-store index | head -n 3; echo ${PIPESTATUS[0]}", items)
    *kept, status = done.stdout.splitlines()
    assert status in (b"0", b"141") and len(kept) == 3 and done.stderr == b""
    stored = {record["label"] for record in records(shell("capy-store sources"))}
    assert {json.loads(line)["source"] for line in kept} <= stored


def test_two_pipes_into_one_store_at_once(shell: Shell) -> None:
    done = shell(
        """
        for i in 1 2 3 4; do
            (seq 3000 | sed "s/^/pipe $i line /" | capy-store index --label "pipe-$i") & pids+=($!)
        done
        for pid in "${pids[@]}"; do wait "$pid" || exit 1; done
        """
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert sorted(record["source"] for record in records(done)) == ["pipe-1", "pipe-2", "pipe-3", "pipe-4"]
    assert records(shell("capy-store sources"))[0]["lines"] == 3000


def test_records_of_several_tools_can_be_joined_before_they_are_indexed(shell: Shell) -> None:
    done = shell(
        """
        { capy-exec shell --label one -c 'echo 1'
          printf '{"schema": "capy.document/1", "label": "two", "content": "# Two"}\\n'
          capy-exec python --label three -c 'print(3)'
        } | capy-store index
        """
    )
    assert [record["source"] for record in records(done)] == ["one", "two", "three"]


def test_what_was_exported_can_be_filtered_line_by_line(shell: Shell) -> None:
    shell("for name in alpha beta gamma; do echo $name | capy-store index --label $name; done")
    done = shell("""capy-store export | grep '"label":"beta"' | capy-store --db copy.db import""")
    assert [record["source"] for record in records(done)] == ["beta"]
    assert [record["label"] for record in records(shell("capy-store --db copy.db sources"))] == ["beta"]
