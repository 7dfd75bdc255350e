"""Calls that start programs, run code and open files, found in ten languages."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capy_exec.policy.embedded import read
from capy_exec.runtimes import LANGUAGES

OTHERS = sorted(set(LANGUAGES) - {"shell"})


@pytest.mark.parametrize(
    ("language", "code", "lines"),
    [
        ("python", "getattr(os, 'system')('rm x')\nimport os", ["rm x"]),
        ("python", "f = os.system\nf('rm x')\nimport os", ["rm x"]),
        ("python", "from subprocess import *\nrun('rm x', shell=True)", ["rm x"]),
        ("python", "import subprocess\nc = ['rm', 'a b']\nsubprocess.run(c)", ["rm 'a b'"]),
        ("python", "import subprocess\nsubprocess.run('git push'.split())", ["git push"]),
        ("python", "import shlex, subprocess\nsubprocess.run(shlex.split('git push'))", ["git push"]),
        ("python", "import subprocess\nsubprocess.run(['git', *args])", ["git $argument"]),
        ("python", "import subprocess\nsubprocess.run(['git'] + args)", ["git $argument"]),
        ("python", "import subprocess\nsubprocess.run(['x', 'y'], executable='/bin/rm')", ["/bin/rm y", "x y"]),
        ("python", "import os\nos.system(f'ls')\nos.system(b'rm \\x78')", ["ls", "rm x"]),
        ("python", "import os\nos.spawnl(os.P_WAIT, '/bin/rm', 'rm', 'x')", ["/bin/rm x"]),
        ("python", "import os\nc = 'ls'\ndef f(c):\n  os.system(c)", ["$argument"]),
        ("python", "import os\nc = 'ls'\nc += ' x'\nos.system(c)", ["$argument"]),
        ("python", "import os\nfor c in ['rm']:\n  os.system(c)", ["$argument"]),
        ("python", "import platform\nplatform.system()\nsession.run('x')", []),
        ("javascript", "import {exec} from 'child_process'; const run = util.promisify(exec); run('rm x')", ["rm x"]),
        ("javascript", "(await import('child_process')).exec('rm x')", ["rm x"]),
        ("javascript", "const cp = require('child_process'); cp['exec']('rm x'); cp?.exec('rm y')", ["rm x", "rm y"]),
        ("javascript", "$`rm x`; Bun.$`rm y`", ["rm x", "rm y"]),
        ("javascript", "const c = 'rm x'; require('child_process').exec(c, f)", ["rm x"]),
        ("javascript", "/x/.exec(line); db.exec(sql); $('div')", []),
        ("typescript", "import cp from 'node:child_process'; cp.spawn('rm', ['a'] as string[])", ['rm "$argument"']),
        ("ruby", "system({'A' => '1'}, 'rm', 'x', chdir: '/')", ["rm x"]),
        ("ruby", "Kernel.send(:system, 'rm x')", ["rm x"]),
        ("ruby", "open('|rm x')\nsystem('rm', *list)", ["rm x", "rm $argument"]),
        ("ruby", "connection.exec('SELECT 1')", []),
        ("go", 'out, _ := exec.Command("rm", "x").Output()\nfmt.Println(out)', ["rm x"]),
        ("go", 'syscall.Exec("/bin/sh", []string{"sh", "-c", "rm"}, nil)', ["/bin/sh -c rm"]),
        ("go", 'exec.Command("git", args...)', ["git $argument"]),
        ("rust", 'let mut c = Command::new("git"); c.arg("push").status();', ["git $argument"]),
        ("rust", 'use std::process::Command as C; C::new("a").args(&["b"]).args(vec!["c"]).spawn();', ["a b c"]),
        ("rust", 'println!("{:?}", Command::new("rm").arg("x").output());', ["rm x"]),
        ("php", "$f = 'system'; $f('rm x');", ["rm x"]),
        ("php", "call_user_func('exec', 'rm x'); exec(command: 'rm y');", ["rm x", "rm y"]),
        ("php", "$pdo->exec('DELETE'); Foo::exec('x');", []),
        ("perl", "open F, 'rm x |'; system { 'a' } 'b'; system 'c', $d;", ["rm x ", '"$argument" b', 'c "$argument"']),
        ("perl", "IPC::Open3::open3($a, $b, $c, 'rm', 'x'); $h->system('k'); eval { 1 }", ["rm x"]),
        ("r", "f(system(paste0('rm ', 'x'), intern = TRUE), 2)", ["rm x"]),
        ("r", "processx::run('rm', c('-rf', v))", ['rm -rf "$argument"']),
        ("r", "r'(system(\"no\"))'; x <- 'system(\"no\")'", []),
        ("elixir", '"rm x" |> System.shell()', ["rm x"]),
        ("elixir", 'alias System, as: S\nS.cmd("rm", ~w(-rf x), stderr_to_stdout: true)', ["rm -rf x"]),
        ("elixir", 'apply(System, :cmd, ["rm", ["x"]])', ["rm x"]),
        ("elixir", 'Port.open({:spawn, "rm x"}, [])', ["rm x"]),
    ],
)
def test_the_commands_that_code_starts(language: str, code: str, lines: list[str]) -> None:
    found = read(code, language)
    assert (found.shell, found.unreadable) == (lines, [])


@pytest.mark.parametrize(
    ("language", "code", "word"),
    [
        ("python", "import os\ngetattr(os, name)('rm x')", "getattr"),
        ("python", "import os\nmap(os.system, ['rm'])", "os.system is used as a value"),
        ("python", "from os import system\nmap(system, ['rm'])", "os.system is used as a value"),
        ("python", "import os\nvars(os)['sys' + 'tem']('rm')", "only running can tell"),
        ("python", "exec(x)", "line 1: exec"),
        ("python", "import os\nos.system(f'rm {x}')", "line 2: os.system"),
        ("python", "import os\nos.system(", "not valid python"),
        ("javascript", "require('child_process')['ex' + 'ec']('rm')", "only running can tell"),
        ("javascript", "eval(x)", "eval"),
        ("ruby", "`rm #{x}`", "put together"),
        ("perl", "open(F, $name);", "may be a command"),
    ],
)
def test_what_cannot_be_read_is_told(language: str, code: str, word: str) -> None:
    assert word in "; ".join(read(code, language).unreadable)


@pytest.mark.parametrize(
    ("language", "code", "files"),
    [
        ("python", "open('.env'); open('b', 'w'); open('c', mode='a')",
         [("read", ".env"), ("write", "b"), ("write", "c")]),
        ("python", "from pathlib import Path\nPath('a').read_text(); Path('b').write_text('')",
         [("read", "a"), ("write", "b")]),
        ("python", "import shutil\nshutil.copy('a', 'b')", [("read", "a"), ("write", "b")]),
        ("python", "webbrowser.open(url); open(name)", []),
        ("javascript", "const fs = require('fs'); fs.readFileSync('.env'); fs.writeFileSync('b', '')",
         [("read", ".env"), ("write", "b")]),
        ("ruby", "File.read('.env'); File.open('b', 'w')", [("read", ".env"), ("write", "b")]),
        ("go", 'os.ReadFile(".env")', [("read", ".env")]),
        ("rust", 'std::fs::read_to_string(".env");', [("read", ".env")]),
        ("php", "include '.env'; file_put_contents('b', '');", [("read", ".env"), ("write", "b")]),
        ("perl", "open(my $f, '<', '.env'); open(F, '>b');", [("read", ".env"), ("write", "b")]),
        ("r", "readLines('.env')", [("read", ".env")]),
        ("elixir", 'File.read!(".env")', [("read", ".env")]),
    ],
)  # fmt: skip
def test_the_files_that_code_opens(language: str, code: str, files: list[tuple[str, str]]) -> None:
    assert read(code, language).files == files


def test_code_from_a_literal_is_handed_out() -> None:
    assert read("exec(\"import os; os.system('x')\")", "python").code == ["import os; os.system('x')"]


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("python", "import os\n" + "a+" * 5000 + "os.system('x')"),
        ("python", "import os\nos.system(" + "'a'+" * 5000 + "'x')"),
        ("python", "f(open('a'))\n" * 40_000),
        ("javascript", "const x=()=>{" * 3000 + "exec()"),
        ("javascript", "a" + ".b().exec()" * 5000),
        ("rust", "println!(" * 500 + 'system("x")' + ")" * 500),
        ("r", 'system(r"(' * 50_000),
        ("r", "system(" * 5000),
        ("php", "system(" * 5000),
    ],
)
def test_hostile_code_comes_to_an_end(language: str, code: str) -> None:
    read(code, language)


@given(st.sampled_from(OTHERS), st.text("system(\"'`$xeval)\n[],.:;{}#=+|", max_size=60))
@settings(max_examples=200, deadline=None)
def test_no_code_makes_it_fail(language: str, code: str) -> None:
    read(code, language)


def test_threads_share_a_grammar_that_they_load_at_once() -> None:
    code = (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from capy_exec.policy.embedded import read\n"
        "with ThreadPoolExecutor(8) as pool:\n"
        "    found = list(pool.map(lambda _: read(\"import os; os.system('x')\", 'python').shell, range(32)))\n"
        "assert found == [['x']] * 32, found\n"
    )
    for _ in range(5):
        subprocess.run([sys.executable, "-c", code], check=True)
