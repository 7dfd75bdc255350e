"""The lines of an output that answer, on outputs of our own making."""

from __future__ import annotations

import json
import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from capy_store.evidence import Evidence, budget_for, find, render
from capy_store.evidence.sift import LONGEST, sift

NOISE = "\n".join(f"12:00:{i % 60:02} worker-{i % 7} finished job {i} in {i % 13} ms" for i in range(3000))


def lines_of(evidence: Evidence) -> list[str]:
    return [line for span in evidence.spans for line in span.text.split("\n")]


def placed(line: str, at: int, noise: str = NOISE) -> str:
    lines = noise.split("\n")
    return "\n".join([*lines[:at], line, *lines[at:]]) + "\n"


def test_the_line_that_has_the_words_comes_back_with_head_and_tail() -> None:
    text = placed("12:01:07 billing-export wrote ledger for tenant 4711", 1700)
    found = find(text, "what did the billing export write")
    assert "12:01:07 billing-export wrote ledger for tenant 4711" in lines_of(found)
    assert lines_of(found)[0] == NOISE.split("\n")[0]
    assert lines_of(found)[-1] == NOISE.split("\n")[-1]
    assert (found.lines, found.bytes) == (3001, len(text))


def test_a_failure_is_shown_though_the_question_is_about_something_else() -> None:
    text = placed("ERROR: disk quota exceeded while writing chunk 9", 1400)
    assert "ERROR: disk quota exceeded while writing chunk 9" in lines_of(find(text, "which worker finished job 12"))


def test_the_summary_at_the_end_is_shown() -> None:
    text = NOISE + "\n=== 3 failed, 2997 passed in 41.2s ===\n" + "\n".join(f"cleanup {i}" for i in range(20))
    assert "=== 3 failed, 2997 passed in 41.2s ===" in lines_of(find(text, "what came out"))


def test_a_mistyped_word_is_read_as_the_nearest_of_the_text() -> None:
    text = placed("the container vanished", 900)
    found = find(text, "which contaner is gone")
    assert found.corrected == {"contaner": "container"}
    assert "the container vanished" in lines_of(found)


def test_words_inside_names_and_inflections_match() -> None:
    for line in ("at com.acme.OrderShipmentService.scheduleRetry(Order.java:81)", "retries were scheduled: 4"):
        assert line in lines_of(find(placed(line, 2100), "who schedules a retry"))


def test_a_phrase_counts_more_than_its_words_apart() -> None:
    noise = "\n".join(f"found unit number {i}" for i in range(2000))
    text = placed("tmp.mount not-found inactive", 1000, noise)
    assert "tmp.mount not-found inactive" in lines_of(find(text, "which unit is not found"))


def test_text_without_spaces_between_words_is_found() -> None:
    assert "サーバーが応答しません" in lines_of(find(placed("サーバーが応答しません", 1500), "サーバーの応答"))


def test_a_line_that_announces_brings_what_it_announces() -> None:
    text = placed("Expected colours:\n    crimson\n    teal\nGot:\n    mauve", 800)
    assert {"    crimson", "    teal"} <= set(lines_of(find(text, "what colours were expected")))


def test_a_member_of_a_record_brings_the_name_of_the_record() -> None:
    records = [{"name": f"pkg-{i}", "deps": list(range(12)), "severity": "low"} for i in range(300)]
    records[123]["severity"] = "critical"
    found = find(json.dumps(records, indent=1), "which has critical severity")
    assert any('"name": "pkg-123"' in line for line in lines_of(found))


def table(mark: str, quote: str = "") -> str:
    rows = [f"{quote}ship {i}{quote}{mark}{(i * 7919) % 5003}{mark}{i % 3}.5K" for i in range(4000)]
    return "\n".join([mark.join(("name", "cargoTons", "price")), *rows]) + "\n"


def test_a_member_of_a_record_brings_what_the_record_says() -> None:
    records = [
        {"code": f"W{number:03}", "column": number, "cell": None, "fix": None, "message": f"case {number} goes amiss"}
        for number in range(200)
    ]
    shown = render(find(json.dumps(records, indent=2), "W117", budget=900))
    assert "case 117 goes amiss" in shown


def test_a_record_on_an_endless_line_is_not_cut_in_two() -> None:
    for target in range(100, 140):  # wherever the cuts fall
        records = [
            {"number": n, "title": "Page forgets its filter", "body": "Seen since. " * (n % 7)} for n in range(200)
        ]
        records[target] |= {"title": "Guests read private notes", "body": "Hidden " + "of the week " * 12 + "7.3.1"}
        shown = render(find(json.dumps(records, separators=(",", ":")), "guests private notes", budget=1000))
        assert '"title":"Guests read private notes"' in shown
        assert "7.3.1" in shown


def test_prose_gets_more_room_than_a_log_of_its_size() -> None:
    words = [f"{one}{two}" for one in ("lan", "tern", "kee", "per", "wa", "ter") for two in ("ce", "ly", "ning", "dow")]
    prose = " ".join(f"{a} {b} {c}." for a in words for b in words for c in words[:9])[:10_000]
    log = "".join(f"12:00:{n % 60:02} worker-{n % 7} finished its job in time, all is well\n" for n in range(160))[
        :10_000
    ]
    assert budget_for(log) < budget_for(prose) <= 4_000


def test_of_a_table_the_rows_with_most_and_least_of_a_named_column_come() -> None:
    for text in (table(","), table("\t"), table(";"), table(",", '"')):
        rows = text.split("\n")[1:-1]
        mark = "\t" if "\t" in text else ";" if ";" in text else ","
        rows.sort(key=lambda row: int(row.split(mark)[1]))
        assert rows[-1] in lines_of(find(text, "which ship has the highest cargo"))
        assert rows[0] in lines_of(find(text, "which ship has the smallest cargo"))


def test_of_columns_in_blanks_too_with_units() -> None:
    rows = [f"pod-{i}   {i % 40 + 2}m   {i * 37 % 900 + 1}Mi" for i in range(2000)]
    rows[1234] = "pod-1234   7m   3Gi"
    text = "\n".join(["NAME   CPU(cores)   MEMORY(bytes)", *rows]) + "\n"
    assert rows[1234] in lines_of(find(text, "which pod uses the most memory"))


def test_what_has_to_be_computed_is_told_with_the_columns() -> None:
    (told,) = find(table(","), "what is the average price").notes
    assert "name, cargoTons, price" in told
    assert find(table(","), "where is ship 12").notes == ()
    assert find(NOISE, "what is the average time of a job").notes == ()


def test_first_and_last_are_words_of_place() -> None:
    text = "\n".join(f"login refused for user {i}" for i in range(4000))
    first = [line for line in lines_of(find(text, "the first login that was refused"))[5:-5] if line]
    last = [line for line in lines_of(find(text, "the last login that was refused"))[5:-5] if line]
    assert all(int(line.split()[-1]) < 1000 for line in first)
    assert all(int(line.split()[-1]) > 3000 for line in last)


def test_colours_overwritten_progress_and_stamps_of_runners_go() -> None:
    text = "".join(f"2026-05-06T19:55:11.{i:07}Z step {i}\n" for i in range(200))
    text += "2026-05-06T19:55:12.0000001Z \x1b[31mfetching 10%\rfetching 55%\rfetched all\x1b[0m\r\n"
    shown = render(find(text, "was all fetched"))
    assert "fetched all" in shown.split("\n")
    assert "\x1b" not in shown and "\r" not in shown and "55%" not in shown and "2026-05" not in shown


def test_time_stamps_of_programs_stay() -> None:
    text = placed("2026-06-20T10:53:47.322Z [DEBUG] request h1ccp was refused", 50)
    assert "2026-06-20T10:53:47.322Z [DEBUG] request h1ccp was refused" in lines_of(find(text, "request h1ccp"))


def test_of_an_endless_line_the_piece_that_answers_comes_back_whole_tokens_only() -> None:
    text = json.dumps([{"id": i, "city": f"town-{i}"} for i in range(20_000)] + [{"id": -1, "city": "Quillburg"}])
    found = find(text, "which id has Quillburg")
    assert '"city": "Quillburg"' in render(found)
    assert {(span.first, span.last) for span in found.spans} == {(1, 1)}
    assert len(render(found)) <= 6000


def test_several_questions_share_the_budget_and_the_unanswered_are_named() -> None:
    text = placed("alpha valve opened", 500).rstrip("\n") + "\n" + placed("omega valve closed", 900)
    found = find(text, ["alpha valve", "omega valve", "zeppelin"])
    assert {"alpha valve opened", "omega valve closed"} <= set(lines_of(found))
    assert found.unanswered == ("zeppelin",)


def test_a_small_text_comes_whole() -> None:
    assert render(find("one\ntwo\nthree\n", "two")) == "one\ntwo\nthree"


def test_a_blank_text_gives_a_blank_line_at_most() -> None:
    assert render(find("", "why")) == ""
    assert render(find("\n\n \n", "why")).strip() == ""


def test_the_reason_of_a_span_is_the_best_of_its_lines() -> None:
    found = find(NOISE + "\nTraceback (most recent call last):\nValueError: bad\n", "zeppelin")
    assert found.spans[0].why == "head"
    assert found.spans[-1].why == "failure"


def test_gaps_are_marked_with_the_number_of_the_next_line() -> None:
    shown = render(find(placed("needle here", 1500), "needle"))
    at = shown.split("\n").index("needle here")
    marks = [line for line in shown.split("\n")[: at + 1] if line.startswith("[l. ")]
    number = int(marks[-1][4:-1])
    distance = at - shown.split("\n").index(marks[-1]) - 1
    assert number + distance == 1501


def test_carriage_returns_alone_are_line_ends() -> None:
    assert "two" in lines_of(find("one\rtwo\rthree", "two"))


@given(
    st.lists(st.text(alphabet="ab é\n\r\x1b[m0:{}\"'-", max_size=120), max_size=60).map("".join),
    st.text(max_size=30),
    st.integers(0, 3000),
)
def test_whatever_comes_in_the_budget_holds_and_lines_are_verbatim(text: str, question: str, budget: int) -> None:
    found = find(text, question, budget=budget)
    shown = render(found)
    assert len(shown.encode()) <= budget + 1
    spans = found.spans
    assert all(a.last <= b.first for a, b in pairwise(spans))
    plain = re.sub(r"\x1b\[[0m]*m?", "", text)
    if "\x1b" not in text and "\r" not in text:
        assert all(line in plain for line in lines_of(found))


def test_the_same_question_always_gets_the_same_answer() -> None:
    text = placed("beta", 100) + placed("beta", 200)
    assert len({render(find(text, "beta worker job")) for _ in range(3)}) == 1


def test_a_text_beyond_all_size_is_read_by_what_it_holds() -> None:
    noise = "the quick brown fox jumps over the lazy dog again and again\n" * (LONGEST // 50)
    half = len(noise) // 120 * 60
    text = noise[:half] + "needle 4711 lies here\n" + noise[half:] + "the end\n"
    found = find(text, "where is needle 4711")
    assert "needle 4711 lies here" in lines_of(found)
    assert lines_of(found)[-1] == "the end"
    (span,) = [span for span in found.spans if "needle" in span.text]
    number = span.first + span.text.split("\n").index("needle 4711 lies here")
    assert text.split("\n")[number - 1] == "needle 4711 lies here"
    assert found.lines == text.count("\n")


def test_sifted_lines_are_lines_of_the_text_with_their_numbers() -> None:
    text = "".join(f"line {i} {'wanted' if i % 1000 == 7 else 'other'}\n" for i in range(400_000))
    lines = text.split("\n")
    found = sift(text, {"wanted"})
    assert all(lines[number - 1] == line for number, line in found)
    numbers = {number for number, _ in found}
    assert {i + 1 for i in range(400_000) if i % 1000 == 7} <= numbers
    assert len(found) < 100_000


def test_an_endless_line_beyond_all_size_is_read_in_pieces() -> None:
    text = "lorem ipsum dolor " * (LONGEST // 16) + "needle 4711 " + "sit amet " * (LONGEST // 16)
    assert "needle 4711" in render(find(text, "needle 4711"))
