"""The store's tables. All text is zstd in `chunks`; FTS5 holds only its index (contentless), so that a delete
needs no old text and costs O(its chunks). Measured alternatives: docs/adr/0006-store-schema.md.
"""

from __future__ import annotations

SOURCES = """
CREATE TABLE sources(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  label TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (kind IN ('durable', 'ephemeral', 'session')),
  content_type TEXT NOT NULL,              -- markdown | json | output | text | code | transcript
  title TEXT NOT NULL DEFAULT '',
  hash BLOB NOT NULL,                      -- SHA-256 of the redacted text
  raw_hash BLOB NOT NULL,                  -- SHA-256 of the bytes as they came
  recipe TEXT NOT NULL,                    -- what else the chunks depend on; equal raw_hash and recipe: nothing to do
  bytes INTEGER NOT NULL,                  -- of the redacted text, UTF-8
  lines INTEGER NOT NULL,
  redactions INTEGER NOT NULL DEFAULT 0,
  chunk_count INTEGER NOT NULL DEFAULT 0,
  code_chunk_count INTEGER NOT NULL DEFAULT 0,
  trigram INTEGER NOT NULL DEFAULT 0,      -- 1: its chunks are in chunks_trigram
  complete INTEGER NOT NULL DEFAULT 1,     -- 0 while a bulk source is being written in slices; never shown then
  created_at INTEGER NOT NULL,             -- times are UTC seconds since 1970
  indexed_at INTEGER NOT NULL,
  accessed_at INTEGER NOT NULL,
  access_count INTEGER NOT NULL DEFAULT 0, -- decays: see retention.py
  path TEXT,                               -- the file it was read from, absolute
  file_size INTEGER,
  file_mtime_ns INTEGER,
  file_ctime_ns INTEGER,
  url TEXT,
  meta TEXT NOT NULL DEFAULT '{}'          -- JSON: what the producer knew (command, exit_code, cwd, ...)
)
"""

# Few at any time: looked up by every writer
SOURCES_INCOMPLETE = "CREATE INDEX sources_incomplete ON sources(id) WHERE complete = 0"

# The bodies of a source, joined in the order of their ids, are its text (transcripts excepted: their chunks overlap).
CHUNKS = """
CREATE TABLE chunks(
  id INTEGER PRIMARY KEY,                  -- the rowid in chunks_fts and chunks_trigram; ascending within a source
  source_id INTEGER NOT NULL REFERENCES sources(id),
  title TEXT NOT NULL,                     -- heading path, key path or command
  line_start INTEGER NOT NULL,             -- 1-based, inclusive, in the redacted text, without blank lines at both ends
  line_end INTEGER NOT NULL,
  is_code INTEGER NOT NULL,
  body BLOB NOT NULL                       -- zstd level 3 of the UTF-8 text, newlines at its end included
)
"""

CHUNKS_SOURCE = "CREATE INDEX chunks_source ON chunks(source_id)"

# title, body: what it says. part: the words inside camelCase and snake_case identifiers. cjk: character bigrams.
CHUNKS_FTS = """
CREATE VIRTUAL TABLE chunks_fts USING fts5(title, body, part, cjk,
  tokenize='porter unicode61 remove_diacritics 2', content='', contentless_delete=1)
"""

# Substring lane: a filter only (no positions, no ranking); hits are verified in the text. One row stands for up to
# TRIGRAM_GROUP consecutive chunks of a source and has the id of the first: half the size, and quicker to write.
TRIGRAM_GROUP = 8
CHUNKS_TRIGRAM = """
CREATE VIRTUAL TABLE chunks_trigram USING fts5(body,
  tokenize='trigram', detail=none, content='', contentless_delete=1)
"""

# Small facts of the store itself, such as when it was last pruned.
STATE = "CREATE TABLE state(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID"

# pgsz: a leaf fits SQLCipher's usable page (4,016 bytes). deletemerge: no half-second pauses in deletes.
FTS_OPTIONS = tuple(
    f"INSERT INTO {table}({table}, rank) VALUES('{option}', {value})"
    for table in ("chunks_fts", "chunks_trigram")
    for option, value in (("pgsz", 3960), ("automerge", 8), ("deletemerge", 50))
)

FTS = (CHUNKS_FTS, CHUNKS_TRIGRAM, *FTS_OPTIONS)
ALL = (SOURCES, SOURCES_INCOMPLETE, CHUNKS, CHUNKS_SOURCE, STATE, *FTS)
