"""Configuration: three TOML files merged by presence, from the user's to the project's.

A first cut: the loader is still to come; the dataclasses below are the shape that all tools read.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class StoreConfig:
    """`[store]`: the knowledge base."""

    path: str = ""  # "" = $XDG_DATA_HOME/capy/<project hash>/knowledge.db; relative = below the project
    max_source_bytes: int = 256 * 1024 * 1024  # one source's text; larger input is refused, never cut
    trigram_max_bytes: int = 512 * 1024  # sources above this stay out of the substring lane
    ephemeral_ttl_hours: int = 24
    session_ttl_days: int = 60
    auto_prune: bool = True  # drop expired ephemeral and session sources when a writer opens the store


@dataclass(frozen=True)
class FetchConfig:
    """`[fetch]`: pages from the web."""

    ttl_hours: int = 24  # a page fetched less than this ago is answered from the store
    timeout_s: int = 30  # whole request, redirects and body included
    max_bytes: int = 10 * 1024 * 1024  # counted after decompression
    max_redirects: int = 5


@dataclass(frozen=True)
class ExecutorConfig:
    """`[executor]`: running code."""

    timeout_s: float = 30
    max_output_bytes: int = 102_400  # per stream, what a reader is shown
    max_record_bytes: int = 4 * 1024 * 1024  # per stream, what a JSON record holds
    hard_cap_bytes: int = 100 * 1024 * 1024  # stdout + stderr; reaching it ends the process tree
    env: str = "inherit"  # "inherit": all but what loads code and our keys; "minimal": a base set and env_passthrough
    env_passthrough: tuple[str, ...] = ()  # fnmatch patterns of names that pass in "minimal"


@dataclass(frozen=True)
class KeysConfig:
    """`[keys]`, honoured in the user-level file only: commands that print a key."""

    db_command: str = ""
    vault_command: str = ""


@dataclass(frozen=True)
class Config:
    """All settings, with their defaults."""

    store: StoreConfig = field(default_factory=StoreConfig)
    fetch: FetchConfig = field(default_factory=FetchConfig)
    executor: ExecutorConfig = field(default_factory=ExecutorConfig)
    keys: KeysConfig = field(default_factory=KeysConfig)
