"""What the installed tools print, line by line, against the schemas of docs/formats."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from conftest import Tool

from .conftest import FORMATS, Records, schemas

SOURCES = sorted(Path(__file__).parents[2].glob("packages/*/src/**/*.py"))
LOG = "".join(f"12:00:{i % 60:02} worker-{i % 7} finished job {i} in {i % 13} ms\n" for i in range(3000))


def test_every_schema_is_one_and_is_listed() -> None:
    listed = (FORMATS / "README.md").read_text(encoding="utf-8")
    for name, schema in schemas().items():
        jsonschema.Draft202012Validator.check_schema(schema)
        assert f"[{name}]({name.removeprefix('capy.').removesuffix('/1')}.schema.json)" in listed


def test_every_record_that_the_code_names_has_a_schema() -> None:
    named = {
        name for path in SOURCES for name in re.findall(r'"(capy\.[a-z.]+/\d+)"', path.read_text(encoding="utf-8"))
    }
    assert named - {"capy.exec.result/1"} <= set(schemas())
    assert len(named) > 10


@pytest.mark.parametrize(
    ("arguments", "outcome"),
    [
        (["-c", "echo hello; echo aside >&2"], "ok"),
        (["-c", "grep x /dev/null"], "soft"),
        (["-c", "exit 3"], "error"),
        (["-c", "kill -9 $$"], "error"),
        (["--timeout", "0.5", "-c", "sleep 20"], "timeout"),
        (["--max-output", "200", "-c", "seq 20000"], "ok"),
        (["-c", r"printf '\377\376'"], "ok"),
    ],
)
def test_the_results_of_capy_exec(
    tool: Tool, records: Records, project: Path, arguments: list[str], outcome: str
) -> None:
    done = tool("capy-exec", "shell", *arguments)
    (record,) = records(done.stdout)
    assert (record["schema"], record["outcome"]) == ("capy.exec.result/1", outcome)
    assert done.returncode == (0 if outcome in ("ok", "soft") else 1)


def test_a_job_in_the_background_from_start_to_end(tool: Tool, records: Records, project: Path) -> None:
    (started,) = records(tool("capy-exec", "shell", "--background", "-c", "echo up; sleep 60").stdout)
    assert started["outcome"] == "background"
    (listed,) = records(tool("capy-exec", "ps").stdout)
    assert (listed["schema"], listed["pid"], listed["status"]) == ("capy.exec.job/1", started["pid"], "running")
    (ended,) = records(tool("capy-exec", "kill", str(started["pid"])).stdout)
    assert ended["status"] == "ended"
    assert records(tool("capy-exec", "ps").stdout) == []


def test_batch_hands_on_unknown_fields_and_reports_bad_items(tool: Tool, records: Records, project: Path) -> None:
    lines = ['{"command": "echo one", "ticket": {"id": 7}}', '{"language": "cobol", "code": "x"}', "no json"]
    done = tool("capy-exec", "batch", stdin="\n".join(lines).encode())
    (result,) = records(done.stdout)
    assert (result["ticket"], result["item"], result["stdout"]) == ({"id": 7}, 1, "one\n")
    assert [error["line"] for error in records(done.stderr)] == [2, 3]
    assert done.returncode == 1


def test_verdicts_of_all_three_kinds(tool: Tool, records: Records, project: Path) -> None:
    (project / ".claude").mkdir()
    rules = {"permissions": {"deny": ["Bash(sudo:*)"], "ask": ["Bash(npm publish)"], "allow": ["Bash(ls:*)"]}}
    (project / ".claude" / "settings.json").write_text(json.dumps(rules))
    for code, decision, rule in (
        ("sudo ls", "deny", "Bash(sudo:*)"),
        ("npm publish", "ask", "Bash(npm publish)"),
        ("ls", "allow", "Bash(ls:*)"),
        ("id", "allow", None),
    ):
        (verdict,) = records(tool("capy-exec", "check", stdin=code.encode()).stdout)
        assert (verdict["schema"], verdict["decision"], verdict["rule"]) == ("capy.exec.verdict/1", decision, rule)
    (error,) = records(tool("capy-exec", "shell", "-c", "sudo ls").stderr)
    assert (error["code"], error["rule"], error["command"]) == ("refused", "Bash(sudo:*)", "sudo ls")


def test_runtimes_are_the_eleven_languages(tool: Tool, records: Records) -> None:
    found = records(tool("capy-exec", "runtimes").stdout)
    assert {record["schema"] for record in found} == {"capy.exec.runtime/1"}
    assert len(found) == 11


def test_a_store_from_its_key_to_its_last_source(tool: Tool, records: Records, project: Path, key: str) -> None:
    (project / "notes.md").write_text("# Lighthouses\n\nThe keeper winds the clockwork every four hours.\n")
    assert [record["status"] for record in records(tool("capy-store", "index", "notes.md").stdout)] == ["indexed"]
    piped = tool("capy-store", "index", "--label", "log", stdin=LOG.encode())
    assert [record["content_type"] for record in records(piped.stdout)] == ["output"]

    hits = records(tool("capy-store", "search", "who winds the clockwork").stdout)
    assert (hits[0]["schema"], hits[0]["label"], hits[0]["rank"]) == ("capy.search.hit/1", "notes.md", 1)
    queries = b'{"id": "a", "query": "clockwork"}\n{"id": 2, "query": "zeppelin"}\n'
    answers = records(tool("capy-store", "search", "--queries", "-", stdin=queries).stdout)
    assert [(answer["id"], bool(answer["hits"])) for answer in answers] == [("a", True), (2, False)]

    schemas_of = {
        "sources": ["capy.source/1"] * 2,
        "show notes.md": ["capy.document/1"],
        "show log --lines 2:3": ["capy.document/1"],
        "stats": ["capy.stats/1"],
        "dbsize": ["capy.dbsize/1"],
        "which": ["capy.which/1"],
        "checkpoint": ["capy.checkpoint/1"],
        "export": ["capy.document/1"] * 2,
        "cleanup --dry-run --source log": ["capy.cleanup/1"],
        "delete log": ["capy.source/1"],
    }
    for command, wanted in schemas_of.items():
        done = tool("capy-store", *command.split())
        assert ([record["schema"] for record in records(done.stdout)], done.returncode) == (wanted, 0), command
    assert {record["schema"] for record in records(tool("capy-store", "show", "notes.md", "--chunks").stdout)} == {
        "capy.chunk/1"
    }
    checks = records(tool("capy-store", "doctor").stdout)
    assert {record["schema"] for record in checks} == {"capy.check/1"}
    assert all(record["ok"] for record in checks)


def test_evidence_of_a_text_and_of_a_run(tool: Tool, records: Records, project: Path) -> None:
    run = tool("capy-exec", "shell", "-c", "seq 3000; echo 'Error: boom' >&2; exit 2")
    for stdin, more in ((LOG.encode(), set()), (run.stdout, {"label", "exit_code", "stderr"})):
        (record,) = records(tool("capy-store", "evidence", "which job finished", stdin=stdin).stdout)
        assert record["schema"] == "capy.evidence/1"
        assert more <= record.keys()


def test_keys_made_saved_and_changed(tool: Tool, records: Records, project: Path, key: str) -> None:
    (made,) = records(tool("capy-store", "keygen", "--format", "json").stdout)
    tool("capy-store", "index", "--label", "x", stdin=b"some text\n")
    changed = tool("capy-store", "encrypt", env={"CAPY_NEW_DB_KEY": made["key"]})
    assert [record["schema"] for record in records(changed.stdout)] == ["capy.encrypt/1"]
    (saved,) = records(tool("capy-store", "keygen", "--save").stdout)
    assert Path(saved["path"]).stat().st_mode & 0o777 == 0o600


def test_hooks_installed_looked_at_and_taken_out(tool: Tool, records: Records, project: Path) -> None:
    for command, wanted in (
        ("install --platform gemini --dry-run", ["capy.hook.change/1"]),
        ("install --platform gemini", ["capy.hook.change/1"]),
        ("status", ["capy.hook.status/1"]),
        ("status --platform claude", ["capy.hook.status/1"] * 3),
        ("uninstall --platform gemini", ["capy.hook.change/1"]),
    ):
        assert [record["schema"] for record in records(tool("capy-hook", *command.split()).stdout)] == wanted, command


def test_capy_set_up_checked_counted_and_taken_out(tool: Tool, records: Records, project: Path) -> None:
    made, *changes = records(tool("capy", "setup").stdout)
    assert (made["schema"], [change["part"] for change in changes]) == (
        "capy.keygen/1",
        ["hooks", "mcp", "instructions"],
    )
    checks = records(tool("capy", "doctor").stdout)
    assert {check["schema"] for check in checks} == {"capy.check/1"}
    tool("capy-store", "index", "--label", "x", stdin=b"text\n")
    (savings,) = records(tool("capy", "stats").stdout)
    assert (savings["schema"], savings["total"]["calls"], savings["store"]["sources"]) == ("capy.savings/1", 0, 1)
    changes = records(tool("capy", "setup", "--uninstall").stdout)
    assert [change["action"] for change in changes] == ["removed"] * 3


def test_the_questions_of_the_demo(tool: Tool, records: Records, project: Path) -> None:
    asked = records(tool("capy", "demo", timeout=110).stdout)
    assert [record["schema"] for record in asked] == ["capy.demo/1"] * 5


def test_a_report_of_a_bench(tool: Tool, records: Records, project: Path) -> None:
    documents, queries = [{"id": "a", "text": "The keeper winds the clockwork."}], [{"id": "q", "text": "keeper"}]
    for name, lines in (("docs", documents), ("queries", [{**queries[0], "relevant": ["a"]}])):
        (project / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (report,) = records(tool("capy-bench", "retrieval", "--corpus", project, "--out", project / "now.json").stdout)
    assert (report["schema"], report["kind"]) == ("capy.bench.report/1", "retrieval")
    assert json.loads((project / "now.json").read_text()) == report
    compared, paged = (
        records(tool("capy-bench", *arguments).stdout)
        for arguments in (
            ("compare", project / "now.json", project / "now.json"),
            ("report", project / "now.json", "--html", project / "now.html"),
        )
    )
    assert (compared[0]["schema"], compared[0]["clean"]) == ("capy.bench.comparison/1", True)
    assert (paged[0]["schema"], paged[0]["reports"]) == ("capy.bench.page/1", 1)


def test_errors_in_a_pipe_are_one_record_on_stderr(tool: Tool, records: Records, project: Path) -> None:
    for command in (["capy-store", "nope"], ["capy-store", "search", "x"], ["capy-exec", "shell", "--timeout", "-1"]):
        done = tool(*command)
        (error,) = records(done.stderr)
        assert (done.stdout, error["schema"], bool(error["message"])) == (b"", "capy.error/1", True)


def test_warnings_are_records_on_stderr(tool: Tool, records: Records, project: Path) -> None:
    (project / ".capy.toml").write_text("[store]\nephemeral_ttl_hour = 5\n")
    done = tool("capy-store", "index", "--label", "x", stdin=b"text\n", env={"CAPY_DB_KEY": "short"})
    assert {record["schema"] for record in records(done.stderr)} == {"capy.warning/1"}
    assert done.returncode == 0


def test_secrets_are_in_no_record(tool: Tool, records: Records, project: Path, key: str) -> None:
    token = "gh" + "p_" + "a1B2" * 9
    run = tool("capy-exec", "shell", "-c", f"echo {token}; echo password=hunter2 >&2")
    indexed = tool("capy-store", "index", stdin=run.stdout)
    shown = tool("capy-store", "export")
    for output in (run.stdout, indexed.stdout, shown.stdout):
        assert records(output)
        assert token.encode() not in output
        assert b"hunter2" not in output


def test_records_of_one_tool_are_the_input_of_the_next(tool: Tool, records: Records, project: Path, key: str) -> None:
    items = [{"command": f"seq {count}", "label": f"seq-{count}", "ticket": count} for count in (3, 5)]
    ran = tool("capy-exec", "batch", stdin="".join(json.dumps(item) + "\n" for item in items).encode())
    indexed = records(tool("capy-store", "index", stdin=ran.stdout).stdout)
    assert [(record["source"], record["ticket"], record["lines"]) for record in indexed] == [
        ("seq-3", 3, 3),
        ("seq-5", 5, 5),
    ]
    exported = tool("capy-store", "export").stdout
    imported = tool("capy-store", "--db", project / "other.db", "import", stdin=exported)
    assert [record["source"] for record in records(imported.stdout)] == ["seq-3", "seq-5"]
