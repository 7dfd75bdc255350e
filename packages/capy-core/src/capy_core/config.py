"""Configuration: three TOML files merged key by key, from the user's to the project's. docs/configuration.md lists all.

A project's files come with a clone, so they are not trusted: they may tune, and where a key opens something (what a
child process sees, how much is fetched, where the store lies) they may only narrow what the user's file allows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from stat import S_ISREG
from typing import Any

from .errors import BadConfig
from .permissions import UNREADABLE, parse_rule

Warn = Callable[[str, str, str], None]  # code, message, hint


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
class PolicyConfig:
    """`[policy]`: what may run and be read, beside what the AI tools' settings say. The rules of all files count."""

    deny: tuple[str, ...] = ()  # "Bash(rm -rf:*)", "Read(**/.env)"; the grammar is in permissions.py
    ask: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    unreadable: str = "ask"  # for code that cannot be read and might do what is denied: "allow", "ask" or "deny"


@dataclass(frozen=True)
class HookConfig:
    """`[hook]`: what capy-hook adds to an AI tool's calls. Read there by capy_hook.switches, in haste."""

    enabled: bool = True  # false in a project's file: no redirects, no advice; in the user's: no rules either
    allow: tuple[str, ...] = ()  # commands that are never redirected: "curl http://localhost*"
    redirect: tuple[str, ...] = ("network", "webfetch", "agent")
    guidance: bool = True  # advice at first use, and the routing block at a session's start


@dataclass(frozen=True)
class Config:
    """All settings, with their defaults."""

    store: StoreConfig = field(default_factory=StoreConfig)
    fetch: FetchConfig = field(default_factory=FetchConfig)
    executor: ExecutorConfig = field(default_factory=ExecutorConfig)
    keys: KeysConfig = field(default_factory=KeysConfig)
    policy: PolicyConfig = field(default_factory=PolicyConfig)
    hook: HookConfig = field(default_factory=HookConfig)


# "section.name" -> the field's type as written above
_KINDS = {
    f"{section.name}.{item.name}": str(item.type)
    for section in fields(Config)
    for item in fields(getattr(Config(), section.name))
}
_MAX_FILE = 1024 * 1024
_MAX_UNKNOWN = 5  # named one by one in a file: it may be anybody's
_MAX_BYTES = 1 << 40
_RANGES: dict[str, tuple[float, float]] = {
    "store.max_source_bytes": (1, _MAX_BYTES),
    "store.trigram_max_bytes": (0, _MAX_BYTES),
    "store.ephemeral_ttl_hours": (1, 1_000_000),
    "store.session_ttl_days": (1, 100_000),
    "fetch.ttl_hours": (0, 1_000_000),
    "fetch.timeout_s": (1, 3600),
    "fetch.max_bytes": (1, _MAX_BYTES),
    "fetch.max_redirects": (0, 50),
    "executor.timeout_s": (0.001, 86_400 * 7),
    "executor.max_output_bytes": (1, _MAX_BYTES),
    "executor.max_record_bytes": (1, _MAX_BYTES),
    "executor.hard_cap_bytes": (1, _MAX_BYTES),
}
_CHOICES = {
    "executor.env": ("inherit", "minimal"),
    "policy.unreadable": UNREADABLE,
    "hook.redirect": HookConfig.redirect,  # of a list: each entry
}
_HINTS = {
    "store.ephemeral_ttl_hours": "to drop them all at once, run: capy-store cleanup --purge ephemeral",
    "store.session_ttl_days": "to drop them all at once, run: capy-store cleanup --purge session",
}
_ONLY_LOWER = {
    "store.max_source_bytes",
    "fetch.timeout_s",
    "fetch.max_bytes",
    "fetch.max_redirects",
    "executor.hard_cap_bytes",
}
_ADDED = {"policy.deny", "policy.ask"}  # a later file adds to what the earlier ones list
_RETENTION = {"store.ephemeral_ttl_hours", "store.session_ttl_days", "store.auto_prune"}
_WANTED = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "a text in quotes",
    "tuple[str, ...]": "a list of texts",
}


def load(root: Path | None, warn: Warn) -> Config:
    """The settings of a project: defaults, then the user's file, then the project's, each overriding what it names.

    Files, later over earlier: `$XDG_CONFIG_HOME/capy/config.toml`, `<project>/.capy/config.toml`,
    `<project>/.capy.toml`. A linked worktree reads the main worktree's two files before its own, since they share a
    store. A key that is present counts, whatever its value: false over true, 0 over 24.

    Args:
        root: the project's folder (`paths.project_root`), or None for the user's settings alone.
        warn: called with code, message, hint for unknown keys (`unknown_config_key`) and for values that a
            project's file may not set (`ignored_config_key`); both are left out.

    Raises:
        BadConfig: a file cannot be read or parsed, or a value has the wrong type or range.
    """
    from .paths import config_dir

    allowed = config = _apply(Config(), config_dir() / "config.toml", None, warn)
    for file in _project_files(root) if root is not None else ():
        config = _apply(config, file, allowed, warn)
    return config


def _project_files(root: Path) -> Iterator[Path]:
    from .paths import main_worktree

    for folder in dict.fromkeys((main_worktree(root), root)):
        yield folder / ".capy" / "config.toml"
        yield folder / ".capy.toml"


def _apply(config: Config, file: Path, allowed: Config | None, warn: Warn) -> Config:
    """`config` with the values of one file over it; `allowed` (the user's settings) marks a project's file."""
    unknown = 0
    for key, value in _leaves(_read(file)):
        if key not in _KINDS:
            unknown += 1
            if unknown <= _MAX_UNKNOWN:
                _unknown(file, key, warn)
            continue
        checked = _checked(file, key, value)
        # Policies only grow stricter, so there the earlier files are the limit, too
        reason = _objection(key, checked, replace(allowed, policy=config.policy)) if allowed else ""
        if reason:
            warn(
                "ignored_config_key", f"{file}: {key} is ignored: {reason}", f"set it in {_user_file()} if you want it"
            )
            continue
        section, name = key.split(".")
        if key in _ADDED:
            checked = tuple(dict.fromkeys((*getattr(getattr(config, section), name), *checked)))
        config = replace(config, **{section: replace(getattr(config, section), **{name: checked})})
    if unknown > _MAX_UNKNOWN:
        message = f"{file}: {unknown - _MAX_UNKNOWN} more unknown settings"
        warn("unknown_config_key", message, "docs/configuration.md lists the keys")
    return config


def _leaves(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of a TOML document with its dotted key; an empty table of an unknown name is one too."""
    for name, value in table.items():
        key = prefix + name
        if isinstance(value, dict) and (value or hasattr(Config(), key)):
            yield from _leaves(value, f"{key}.")
        else:
            yield key, value


def _read(file: Path) -> dict[str, Any]:
    try:
        if not S_ISREG(file.stat().st_mode):  # a clone may link it to a device that never ends
            raise BadConfig(f"{file} is not a regular file", "settings are read from a file", path=str(file))
        with file.open("rb") as stream:
            data = stream.read(_MAX_FILE + 1)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as ex:
        raise BadConfig(f"cannot read {file}: {ex.strerror}", "check its permissions", path=str(file)) from ex
    if len(data) > _MAX_FILE:
        raise BadConfig(f"{file} is larger than {_MAX_FILE} bytes", "a settings file is small", path=str(file))
    from .toml import BadToml, parse

    try:
        return parse(data)
    except BadToml as ex:
        hint = "save it as UTF-8" if "UTF-8" in str(ex) else "correct it"
        raise BadConfig(f"{file}, line {ex.line}: {ex}", hint, path=str(file), line=ex.line) from ex


def _checked(file: Path, key: str, value: Any) -> Any:
    """The value as its field holds it.

    Raises:
        BadConfig: wrong type, choice or range.
    """
    kind, (low, high) = _KINDS[key], _RANGES.get(key, (float("-inf"), float("inf")))
    choices = _CHOICES.get(key)
    right_type = {
        "int": isinstance(value, int) and not isinstance(value, bool),
        "float": isinstance(value, int | float) and not isinstance(value, bool),
        "bool": isinstance(value, bool),
        "str": isinstance(value, str) and "\0" not in value,
        "tuple[str, ...]": isinstance(value, list) and all(isinstance(item, str) for item in value),
    }[kind]
    entries = value if isinstance(value, list) else [value]
    if right_type and (all(entry in choices for entry in entries) if choices else True):
        if key.startswith("policy.") and isinstance(value, list) and (bad := _no_rule(value)):
            raise BadConfig(f"{file}: {key}: {bad!r:.100} is no rule", 'e.g. "Bash(git push:*)"', path=str(file))
        if kind not in ("int", "float"):
            return tuple(value) if isinstance(value, list) else value
        if low <= value <= high:
            return float(value) if kind == "float" else value
    wanted = " or ".join(f'"{choice}"' for choice in choices) if choices else _WANTED[kind]
    if choices and kind.startswith("tuple"):
        wanted = f"a list of {wanted}"
    if key in _RANGES:
        wanted += f" from {low:g} to {high:.0f}"
    shown = repr(value) if len(repr(value)) <= 60 else type(value).__name__
    raise BadConfig(
        f"{file}: {key} must be {wanted}, not {shown}", _HINTS.get(key, "correct it or leave it out"), path=str(file)
    )


def _no_rule(entries: list[str]) -> str | None:
    """The first entry that is no permission rule."""
    return next((entry for entry in entries if parse_rule(entry) is None), None)


def _objection(key: str, value: Any, allowed: Config) -> str:
    """Why a project's file may not set this value, or ""."""
    section, name = key.split(".")
    limit = getattr(getattr(allowed, section), name)
    if section == "keys":
        return "a project may not name a command that prints your keys"
    if key == "policy.allow":
        return "a project may not allow what you did not"
    if key == "policy.unreadable" and UNREADABLE.index(value) < UNREADABLE.index(limit):
        return f"a project may only be stricter than {limit!r}"
    if key == "store.path" and (value.startswith("~") or os.path.isabs(value) or ".." in Path(value).parts):
        return "a project's store lies below the project"
    if key == "store.path" and value and not value.endswith(".db"):
        return "a project's store is named *.db, so that it takes no other file's place"
    if key == "store.path" and Path(allowed.store.path).expanduser().is_absolute():
        return "your own settings name one store for all projects"
    if key in _RETENTION and Path(allowed.store.path).expanduser().is_absolute():
        return "the store is shared with other projects"
    if key in _ONLY_LOWER and value > limit:
        return f"a project may only lower it, and {limit} is allowed"
    if allowed.executor.env == "minimal" and key == "executor.env" and value != "minimal":
        return "a project may not let more of your environment through"
    if allowed.executor.env == "minimal" and key == "executor.env_passthrough" and set(value) - set(limit):
        return f"a project may not let more of your environment through ({', '.join(sorted(set(value) - set(limit)))})"
    return ""


def _unknown(file: Path, key: str, warn: Warn) -> None:
    from difflib import get_close_matches

    close = get_close_matches(key, _KINDS, 1, 0.5)
    hint = f"did you mean {close[0]}?" if close else "docs/configuration.md lists the keys"
    warn("unknown_config_key", f"{file}: unknown setting {key:.100}", hint)


def _user_file() -> Path:
    from .paths import config_dir

    return config_dir() / "config.toml"
