from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from capy_core.errors import BadInput, NotFound
from capy_core.sessions import opencode, registry
from capy_core.sessions.events import Kind, Session
from capy_core.sessions.report import Report
from core.sessions.session_files import Read, read_whole

USER = {"id": "m1", "role": "user", "time": {"created": 1730000001000}}
REPLY = {"id": "m2", "role": "assistant", "time": {"created": 1730000002000}, "modelID": "g", "tokens": {"input": 1}}
TOOL = {"type": "tool", "callID": "c", "tool": "bash"}
PARTS: dict[str, list[dict[str, Any]]] = {
    "m1": [{"type": "text", "text": "list"}, {"type": "text", "text": "file body", "synthetic": True}],
    "m2": [
        {"type": "step-start"},
        {"type": "reasoning", "text": "hm"},
        {
            **TOOL,
            "state": {"status": "completed", "input": {"command": "ls"}, "output": "a\n", "metadata": {"exit": 0}},
        },
        {"type": "compaction", "auto": True},
        {"type": "text", "text": "One file."},
        {"type": "novel"},
    ],
}
EXPECTED = [
    (Kind.TITLE, "Listing"),
    (Kind.USER, "list"),
    (Kind.CONTEXT, "file body"),
    (Kind.SYSTEM, ""),
    (Kind.SYSTEM, ""),
    (Kind.THINKING, "hm"),
    (Kind.CALL, ""),
    (Kind.RESULT, "a\n"),
    (Kind.COMPACTION, ""),
    (Kind.ASSISTANT, "One file."),
    (Kind.UNKNOWN, ""),
    (Kind.SYSTEM, ""),
]


def storage(root: Path, session: str = "ses_1", parent: str | None = None) -> Path:
    """The old storage: a file for the session, each message and each part."""
    head = {"id": session, "directory": "/w", "title": "Listing", "version": "0.9", "parentID": parent}
    write(root / "session" / "proj" / f"{session}.json", head)
    for message in (REPLY, USER):
        write(root / "message" / session / f"{message['id']}.json", message)
        for number, part in enumerate(PARTS[str(message["id"])]):
            write(root / "part" / str(message["id"]) / f"p{number}.json", {"id": f"p{number}", **part})
    return root / "session" / "proj" / f"{session}.json"


def write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def database(path: Path, *, wal: bool = False) -> Path:
    connection = sqlite3.connect(path)
    if wal:
        connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript("""
        CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, directory TEXT, title TEXT,
                              version TEXT, time_created INTEGER, time_updated INTEGER);
        CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
        CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
    """)
    rows = [("ses_1", None), ("ses_2", "ses_1"), ("ses_3", "ses_2")]
    for id_, parent in rows:
        values = (id_, "p", parent, "/w", "Listing", "1.2", 1730000000000, 1730000009000)
        connection.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
    for message in (REPLY, USER):
        data = {key: value for key, value in message.items() if key != "id"}
        values = (message["id"], "ses_1", message["time"]["created"], json.dumps(data))  # type: ignore[index]
        connection.execute("INSERT INTO message VALUES (?, ?, ?, ?)", values)
        for number, part in enumerate(PARTS[str(message["id"])]):
            row = (f"{message['id']}p{number}", message["id"], "ses_1", 0, json.dumps(part))
            connection.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?)", row)
    connection.commit()
    connection.close()
    return path


def check(found: Read) -> None:
    assert [(event.kind, event.text) for event in found.events] == EXPECTED
    call, result = found.of(Kind.CALL, Kind.RESULT)
    assert (call.tool, call.input, result.call_id, result.tool) == ("bash", {"command": "ls"}, "c", "bash")
    assert {event.message_id for event in found.events} == {"", "m1", "m2"}
    assert (found.report.lines, found.report.read) == (11, 11)
    assert found.events[-1].usage == {"input": 1}
    assert found.of(Kind.USER)[0].origin.time == 1730000001.0
    assert found.of(Kind.ASSISTANT)[0].origin.cwd == "/w"
    assert found.report.unknown == {"assistant/novel": 1}


def test_the_old_storage_is_read_in_order(tmp_path: Path) -> None:
    storage(tmp_path / "storage")
    (session,) = opencode.find(tmp_path, [])
    check(read_whole(session))
    assert len(session.sidecars) == 10
    assert session.size == session.path.stat().st_size + sum(file.size for file in session.sidecars)
    assert {file.name.split("/")[0] for file in session.sidecars} == {"message", "part"}


@pytest.mark.parametrize("wal", [False, True])
def test_the_database_is_read_and_left_as_it_was(tmp_path: Path, wal: bool) -> None:
    path = database(tmp_path / "opencode.db", wal=wal)
    before, listed = path.read_bytes(), sorted(tmp_path.iterdir())
    (session,) = opencode.find(tmp_path, [])
    check(read_whole(session))
    assert [agent.id for agent in session.agents] == ["ses_2", "ses_3"]
    assert session.mtime_ns == 1730000009000 * 1_000_000 and session.size > 0
    assert path.read_bytes() == before and sorted(tmp_path.iterdir()) == listed


def test_a_database_is_read_while_its_host_writes(tmp_path: Path) -> None:
    path = database(tmp_path / "opencode.db", wal=True)
    writer = sqlite3.connect(path)
    writer.execute("INSERT INTO part VALUES ('m2p9', 'm2', 'ses_1', 0, '{\"type\":\"text\",\"text\":\"late\"}')")
    writer.commit()
    (session,) = opencode.find(tmp_path, [])
    assert "late" in read_whole(session).texts(Kind.ASSISTANT)
    writer.close()


def test_a_session_in_both_is_found_once(tmp_path: Path) -> None:
    database(tmp_path / "opencode.db")
    storage(tmp_path / "storage")
    storage(tmp_path / "storage", "ses_old")
    assert [(found.id, found.path.suffix) for found in opencode.find(tmp_path, [])] == [
        ("ses_1", ".db"),
        ("ses_old", ".json"),
    ]


def test_broken_rows_and_files_are_located(tmp_path: Path) -> None:
    path = storage(tmp_path / "storage")
    (tmp_path / "storage" / "part" / "m2" / "p1.json").write_text('{"type": "reas')
    (tmp_path / "storage" / "part" / "m2" / "p2.json").write_text("[]")
    (session,) = opencode.at([path], [])
    report = read_whole(session).report
    assert (report.lines, report.read, report.skipped) == (11, 9, 2)
    assert [Path(gap.source).name for gap in report.gaps] == ["p1.json", "p2.json"]
    other = sqlite3.connect(database(tmp_path / "opencode.db"))
    other.execute("UPDATE part SET data = 'x' WHERE id = 'm2p1'")
    other.commit()
    other.close()
    (session, *_) = opencode.find(tmp_path, [])
    assert [gap.source for gap in read_whole(session).report.gaps] == ["part/m2p1"]


def test_an_older_layout_has_all_parts_in_one_folder_and_prompts_in_summaries(tmp_path: Path) -> None:
    root = tmp_path / "storage"
    write(root / "session" / "p" / "s.json", {"id": "s", "title": "T"})
    write(root / "message" / "s" / "a.json", {"id": "ma", "role": "user", "summary": {"body": "Open it"}})
    write(root / "message" / "s" / "b.json", {"id": "mb", "role": "assistant", "time": {"created": 2}})
    write(root / "part" / "prt_1.json", {"messageID": "mb", "type": "text", "text": "Opened."})
    (session,) = opencode.find(tmp_path, [])
    found = read_whole(session)
    assert found.texts(Kind.USER, Kind.ASSISTANT) == ["Open it", "Opened."]
    assert len(session.sidecars) == 3


def test_a_message_id_cannot_lead_out_of_the_storage(tmp_path: Path) -> None:
    storage(tmp_path / "storage")
    write(tmp_path / "secret" / "p.json", {"type": "text", "text": "secret"})
    write(tmp_path / "storage" / "message" / "ses_1" / "m3.json", {"id": "../../secret", "role": "assistant"})
    (session,) = opencode.find(tmp_path, [])
    assert "secret" not in read_whole(session).texts(Kind.ASSISTANT)


def test_what_is_no_database_is_noted_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    path.write_bytes(b"SQLite format 3\0" + b"x" * 2000)
    notes: list[Any] = []
    assert list(opencode.find(tmp_path, notes)) == []
    assert notes[0].path == path
    with pytest.raises(BadInput):
        list(registry.read(Session("opencode", "s", path, "", 0, 0)))
    with pytest.raises(NotFound):
        list(registry.read(Session("opencode", "s", tmp_path / "none.db", "", 0, 0)))


def test_columns_of_unexpected_types_are_no_failure(tmp_path: Path) -> None:
    connection = sqlite3.connect(database(tmp_path / "opencode.db"))
    connection.execute("UPDATE session SET title = 7, time_updated = NULL, directory = x'00'")
    connection.execute("UPDATE part SET data = NULL WHERE id = 'm2p1'")
    connection.execute("UPDATE message SET time_created = 'late'")
    connection.execute("INSERT INTO part VALUES (NULL, 'm2', 'ses_1', 'x', 5)")
    connection.commit()
    connection.close()
    (session,) = opencode.find(tmp_path, [])
    report = Report()
    events = list(registry.read(session._replace(cwd=""), report))
    assert (session.mtime_ns, session.cwd, session.description) == (0, "", "7")  # the column makes text of it
    assert {gap.reason for gap in report.gaps} == {"no data", "JSON, but no object"}
    assert "One file." in [event.text for event in events]
