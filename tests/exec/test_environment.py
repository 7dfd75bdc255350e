"""What the code finds in its environment, and what never reaches it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from capy_core.config import ExecutorConfig
from capy_exec.environment import child_environment, is_dropped

from .conftest import Run, Tool

UTF8 = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"


def environment(base: dict[str, str], **settings: object) -> dict[str, str]:
    """The environment made from `base`."""
    config = ExecutorConfig(**settings)  # type: ignore[arg-type]
    return child_environment(config, scratch=Path("/scratch"), cwd=Path("/work"), base=base)


@pytest.mark.parametrize(
    "name",
    [
        "BASH_ENV", "ENV", "BASH_FUNC_ls%%", "PROMPT_COMMAND", "NODE_OPTIONS", "PYTHONPATH", "PYTHONSTARTUP", "RUBYOPT",
        "PERL5OPT", "ERL_AFLAGS", "GOFLAGS", "GOROOT", "RUSTC_WRAPPER", "RUSTFLAGS", "PHPRC", "R_PROFILE_USER",
        "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "OPENSSL_CONF", "GIT_SSH_COMMAND",
        "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_12", "GIT_EXTERNAL_DIFF", "JAVA_TOOL_OPTIONS",
        "CORECLR_PROFILER_PATH_64", "COMPlus_x", "CAPY_DB_KEY", "CAPY_VAULT_KEY_FILE", "CAPY_VAULT_MERGE_KEY",
        "capy_db_key",
    ],
)  # fmt: skip
def test_what_loads_code_and_our_keys_never_pass(name: str) -> None:
    assert is_dropped(name)
    assert name not in environment({name: "x"})
    assert name not in environment({name: "x"}, env="minimal", env_passthrough=("*",))


def test_inherit_passes_the_rest() -> None:
    env = environment({"X_API_KEY": "canary", "HTTPS_PROXY": "http://p.test", "CAPY_PROJECT": "x"})
    assert (env["X_API_KEY"], env["HTTPS_PROXY"], env["CAPY_PROJECT"]) == ("canary", "http://p.test", "x")


def test_minimal_passes_a_base_set_and_what_the_patterns_name() -> None:
    base = {
        "X_API_KEY": "canary", "MY_ONE": "1", "PATH": "/bin", "HOME": "/h", "LC_TIME": "de_DE.UTF-8", "TZ": "UTC",
        "HTTPS_PROXY": "p", "SSL_CERT_FILE": "c", "LANG": "de_DE.UTF-8", "my_one": "2",
    }  # fmt: skip
    env = environment(base, env="minimal", env_passthrough=("MY_*",))
    assert "X_API_KEY" not in env and "my_one" not in env
    assert all(env[name] == base[name] for name in base if name not in ("X_API_KEY", "my_one"))


def test_what_is_set() -> None:
    env = environment({"TMPDIR": "/elsewhere", "PWD": "/elsewhere"})
    assert env["TMPDIR"] == "/scratch/tmp"
    assert env["PWD"] == "/work"
    assert env["PATH"] == "/usr/local/bin:/usr/bin:/bin"
    assert env["NO_COLOR"] == env["PYTHONUTF8"] == env["PYTHONUNBUFFERED"] == env["PYTHONDONTWRITEBYTECODE"] == "1"
    found = [path for path in ("/etc/ssl/cert.pem", "/etc/ssl/certs/ca-certificates.crt") if Path(path).exists()]
    assert env.get("SSL_CERT_FILE") == (found[0] if found else None)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"LANG": UTF8}),
        ({"LANG": "de_DE.UTF-8"}, {"LANG": "de_DE.UTF-8"}),
        ({"LANG": "C"}, {"LANG": UTF8}),
        ({"LANG": "C", "LC_ALL": "POSIX"}, {"LANG": UTF8}),
        ({"LC_ALL": "en_US.utf8"}, {"LANG": UTF8, "LC_ALL": "en_US.utf8"}),
        ({"LANG": "C.UTF-8", "LC_CTYPE": "C", "LC_TIME": "C"}, {"LANG": "C.UTF-8", "LC_TIME": "C"}),
    ],
)
def test_the_locale_is_utf8(given: dict[str, str], expected: dict[str, str]) -> None:
    env = environment(given)
    assert {name: env[name] for name in env if name.startswith(("LANG", "LC_"))} == expected


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("shell", "ls"),
        ("python", "print('real')"),
        ("javascript", "console.log('real')"),
        ("ruby", "puts 'real'"),
        ("perl", "print qq(real\\n)"),
    ],
)
def test_no_injection_takes_effect(
    language: str, code: str, project: Path, tmp_path: Path, execute: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "real").touch()
    evil = tmp_path / "evil"
    evil.write_text("echo injected\nputs 'injected'\n", encoding="utf-8")
    script = tmp_path / "evil.js"
    script.write_text("console.log('injected')", encoding="utf-8")
    for name, value in {
        "BASH_ENV": str(evil), "ENV": str(evil), "BASH_FUNC_ls%%": "() { echo injected\n}",
        "NODE_OPTIONS": f"--require {script}", "PYTHONSTARTUP": str(evil), "PYTHONINSPECT": "1",
        "RUBYOPT": f"-r{evil}", "PERL5OPT": "-Mnothing_like_this", "LD_PRELOAD": str(evil),
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    result = execute(language, code)
    assert (result.stdout.head, result.stderr.head, result.outcome) == ("real\n", "", "ok")


def test_the_code_cannot_read_our_keys_from_the_processes_above_it(project: Path, tool: Tool, mark: str) -> None:
    """All of them up to capy-exec itself; what started capy-exec is not ours."""
    code = f"""
        pid=$PPID
        while [ "$pid" -gt 1 ]; do
            case $(tr '\\0' ' ' </proc/$pid/cmdline) in *capy-exec*) ;; *) break;; esac
            echo "seen $(tr '\\0' '\\n' </proc/$pid/environ | grep -c MARKER=x)"
            echo "keys $(tr '\\0' '\\n' </proc/$pid/environ | grep -c {mark})"
            pid=$(sed 's/.*) . //' /proc/$pid/stat | cut -d' ' -f1)
        done
    """
    done = tool("capy-exec", "shell", "-c", code, "--format", "text", env={"CAPY_DB_KEY": mark, "MARKER": "x"})
    lines = done.stdout.decode().split("\n")
    assert lines.count("seen 1") >= 2, done.stderr
    assert lines.count("keys 0") == lines.count("seen 1") and lines.count("keys 1") == 0


def test_home_is_kept(execute: Run) -> None:
    assert execute("shell", "echo $HOME").stdout.head == os.environ["HOME"] + "\n"
