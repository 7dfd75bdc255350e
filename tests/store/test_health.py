from __future__ import annotations

from pathlib import Path

import pytest

from capy_core.errors import Corrupt
from capy_core.keys import Key
from capy_store import health
from capy_store.documents import Document
from capy_store.store import Store

KEY = Key("x'" + "5a" * 32 + "'")


def filled(path: Path) -> Path:
    with Store.open(path, KEY) as store:
        for number in range(20):
            store.index(Document(f"d{number}", f"alpha{number} beta gamma 東京\n" * 400))
        store.index(Document("bulk", "zebra crossing ahead\n" * 30_000))
        store.delete("d3")
    return path


def bad(path: Path) -> list[str]:
    return [check.name for check in health.checks(path, KEY) if not check.ok]


def test_a_sound_store_passes_every_check(tmp_path: Path) -> None:
    path = filled(tmp_path / "kb.db")
    checks = list(health.checks(path, KEY))
    assert [check.name for check in checks if not check.ok] == []
    assert len(checks) == 7
    assert all(not check.hint for check in checks)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE chunks_fts_data SET block = x'ffffffffffffffffffffffff' WHERE id > 10",
        "UPDATE chunks_fts_data SET block = zeroblob(16)",
        "UPDATE chunks_fts_data SET block = randomblob(length(block))",
        "DELETE FROM chunks_fts_data",
        "DELETE FROM chunks_fts_docsize WHERE id = 3",
        "DELETE FROM chunks_trigram_docsize WHERE id = 1",
        "DELETE FROM chunks_trigram_config",
        "DROP TABLE chunks_fts_data",
        "DROP TABLE chunks_fts",
    ],
)
def test_a_damaged_index_is_told_and_made_anew_from_the_text(tmp_path: Path, damage: str) -> None:
    path = filled(tmp_path / "kb.db")
    with Store.open(path, KEY) as store:
        store.db.execute(damage)
    assert bad(path)
    with Store.open(path, KEY) as store:
        assert health.repair(store.db) == store.stats()["chunks"]
    assert bad(path) == []
    with Store.open(path, KEY) as store:
        for word, sources in (("alpha7", 1), ("beta", 19), ("zebra", 1), ("東京", 19)):
            sql = "SELECT count(DISTINCT source_id) FROM chunks_fts f JOIN chunks c ON c.id = f.rowid"
            assert store.db.execute(f"{sql} WHERE chunks_fts MATCH ?", (f'"{word}"',)).fetchone() == (sources,)
        assert store.index(Document("after", "text")).status == "indexed"


def test_a_text_that_cannot_be_read_is_told_and_stops_the_repair(tmp_path: Path) -> None:
    path = filled(tmp_path / "kb.db")
    with Store.open(path, KEY) as store:
        store.db.execute("UPDATE chunks SET body = x'00' WHERE id = 2")
    assert bad(path) == ["stored text", "search"] or bad(path) == ["stored text"]
    with Store.open(path, KEY) as store:
        with pytest.raises(Corrupt):
            health.repair(store.db)
        assert store.db.execute("SELECT count(*) FROM chunks_fts_docsize").fetchone()[0] > 100  # nothing was changed


def test_a_file_open_to_others_is_told(tmp_path: Path) -> None:
    path = filled(tmp_path / "kb.db")
    path.chmod(0o644)
    assert bad(path) == ["file mode"]


def test_a_damaged_page_is_told(tmp_path: Path) -> None:
    path = filled(tmp_path / "kb.db")
    data = bytearray(path.read_bytes())
    middle = len(data) // 2 // 4096 * 4096
    data[middle : middle + 4096] = b"\x55" * 4096
    path.write_bytes(data)
    assert "integrity" in bad(path)
