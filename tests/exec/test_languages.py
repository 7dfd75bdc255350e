"""Each of the eleven languages, really run: output, exit code, working folder, environment, FILE_CONTENT."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from capy_exec.runtimes import LANGUAGES

from .conftest import Run

# Each prints the marker file of its working folder, two variables and an argument, complains, and exits with 7
PROGRAMS = {
    "javascript": """
        const show = (name) => process.env[name] || "-";
        console.log(require("fs").readFileSync("marker", "utf8"), show("CAPY_DB_KEY"), show("KEPT"), process.argv[2]);
        console.error("problem");
        process.exit(7);
    """,
    "typescript": """
        import { readFileSync } from "fs";
        const show = (name: string): string => process.env[name] || "-";
        console.log(readFileSync("marker", "utf8"), show("CAPY_DB_KEY"), show("KEPT"), process.argv[2]);
        console.error("problem");
        process.exit(7);
    """,
    "python": (
        "import os, sys\n"
        "print(open('marker').read(), os.environ.get('CAPY_DB_KEY', '-'), os.environ.get('KEPT', '-'), sys.argv[1])\n"
        "print('problem', file=sys.stderr)\n"
        "sys.exit(7)\n"
    ),
    "shell": """
        echo "$(cat marker) ${CAPY_DB_KEY:--} ${KEPT:--} $1"
        echo problem >&2
        exit 7
    """,
    "ruby": """
        puts [File.read("marker"), ENV["CAPY_DB_KEY"] || "-", ENV["KEPT"] || "-", ARGV[0]].join(" ")
        warn "problem"
        exit 7
    """,
    "go": """
        marker, _ := os.ReadFile("marker")
        key := os.Getenv("CAPY_DB_KEY")
        if key == "" {
            key = "-"
        }
        fmt.Println(string(marker), key, os.Getenv("KEPT"), os.Args[1])
        fmt.Fprintln(os.Stderr, "problem")
        os.Exit(7)
    """,
    "rust": """
        let show = |name: &str| std::env::var(name).unwrap_or("-".to_string());
        let marker = std::fs::read_to_string("marker").unwrap();
        println!("{} {} {} {}", marker, show("CAPY_DB_KEY"), show("KEPT"), std::env::args().nth(1).unwrap());
        eprintln!("problem");
        std::process::exit(7);
    """,
    "php": """
        $show = fn($name) => getenv($name) ?: "-";
        echo file_get_contents("marker"), " ", $show("CAPY_DB_KEY"), " ", $show("KEPT"), " ", $argv[1], "\\n";
        fwrite(STDERR, "problem\\n");
        exit(7);
    """,
    "perl": """
        use strict;
        use warnings;
        open(my $file, "<", "marker") or die;
        print join(" ", <$file>, $ENV{CAPY_DB_KEY} || "-", $ENV{KEPT} || "-", $ARGV[0]), "\\n";
        print STDERR "problem\\n";
        exit 7;
    """,
    "r": """
        marker <- readLines("marker", warn = FALSE)
        cat(marker, Sys.getenv("CAPY_DB_KEY", "-"), Sys.getenv("KEPT", "-"), commandArgs(TRUE)[1])
        cat("\\n")
        message("problem")
        quit(status = 7)
    """,
    "elixir": """
        show = fn name -> System.get_env(name) || "-" end
        IO.puts(Enum.join([File.read!("marker"), show.("CAPY_DB_KEY"), show.("KEPT"), hd(System.argv())], " "))
        IO.puts(:stderr, "problem")
        System.halt(7)
    """,
}

# Each writes the file's path and the whole content, nothing else
READERS = {
    "javascript": "process.stdout.write(FILE_CONTENT_PATH + '\\n' + FILE_CONTENT)",
    "typescript": "process.stdout.write(`${FILE_CONTENT_PATH}\\n${FILE_CONTENT}`)",
    "python": "import sys; sys.stdout.write(FILE_CONTENT_PATH + '\\n' + FILE_CONTENT)",
    "shell": """printf '%s\\n%s' "$FILE_CONTENT_PATH" "$FILE_CONTENT" """,
    "ruby": 'print FILE_CONTENT_PATH, "\\n", FILE_CONTENT',
    "go": 'fmt.Print(FILE_CONTENT_PATH + "\\n" + FILE_CONTENT)',
    "rust": 'print!("{}\\n{}", FILE_CONTENT_PATH, FILE_CONTENT);',
    "php": 'echo $FILE_CONTENT_PATH, "\\n", $FILE_CONTENT;',
    "perl": 'use strict; use warnings; print $FILE_CONTENT_PATH, "\\n", $FILE_CONTENT;',
    "r": 'cat(FILE_CONTENT_PATH, "\\n", FILE_CONTENT, sep = "")',
    "elixir": 'IO.write(file_content_path <> "\\n" <> file_content)',
}
AS_BYTES = {"shell", "go", "php", "perl"}
WITHOUT_NUL = {"shell", "r"}


def test_every_language_has_its_programs() -> None:
    assert set(PROGRAMS) == set(READERS) == set(LANGUAGES)


@pytest.mark.parametrize("language", PROGRAMS)
def test_runs_in_the_project_with_a_clean_environment_and_keeps_the_exit_code(
    language: str, project: Path, execute: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "marker").write_text("here", encoding="utf-8")
    monkeypatch.setenv("CAPY_DB_KEY", "x'" + "00" * 32 + "'")
    monkeypatch.setenv("KEPT", "kept")
    result = execute(language, PROGRAMS[language], args=("two words",))
    assert result.stdout.head == "here - kept two words\n"
    assert result.stderr.head == "problem\n"
    assert (result.outcome, result.exit_code, result.reason) == ("error", 7, "exit code 7")
    assert list(project.iterdir()) == [project / "marker"]


@pytest.mark.parametrize("language", READERS)
def test_file_content_takes_any_bytes_and_any_path(language: str, project: Path, execute: Run) -> None:
    path = project / """it's "$HOME" #{1} `x` \\ é.bin"""
    data = bytes(range(256)) + "größe 世界 😀\r\n\n\n".encode()
    path.write_bytes(data)
    result = execute(language, READERS[language], file=path)
    expected = data if language in AS_BYTES else data.decode("utf-8", "replace").encode()
    if language in WITHOUT_NUL:
        expected = expected.replace(b"\0", b"")
    shown = result.stdout.raw if result.stdout.raw is not None else result.stdout.head.encode()
    assert shown == str(path).encode() + b"\n" + expected, result.stderr.head
    assert (result.outcome, result.stderr.head) == ("ok", "")


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("shell", "echo ${#FILE_CONTENT}; /bin/true"),
        ("python", "print(len(FILE_CONTENT))"),
        ("javascript", "console.log(FILE_CONTENT.length)"),
        ("perl", "print length($FILE_CONTENT), qq(\\n)"),
    ],
)
def test_file_content_of_50_megabytes(language: str, code: str, project: Path, execute: Run) -> None:
    path = project / "big"
    path.write_bytes(b"0123456789abcde\n" * (50_000_000 // 16))
    assert execute(language, code, file=path).stdout.head == "50000000\n"


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("go", 'package main\n\nimport "os"\n\nfunc main() { os.Stdout.WriteString("whole\\n") }\n'),
        ("go", 'import "html/template"\nfmt.Println("whole", template.HTMLEscapeString(""))'),
        ("go", 'type T struct{ n int }\n\nfunc (t T) Say() { fmt.Println("whole") }\n\nT{1}.Say()'),
        ("rust", 'use std::io::Write;\nfn main() { std::io::stdout().write_all(b"whole").unwrap() }'),
        ("php", "<?php declare(strict_types=1);\necho \"whole\\n\";"),
        ("python", "from __future__ import annotations\nprint('whole')"),
        ("javascript", 'import fs from "fs";\nconst x = await Promise.resolve("whole");\nconsole.log(x);'),
        ("typescript", 'import fs from "fs";\nconst x = await Promise.resolve<string>("whole");\nconsole.log(x);'),
    ],
)  # fmt: skip
def test_whole_programs_keep_their_openings(language: str, code: str, project: Path, execute: Run) -> None:
    file = project / "data"
    file.write_text("x", encoding="utf-8")
    result = execute(language, code, file=file)
    assert result.stdout.head.strip() == "whole", result.stderr.head


@pytest.mark.parametrize(
    ("language", "code", "place"),
    [
        ("python", "x = 1\nraise ValueError('boom')", 'script.py", line 2'),
        ("go", "x := 1\n\nboom(x)", "main.go:3"),
        ("rust", "let a = 1;\nlet b = boom;", "main.rs:2"),
        ("php", "$a = 1;\nthrow new Exception('boom');", "script.php:2"),
        ("ruby", "a = 1\nraise 'boom'", "script.rb:2"),
        ("perl", "my $a = 1;\ndie 'boom'", "line 2"),
        ("javascript", "let a = 1;\nthrow Error('boom')", "script.js:2"),
        ("shell", "a=1\nboom", "line 2"),
    ],
)
def test_messages_name_the_line_of_the_code(language: str, code: str, place: str, execute: Run) -> None:
    result = execute(language, code)
    text = result.stdout.head + result.stderr.head
    assert place in text and "boom" in text
    assert result.outcome == "error"


def test_python_traceback_shows_only_the_script(execute: Run) -> None:
    result = execute("python", "def f():\n    1 / 0\nf()")
    assert "python_main" not in result.stderr.head
    assert result.stderr.head.count("  File ") == 2


def test_python_imports_the_projects_modules_but_none_instead_of_the_standard_library(
    project: Path, execute: Run
) -> None:
    (project / "mine.py").write_text("value = 42", encoding="utf-8")
    (project / "json.py").write_text("raise SystemExit('shadowed')", encoding="utf-8")
    result = execute("python", "import json, mine, sys; print(mine.value, __name__, len(sys.argv))")
    assert result.stdout.head == "42 __main__ 1\n"


@pytest.mark.parametrize("language", ["javascript", "typescript"])
def test_node_finds_the_projects_libraries(language: str, project: Path, execute: Run) -> None:
    library = project / "node_modules" / "mine"
    library.mkdir(parents=True)
    (library / "index.js").write_text("module.exports = 42", encoding="utf-8")
    assert execute(language, 'const mine = require("mine"); console.log(mine)').stdout.head == "42\n"
    assert (library / "index.js").exists()


def test_r_does_not_load_the_projects_profile(project: Path, execute: Run) -> None:
    (project / ".Rprofile").write_text('cat("loaded")', encoding="utf-8")
    assert execute("r", 'cat("done")').stdout.head == "done"


@pytest.mark.parametrize(("language", "compiler"), [("go", "go"), ("rust", "rustc")])
def test_code_that_does_not_compile(language: str, compiler: str, execute: Run) -> None:
    result = execute(language, "this is no code")
    assert (result.outcome, result.reason) == ("error", f"{compiler} could not compile it")
    assert result.exit_code not in (0, None)
    assert result.stderr_bytes > 0


@pytest.mark.parametrize(
    "code",
    [
        "for i in 1 2; do echo $i; done",
        "if true; then echo a; fi",
        "(echo a; echo b) | sed -n 1p",
        "while read l; do echo $l; done <<E\none\ntwo\nE\n",
        "# a comment first\necho x",
        "#!/bin/sh\necho x",
        "echo x\r\nexit 3\r\n",
        "set -e; false; echo no",
        "\n\n  echo 'it'\"'\"'s' \\\n  continued",
        "exit 300",
        "echo $0 | grep -c script; set -- a b; echo $#",
        "x",
        "echo 'open",
        "",
    ],
)
@pytest.mark.parametrize("with_file", [False, True])
def test_shell_code_means_what_it_means_to_the_plain_shell(
    code: str, with_file: bool, project: Path, execute: Run
) -> None:
    script = project / "script.sh"
    script.write_bytes(code.encode())
    plain = subprocess.run(["bash", script], capture_output=True, stdin=subprocess.DEVNULL, cwd=project)
    result = execute("shell", code, file=script if with_file else None)
    assert result.stdout.head == plain.stdout.decode()
    assert message(result.stderr.head) == message(plain.stderr.decode())
    assert result.exit_code == plain.returncode


def message(text: str) -> str:
    """What the shell says, without the folder of the script."""
    return text.partition("script.sh: ")[2] or text


@pytest.mark.parametrize("language", READERS)
def test_a_file_whose_name_is_not_utf8_is_read(language: str, project: Path, execute: Run) -> None:
    file = project.parent / os.fsdecode(b"na\xffme")
    file.write_text("inside", encoding="utf-8")
    result = execute(language, READERS[language], file=file)
    assert (result.outcome, result.stdout.head.split("\n")[1:]) == ("ok", ["inside"])
