"""The environment of the code we run: nothing that makes an interpreter load code, none of our keys.

The names are those that the runtimes' manuals list as loading code, options or libraries (bash, node, python, ruby,
perl, erlang, go, cargo, php, R, ld.so, dyld, git, openssl, java, .NET).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from capy_core.config import ExecutorConfig

_DROPPED_NAMES = """
    BASH_ENV ENV PROMPT_COMMAND PS4 SHELLOPTS BASHOPTS CDPATH INPUTRC BASH_XTRACEFD
    NODE_OPTIONS NODE_PATH
    PYTHONSTARTUP PYTHONHOME PYTHONPATH PYTHONWARNINGS PYTHONBREAKPOINT PYTHONINSPECT
    RUBYOPT RUBYLIB
    PERL5OPT PERL5LIB PERLLIB PERL5DB
    ERL_AFLAGS ERL_FLAGS ERL_ZFLAGS ELIXIR_ERL_OPTIONS ERL_LIBS
    GOFLAGS GOROOT GOTOOLCHAIN CGO_CFLAGS CGO_LDFLAGS
    RUSTC RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER CARGO_BUILD_RUSTC CARGO_BUILD_RUSTC_WRAPPER RUSTFLAGS RUSTDOC
    PHPRC PHP_INI_SCAN_DIR
    R_PROFILE R_PROFILE_USER R_HOME R_ENVIRON R_ENVIRON_USER
    LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES DYLD_LIBRARY_PATH DYLD_FRAMEWORK_PATH
    OPENSSL_CONF OPENSSL_ENGINES
    CC CXX AR
    GIT_TEMPLATE_DIR GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS GIT_EXEC_PATH
    GIT_SSH GIT_SSH_COMMAND GIT_ASKPASS GIT_EXTERNAL_DIFF GIT_PAGER
    JAVA_TOOL_OPTIONS
    CORECLR_ENABLE_PROFILING DOTNET_DiagnosticPorts DOTNET_BUNDLE_EXTRACT_BASE_DIR
    FILE_CONTENT FILE_CONTENT_PATH CAPY_PRELUDE
"""
_DROPPED = frozenset(_DROPPED_NAMES.split())
_DROPPED_PREFIXES = (
    "BASH_FUNC_",
    "GIT_CONFIG_KEY_",
    "GIT_CONFIG_VALUE_",
    "COMPlus_",
    "CORECLR_PROFILER",
    "DOTNET_PROFILER_PATH",
)
_OUR_KEYS = r"(?i)CAPY_.*KEY"  # CAPY_DB_KEY, CAPY_VAULT_KEY_FILE, ...

_BASE_NAMES = """
    PATH HOME LANG TZ TERM USER LOGNAME SHELL TMPDIR
    HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy
    SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS GIT_SSL_CAINFO
"""
_BASE_SET = frozenset(_BASE_NAMES.split())
DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"
_CERTIFICATES = ("/etc/ssl/cert.pem", "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")


def is_our_key(name: str) -> bool:
    """True for a variable that holds, or leads to, a key of ours."""
    return bool(re.match(_OUR_KEYS, name))


def is_dropped(name: str) -> bool:
    """True for a variable that never reaches the code, whatever the settings say."""
    return name in _DROPPED or name.startswith(_DROPPED_PREFIXES) or is_our_key(name)


def child_environment(
    config: ExecutorConfig, *, scratch: Path, cwd: Path, base: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The environment for a run.

    Args:
        config: `env` ("inherit" or "minimal") and `env_passthrough` (patterns of further names for "minimal").
        scratch: the run's private folder; TMPDIR points into it.
        cwd: the working folder, for PWD.
        base: the environment to start from, by default this process's own.
    """
    source = os.environ if base is None else base
    env = {name: value for name, value in source.items() if not is_dropped(name) and _passes(name, config)}
    env["PATH"] = env.get("PATH") or DEFAULT_PATH
    env["TMPDIR"] = str(scratch / "tmp")
    env["PWD"] = str(cwd)
    env["NO_COLOR"] = "1"
    env["PYTHONDONTWRITEBYTECODE"] = env["PYTHONUNBUFFERED"] = env["PYTHONUTF8"] = "1"
    _speak_utf8(env)
    if "SSL_CERT_FILE" not in env:
        found = next((path for path in _CERTIFICATES if os.path.exists(path)), None)
        if found:
            env["SSL_CERT_FILE"] = found
    return env


def scrub_own_keys() -> None:
    """Forget our keys in this process, also where /proc/PID/environ shows them to its children.

    For programs that need no key themselves. The kernel shows the memory that the environment was passed in, so
    removing a variable is not enough: its bytes are overwritten there.
    """
    import ctypes

    libc = ctypes.CDLL(None)
    libc.getenv.restype = ctypes.c_void_p
    for name in [name for name in os.environ if is_our_key(name)]:
        place = libc.getenv(os.fsencode(name))
        if place:
            ctypes.memset(place, ord("-"), len(os.fsencode(os.environ[name])))
        del os.environ[name]


def _passes(name: str, config: ExecutorConfig) -> bool:
    if config.env != "minimal" or name in _BASE_SET or name.startswith("LC_"):
        return True
    return any(fnmatchcase(name, pattern) for pattern in config.env_passthrough)


def _speak_utf8(env: dict[str, str]) -> None:
    """Keep the user's locale if it is UTF-8; else LANG decides, with the variables that would overrule it removed."""
    for name in ("LC_ALL", "LC_CTYPE"):
        if name in env and not _is_utf8(env[name]):
            del env[name]
    if not _is_utf8(env.get("LANG", "")):
        env["LANG"] = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"


def _is_utf8(locale: str) -> bool:
    return locale.lower().replace("-", "").endswith("utf8")
