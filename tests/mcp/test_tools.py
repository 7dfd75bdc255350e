"""Each tool called in this process: what it answers, and what it says of what is wrong."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from capy_mcp.call import Call, Reply, perform
from capy_mcp.context import Context
from capy_mcp.keeping import AT_ONCE
from capy_mcp.tools.schemas import TOOLS

from .peer import Peer, gone

Ask = Callable[..., Reply]


@pytest.fixture
def context(project: Path, key: str) -> Iterator[Context]:
    context = Context(project)
    yield context
    context.close()


@pytest.fixture
def ask(context: Context) -> Ask:
    def ask(name: str, **arguments: Any) -> Reply:
        return perform(context, Call(next(tool for tool in TOOLS if tool["name"] == name), arguments))

    return ask


@pytest.mark.parametrize("timeout", [0, -5, 1e12, float("nan"), float("inf")])
def test_a_timeout_that_is_none_is_told(ask: Ask, timeout: float) -> None:
    for name, rest in (
        ("capy_execute", {"language": "shell", "code": "echo x"}),
        ("capy_batch_execute", {"commands": ["echo x"], "queries": ["x"]}),
    ):
        reply = ask(name, timeout=timeout, **rest)
        assert reply.is_error
        assert "`timeout` must be milliseconds" in reply.text


def test_a_timeout_below_a_second_counts_and_keeps_what_was_printed(ask: Ask) -> None:
    start = time.monotonic()
    reply = ask("capy_execute", language="shell", code="echo before; sleep 60", timeout=300)
    assert time.monotonic() - start < 20
    assert "before" in reply.text
    assert "timed out after 0.3 s" in reply.text


def test_stderr_is_shown_also_of_what_went_well(ask: Ask) -> None:
    reply = ask("capy_execute", language="shell", code="echo out; echo careful >&2")
    assert (reply.text, reply.is_error) == ("out\nstderr:\ncareful", False)


def test_of_one_endless_line_both_ends_are_shown(ask: Ask) -> None:
    reply = ask("capy_execute", language="python", code="print('BEGIN' + 'x' + '世' * 30000 + 'END', end='')")
    assert "BEGINx" in reply.text
    assert "世END" in reply.text
    assert len(reply.text.encode()) < 2_500


def test_silence_is_said(ask: Ask) -> None:
    assert ask("capy_execute", language="shell", code="true").text == "(no output)"


def test_a_file_is_at_hand_and_a_missing_one_is_told(ask: Ask, project: Path) -> None:
    (project / "a.txt").write_text("one\ntwo\n")
    code = "print(len(FILE_CONTENT.splitlines()), FILE_CONTENT_PATH.endswith('a.txt'))"
    assert ask("capy_execute_file", path="a.txt", language="python", code=code).text == "2 True"
    missing = ask("capy_execute_file", path="b.txt", language="python", code=code)
    assert missing.is_error
    assert "there is no file b.txt" in missing.text


def test_code_in_the_background_is_shown_and_ends_with_the_server(context: Context, ask: Ask) -> None:
    code = "echo $$; echo started; exec sleep 60"
    reply = ask("capy_execute", language="shell", code=code, background=True, timeout=1500)
    pid = int(reply.text.split()[0])
    assert "started" in reply.text
    assert "running, pid" in reply.text
    os.kill(pid, 0)
    context.close()
    assert gone(pid)
    context.lifeline, context._held = os.pipe()  # closed by the fixture


def test_code_in_the_background_that_ends_early_says_how(ask: Ask) -> None:
    code = "echo a; exit 3"
    reply = ask("capy_execute", language="shell", code=code, background=True, timeout=20_000)
    assert reply.text.startswith("a\n")
    assert "3" in reply.text.split("[ended")[1]


def test_a_long_log_of_the_background_is_cut_in_the_middle(ask: Ask) -> None:
    reply = ask("capy_execute", language="shell", code="seq 200000", background=True, timeout=20_000)
    assert reply.text.startswith("1\n2\n")
    assert "\n200000\n[ended" in reply.text
    assert "bytes left out" in reply.text
    assert len(reply.text) < 5_000


def test_long_output_is_found_by_a_search_that_comes_at_once(ask: Ask) -> None:
    code = f"for i in range({AT_ONCE // 25}): print('line', i, 'of a long build')\nprint('the ferry leaves at noon')"
    reply = ask("capy_execute", language="python", code=code, intent="when does the ferry leave")
    assert "the ferry leaves at noon" in reply.text
    label = reply.text.rsplit('"', 2)[1]
    assert "ferry leaves at noon" in ask("capy_search", queries=["ferry"], source=label).text


def test_output_that_could_not_be_indexed_later_is_told_by_the_next_search(project: Path, ask: Ask) -> None:
    (project / ".capy.toml").write_text("[store]\nmax_source_bytes = 1000\n")
    ask("capy_index", content="the harbour", source="notes")
    ask("capy_execute", language="python", code=f"print('x y ' * {AT_ONCE // 3})", intent="z")
    reply = ask("capy_search", queries=["harbour"])
    assert "[not indexed: execute:python:" in reply.text
    assert "the harbour" in reply.text
    assert "not indexed" not in ask("capy_search", queries=["harbour"]).text


def test_an_index_failure_loses_no_output_of_a_batch(ask: Ask, project: Path) -> None:
    (project / ".capy.toml").write_text("[store]\nmax_source_bytes = 10\n")
    reply = ask("capy_batch_execute", commands=["echo the ferry leaves at noon"], queries=["ferry"])
    assert "the ferry leaves at noon" in reply.text
    assert "not indexed" in reply.text


def test_what_a_batch_has_no_time_for_is_skipped_and_said(ask: Ask) -> None:
    reply = ask("capy_batch_execute", commands=["echo one; sleep 30", "echo two"], queries=["one"], timeout=600)
    assert "timed out" in reply.text
    assert "one" in reply.text
    assert "# cmd_2 [skipped: the time of the batch was over" in reply.text


def test_equal_labels_of_a_batch_stay_apart(ask: Ask) -> None:
    commands = [{"label": "a", "command": "echo pear"}, {"label": "a", "command": "echo plum"}]
    reply = ask("capy_batch_execute", commands=commands, queries=["pear", "plum"])
    assert "# a [" in reply.text
    assert "# a#2 [" in reply.text


def test_the_empty_knowledge_base_says_how_to_fill_it(ask: Ask) -> None:
    reply = ask("capy_search", queries=["x"])
    assert reply.is_error
    assert "capy_index" in reply.text


@pytest.mark.parametrize(
    ("url", "said"),
    [("https://github.com/o/r/issues/3", "gh issue view 3"), ("ftp://x.example/a", "http"), ("http://127.0.0.1/", "")],
)
def test_pages_that_are_not_fetched_say_why(ask: Ask, url: str, said: str) -> None:
    reply = ask("capy_fetch_and_index", url=url)
    assert reply.is_error
    assert said in reply.text


def test_cleanup_previews_and_takes_one_of_its_ways_at_a_time(ask: Ask) -> None:
    ask("capy_index", content="a word", source="notes")
    assert "would be removed" in ask("capy_cleanup", source="notes").text
    assert "1 sources removed" in ask("capy_cleanup", source="notes", dry_run="false").text
    both = ask("capy_cleanup", purge_ephemeral=True, purge_session=True)
    assert both.is_error
    assert "mutually exclusive" in both.text


def test_stats_count_also_what_saved_nothing(ask: Ask) -> None:
    ask("capy_execute", language="shell", code="echo 1234567")
    ask("capy_execute", language="shell", code="seq 20000", intent="12345")
    row = next(line for line in ask("capy_stats").text.splitlines() if "capy_execute" in line)
    assert row.split("|")[2].strip() == "2"


def test_the_doctor_answers(ask: Ask) -> None:
    assert ask("capy_doctor").text.startswith("## capy doctor")


def test_our_keys_are_gone_from_the_environment_before_code_runs(context: Context) -> None:
    context.get_ready()
    assert "CAPY_DB_KEY" not in os.environ
    assert context.database_key().reveal().startswith("x'")


def test_a_folder_that_is_none_ends_no_server(tmp_path: Path) -> None:
    with Peer(tmp_path, CLAUDE_PROJECT_DIR=str(tmp_path / "gone")) as server:
        server.start()
        text, is_error = server.call("capy_execute", language="shell", code="echo x")
        assert is_error
        assert "gone" in text


def test_sigkill_ends_what_runs_in_the_background(project: Path) -> None:
    with Peer(project) as server:
        server.start()
        code = "echo $$; exec sleep 60"
        text, _ = server.call("capy_execute", language="shell", code=code, background=True, timeout=1500)
        server.process.kill()
        assert gone(int(text.split()[0]))


def test_progress_is_told_to_who_asks(project: Path) -> None:
    with Peer(project) as server:
        server.start()
        arguments = {"language": "shell", "code": "sleep 2.5"}
        params = {"name": "capy_execute", "arguments": arguments, "_meta": {"progressToken": "t"}}
        number = server.ask("tools/call", params)
        server.answer(number)
        assert "notifications/progress" in server.methods


def test_nothing_but_protocol_is_on_stdout_whatever_prints(project: Path) -> None:
    """A library that prints from C, when it is loaded, into the server's own stdout."""
    site = project / "site"
    site.mkdir()
    (site / "sqlcipher3.py").write_text(
        "import os\nos.system('echo noise')\nos.write(1, b'noise')\nraise ImportError('x')"
    )
    with Peer(project, PYTHONPATH=str(site), CAPY_DB_KEY="x'" + "5a" * 32 + "'") as server:
        server.start()
        text, is_error = server.call("capy_search", queries=["x"])
        assert is_error, text
        assert server.answer(server.ask("ping"))["result"] == {}


def test_a_line_of_60_megabytes_is_an_error_and_not_the_end(project: Path) -> None:
    with Peer(project) as server:
        server.start()
        server.answer(server.ask("tools/list"))
        server.send(b"x" * 60_000_000)
        assert server.answer(server.ask("ping"), seconds=60)["result"] == {}
