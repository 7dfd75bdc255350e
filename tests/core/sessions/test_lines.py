from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capy_core.errors import BadInput, NotFound
from capy_core.sessions.events import Mark
from capy_core.sessions.lines import NOT_JSON, NOT_OBJECT, TOO_LONG, TORN, records
from capy_core.sessions.report import Report

GOOD = b'{"n":1}\n'


def read(path: Path, data: bytes, start: Mark | None = None, **options: int) -> tuple[list[object], Report]:
    path.write_bytes(data)
    report = Report()
    found = list(records(path, report, start, **options))
    for record in found:
        assert json.loads(data[record.offset : record.offset + record.length].decode("utf-8", "replace")) is not None
    assert report.lines == report.read + report.partly + report.skipped + report.blank
    return [record.value for record in found], report


def reasons(report: Report) -> list[tuple[str, int, int]]:
    return [(gap.reason, gap.line, gap.lines) for gap in report.gaps]


def test_every_line_of_a_damaged_file_is_accounted_for(tmp_path: Path) -> None:
    data = GOOD + b'{"n":2}\n' + b'{"n":3,"te\n' + b'{"n":4}\n' + b"\n" + b'{"n":6,"tex'
    values, report = read(tmp_path / "f", data)
    assert values == [{"n": 1}, {"n": 2}, {"n": 4}]
    assert (report.lines, report.read, report.skipped, report.blank) == (6, 3, 2, 1)
    assert reasons(report) == [(NOT_JSON, 3, 1), (TORN, 6, 1)]
    assert [data[gap.offset : gap.offset + gap.length] for gap in report.gaps] == [b'{"n":3,"te', b'{"n":6,"tex']


def test_several_objects_on_one_line_are_all_read(tmp_path: Path) -> None:
    values, report = read(tmp_path / "f", '{"a":"ü"}{"b":1} \t{"c":2}\n'.encode())
    assert values == [{"a": "ü"}, {"b": 1}, {"c": 2}]
    assert (report.lines, report.read, report.records) == (1, 1, 3)


def test_the_rest_of_a_line_that_is_partly_read_is_located(tmp_path: Path) -> None:
    data = b'{"a":1} and more\n' + GOOD
    values, report = read(tmp_path / "f", data)
    assert values == [{"a": 1}, {"n": 1}]
    assert (report.partly, report.read, report.gaps[0].whole) == (1, 1, False)
    assert data[report.gaps[0].offset :].startswith(b"and more")


def test_unicode_line_separators_and_control_characters_are_text(tmp_path: Path) -> None:
    text = "a\u2028b\u2029c\x85d"
    values, report = read(tmp_path / "f", f'{{"t":"{text}\\u001c"}}\n{{"n":2}}\n'.encode())
    assert values == [{"t": text + "\x1c"}, {"n": 2}]
    assert report.lines == 2


@pytest.mark.parametrize("line", [b"[]", b"null", b"3", b'"... [truncated array]"', b"[1, {}]"])
def test_json_that_is_no_object_is_noted(tmp_path: Path, line: bytes) -> None:
    values, report = read(tmp_path / "f", GOOD + line + b"\n" + GOOD)
    assert len(values) == 2
    assert reasons(report) == [(NOT_OBJECT, 2, 1)]


@pytest.mark.parametrize("data", [b"", b"\n", b"\xef\xbb\xbf\n", b"\x00\x00\x00\n \t\r\n"])
def test_nothing_is_not_an_error(tmp_path: Path, data: bytes) -> None:
    values, report = read(tmp_path / "f", data)
    assert (values, report.gaps, report.blank) == ([], [], data.count(b"\n"))


def test_bom_crlf_and_nul_bytes_are_no_part_of_a_record(tmp_path: Path) -> None:
    values, report = read(tmp_path / "f", b'\xef\xbb\xbf{"a":1}\r\n\x00\x00{"b":2}\n')
    assert (values, report.read) == ([{"a": 1}, {"b": 2}], 2)


def test_bytes_that_are_no_utf8_and_lone_surrogates_become_the_replacement_character(tmp_path: Path) -> None:
    values, report = read(tmp_path / "f", b'{"a":"\xff"}{"b":"\\ud800"}\n{"c":"\xe9"}\n')
    assert values == [{"a": "\ufffd"}, {"b": "\ufffd"}, {"c": "\ufffd"}]
    assert report.read == 2


def test_a_line_beyond_the_limit_is_passed_over_and_located(tmp_path: Path) -> None:
    data = GOOD + b'{"t":"' + b"x" * 5_000_000 + b'"}\n' + GOOD
    values, report = read(tmp_path / "f", data, limit=1000)
    assert values == [{"n": 1}, {"n": 1}]
    gap = report.gaps[0]
    assert (gap.reason, gap.line, gap.offset, gap.length) == (TOO_LONG, 2, len(GOOD), len(data) - 2 * len(GOOD))


def test_a_line_of_the_limit_itself_is_read(tmp_path: Path) -> None:
    for data in (GOOD, GOOD[:-1]):
        values, _ = read(tmp_path / "f", data, limit=7)
        assert values == [{"n": 1}]


def test_a_long_line_takes_no_memory_beyond_the_limit(tmp_path: Path, python: object) -> None:
    path = tmp_path / "f"
    with path.open("wb") as file:
        file.write(GOOD)
        for _ in range(200):
            file.write(b"x" * 1_000_000)
        file.write(b"\n" + GOOD)
    code = """
        import sys, resource
        from pathlib import Path
        from capy_core.sessions.lines import records
        from capy_core.sessions.report import Report
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(len(list(records(Path(sys.argv[1]), Report(), limit=4_000_000))))
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
    done = python(code, path)  # type: ignore[operator]
    count, kilobytes = done.stdout.split()
    assert int(count) == 2
    assert int(kilobytes) / (1024 if sys.platform == "darwin" else 1) < 40_000


def test_neighbouring_gaps_are_one_and_their_number_is_bounded(tmp_path: Path) -> None:
    _, report = read(tmp_path / "f", b"bad\n" * 5000)
    assert reasons(report) == [(NOT_JSON, 1, 5000)]
    _, report = read(tmp_path / "f", b"bad\n3\n" * 5000)
    assert (report.skipped, len(report.gaps), report.unlisted) == (10_000, 1000, 9000)


def test_a_deeply_nested_line_is_not_json_for_us(tmp_path: Path) -> None:
    values, report = read(tmp_path / "f", b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"\n" + GOOD)
    assert (values, report.skipped) == ([{"n": 1}], 1)


def test_reading_goes_on_at_the_mark_behind_what_was_whole(tmp_path: Path) -> None:
    path = tmp_path / "f"
    whole = b'{"n":1}\n{"n":2}\n{"n":3}{"n":4}\n{"n":5}\n'
    for cut in range(len(whole) + 1):
        first, report = read(path, whole[:cut])
        second = Report()
        path.write_bytes(whole)
        rest = [record.value for record in records(path, second, report.mark)]
        assert [value["n"] for value in (*first, *rest)] == [1, 2, 3, 4, 5], cut  # type: ignore[index]
        assert report.mark.offset <= cut


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_bytes_are_read_or_accounted_for(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    piece = st.one_of(
        st.binary(max_size=30),
        st.sampled_from(
            [GOOD, b"{", b"}", b"\n", b'"', b"\\", b"[]\n", b"\xef\xbb\xbf", b'{"a":"\xed\xa0\x80"}', b"\x00"]
        ),
        st.dictionaries(st.text(max_size=4), st.text(max_size=6), max_size=2).map(lambda v: json.dumps(v).encode()),
    )
    content = b"".join(data.draw(st.lists(piece, max_size=12)))
    path = tmp_path_factory.mktemp("any") / "f"
    _, report = read(path, content)
    assert report.bytes == len(content)
    assert report.lines == content.count(b"\n") + (not content.endswith(b"\n") and content != b"")


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        list(records(tmp_path / "none", Report()))


def test_a_compressed_file_without_the_module_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "f.jsonl.zst"
    path.write_bytes(b"x")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(BadInput, match="zstandard") as caught:
        list(records(path, Report()))
    assert "capy-core[zstd]" in caught.value.hint


def test_compressed_frames_are_read_as_one_file(tmp_path: Path) -> None:
    import zstandard

    frames = [zstandard.ZstdCompressor().compress(data) for data in (GOOD * 1000, b'{"n":2}\n')]
    path = tmp_path / "f.jsonl.zst"
    path.write_bytes(b"".join(frames))
    report = Report()
    assert sum(1 for _ in records(path, report)) == 1001
    assert report.gaps == []
    again = Report()
    mark = Mark(offset=len(GOOD) * 999, line=1000)
    assert [record.line for record in records(path, again, mark)] == [1000, 1001]


def test_compressed_data_that_breaks_off_is_noted(tmp_path: Path) -> None:
    import zstandard

    lines = b"".join(b'{"n":%d}\n' % n for n in range(300_000))
    whole = zstandard.ZstdCompressor().compress(lines)
    path = tmp_path / "f.jsonl.zst"
    path.write_bytes(whole[: len(whole) // 2])
    report = Report()
    assert 0 < sum(1 for _ in records(path, report)) < 300_000
    assert "breaks off" in report.gaps[-1].reason
    assert report.lines == report.read + report.skipped
    path.write_bytes(b"no zstd at all")
    report = Report()
    assert list(records(path, report)) == []
    assert "damaged" in report.gaps[0].reason
