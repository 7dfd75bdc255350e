"""Where a database key comes from, and how it is handed to SQLCipher. Reasons: docs/adr/0003-keys.md."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from stat import S_IMODE, S_ISREG
from typing import TYPE_CHECKING

from .errors import BadInput, NoKey, Unwritable

if TYPE_CHECKING:
    from .config import Config, Warn

# SQLCipher takes exactly these for raw keys (256 bits, or 256 bits and the 128 bits of the file's salt)
_RAW = re.compile(r"[xX]'(?:[0-9a-fA-F]{64}|[0-9a-fA-F]{96})'\Z")
_NEARLY_RAW = re.compile(r"\s*(?:[xX]['\"]|[xX]?['\"]?[0-9a-fA-F]{48,}['\"]?\s*\Z)")
_SHORT = 32
_MAX_BYTES = 65_536
_COMMAND_TIMEOUT_S = 30


class Key:
    """A database key: a passphrase, or a raw 256-bit key written `x'<64 hex>'` as SQLCipher writes it.

    Never printed: `repr` and `str` show no part of it. Its text leaves through `reveal` and `pragma_value` only.

    Raises:
        NoKey: the text is empty (SQLCipher would write plaintext), holds a NUL, or is not UTF-8.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        if not text:
            raise NoKey("the key is empty", "an empty key would mean no encryption; run: capy-store keygen")
        if "\0" in text:
            raise NoKey("the key holds a NUL character", "use a key without it; run: capy-store keygen")
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            # from None: the exception's text shows a part of the key
            raise NoKey("the key is not UTF-8", "use another key; run: capy-store keygen") from None
        self._text = text

    @property
    def is_raw(self) -> bool:
        """True for a raw key: opening costs no PBKDF2."""
        return bool(_RAW.match(self._text))

    @property
    def pragma_value(self) -> str:
        """The quoted value for `PRAGMA key = ...` and `ATTACH ... KEY ...`."""
        if self.is_raw:
            return f'"{self._text}"'
        return "'" + self._text.replace("'", "''") + "'"

    def reveal(self) -> str:
        """The key itself, for a key file or a person who asked to see it."""
        return self._text

    def __repr__(self) -> str:
        return "Key(...)"

    def __reduce__(self) -> str:
        raise TypeError("a key is not pickled or copied")


@dataclass(frozen=True)
class _Source:
    """The places where one key is looked up."""

    variable: str
    command: str  # field of KeysConfig
    file: str  # below the user's config folder
    remedy: str


_DATABASE = _Source("CAPY_DB_KEY", "db_command", "db.key", "capy-store keygen --save")
_VAULT = _Source("CAPY_VAULT_KEY", "vault_command", "vault.key", "capy-vault keygen --save")


def database_key(config: Config, warn: Warn | None = None) -> Key:
    """The knowledge base's key: `CAPY_DB_KEY`, else the file `CAPY_DB_KEY_FILE` names, else what `[keys] db_command`
    prints, else `$XDG_CONFIG_HOME/capy/db.key`. The first that is set decides; none of them is tried after it.

    Args:
        warn: called with code, message, hint for a passphrase that is short or looks like a mistyped raw key.

    Raises:
        NoKey: none is set, or the one that is set gives no usable key. The hint is the command that makes one.
    """
    return _find(_DATABASE, config, warn)


def database_key_source(config: Config) -> str:
    """Where `database_key` finds the key: a variable, a file, a setting; never the key.

    Raises:
        NoKey: as `database_key`.
    """
    return _first(_DATABASE, config)[1]


def vault_key(config: Config, warn: Warn | None = None) -> Key:
    """The vault's key: as `database_key`, with `CAPY_VAULT_KEY`, `vault_command` and `vault.key`."""
    return _find(_VAULT, config, warn)


def database_key_file() -> Path:
    """Where the knowledge base's key is saved: the last place that `database_key` looks at."""
    return _saved(_DATABASE)


def vault_key_file() -> Path:
    """Where the vault's key is saved: the last place that `vault_key` looks at."""
    return _saved(_VAULT)


def generate_raw_key() -> Key:
    """A new raw key from the system's random source."""
    return Key(f"x'{os.urandom(32).hex()}'")


def save_key_file(path: Path, key: Key) -> None:
    """Write a key and a newline to a new file that only its owner can read (0600). Never overwrites.

    Raises:
        BadInput: the file exists.
        Unwritable: it cannot be written.
    """
    from .atomic import sync_folder
    from .paths import make_private

    make_private(path.parent)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as ex:
        hint = "it may be the only key to your data: use it, or move it to a safe place first"
        raise BadInput(f"the key file {path} exists", hint, path=str(path)) from ex
    except OSError as ex:
        raise Unwritable(
            f"cannot create {path}: {ex.strerror}", "check the folder's permissions", path=str(path)
        ) from ex
    try:
        with os.fdopen(handle, "wb") as stream:
            os.fchmod(stream.fileno(), 0o600)
            stream.write(key.reveal().encode("utf-8") + b"\n")
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as ex:
        path.unlink(missing_ok=True)
        raise Unwritable(f"cannot write {path}: {ex.strerror}", "check the space on the disk", path=str(path)) from ex
    sync_folder(path.parent)


def read_key_file(path: Path) -> Key:
    """The key in a file: all its bytes but one newline at the end.

    Raises:
        NoKey: it is missing, not a regular file, not ours, open to others, too large, or holds no usable key.
    """
    try:
        # O_NONBLOCK: a named pipe must not hold us up before we have seen what it is
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError as ex:
        raise NoKey(f"cannot read the key file {path}: {ex.strerror}", "correct its name or permissions") from ex
    try:
        _check_private(os.fstat(handle), path)
        data = os.read(handle, _MAX_BYTES + 1)
    finally:
        os.close(handle)
    return _decoded(data, f"the key file {path}")


def _check_private(facts: os.stat_result, path: Path) -> None:
    if not S_ISREG(facts.st_mode):
        raise NoKey(f"the key file {path} is not a regular file", "name a file that holds the key")
    if facts.st_uid != os.geteuid():
        raise NoKey(f"the key file {path} belongs to another user", f"copy it, or run: chown $(id -u) {path}")
    if facts.st_mode & 0o077:
        mode = f"{S_IMODE(facts.st_mode):04o}"
        raise NoKey(f"the key file {path} is open to other users (mode {mode})", f"run: chmod 600 {path}")


def _find(source: _Source, config: Config, warn: Warn | None) -> Key:
    key, where = _first(source, config)
    if warn is not None and not key.is_raw:
        _judge(key.reveal(), where, warn)
    return key


def _first(source: _Source, config: Config) -> tuple[Key, str]:
    """The key of the first place that is set, and that place's name."""
    text = os.environ.get(source.variable)
    if text:
        return Key(text), source.variable
    named = os.environ.get(f"{source.variable}_FILE")
    if named:
        return read_key_file(Path(named)), named
    command: str = getattr(config.keys, source.command)
    if command:
        return _ask(command, f"[keys] {source.command}"), f"[keys] {source.command}"
    saved = _saved(source)
    if saved.exists():
        return read_key_file(saved), str(saved)
    raise NoKey(f"no key: {source.variable} is not set and there is no {saved}", f"run: {source.remedy}")


def _saved(source: _Source) -> Path:
    from .paths import config_dir

    return config_dir() / source.file


def _judge(text: str, where: str, warn: Warn) -> None:
    if _NEARLY_RAW.match(text):
        message = f"the key in {where} looks like a raw key but is taken as a passphrase"
        warn("key_format", message, "a raw key is x'<64 hex digits>', quotes included")
    elif len(text) < _SHORT:
        message = f"the passphrase in {where} is shorter than {_SHORT} characters"
        warn("short_key", message, "a raw key is stronger and opens faster; see: capy-store keygen --help")
    if text.endswith("\r"):
        warn("key_format", f"the key in {where} ends in a carriage return", "save the file with plain newlines")


def _ask(command: str, where: str) -> Key:
    """The key that a command prints. Its output is never shown, its own errors included.

    Raises:
        NoKey: it cannot be run, fails, takes longer than 30 s, or prints no usable key.
    """
    import shlex
    import subprocess

    advice = "run the command yourself to see what it says"
    try:
        words = shlex.split(command)
    except ValueError as ex:
        raise NoKey(f"{where} cannot be read: {ex}", "correct its quotes") from ex
    if not words:
        raise NoKey(f"{where} is blank", "name a command, or leave the setting out")
    try:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=_without_keys()
        )
    except OSError as ex:
        raise NoKey(f"{where} cannot be run: {words[0]}: {ex.strerror}", "correct the command") from ex
    assert process.stdout is not None
    with process.stdout as output:
        os.set_blocking(output.fileno(), False)
        try:
            # A key fits the pipe's buffer: wait for the command alone, not for what it left running on the pipe
            status = process.wait(_COMMAND_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise NoKey(f"{where} did not end within {_COMMAND_TIMEOUT_S} s", advice) from None
        finally:
            if process.returncode is None:
                process.kill()
                process.wait()
        data = output.read() or b""
    if status != 0:
        raise NoKey(f"{where} failed with exit status {status}", advice)
    return _decoded(data, f"the output of {where}")


def _decoded(data: bytes, what: str) -> Key:
    if len(data) > _MAX_BYTES:
        raise NoKey(f"{what} is larger than {_MAX_BYTES} bytes", "a key is one line")
    try:
        return Key(data.removesuffix(b"\n").decode("utf-8"))
    except UnicodeDecodeError:
        raise NoKey(f"{what} is not UTF-8", "write the key as text") from None
    except NoKey as ex:
        raise NoKey(f"{what} holds no usable key: {ex.message}", ex.hint) from None


def _without_keys() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not (name.startswith("CAPY_") and "KEY" in name)}
