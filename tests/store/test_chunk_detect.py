from __future__ import annotations

import pytest

from capy_store.chunk.detect import detect

PYTHON = """# tool
# does things
import os


def main():
    for name in os.listdir("."):
        print(name)
"""
SHELL = """#!/bin/sh
# build everything
# then test
set -e
for f in *.c; do
  cc -c $f
done
# link
cc -o app *.o
"""
YAML = """# the service
name: web
ports:
  - 80
  - 443
env:
  MODE: production
  # secret elsewhere
  LEVEL: info
"""
DIFF = """diff --git a/x b/x
index 83db48f..bf269f4 100644
--- a/x
+++ b/x
@@ -1,3 +1,3 @@
 # Title
-[a](b)
+[c](d)
"""
PYTEST = """=== test session starts ===
collected 3 items

tests/test_a.py ..F   [100%]

FAILED tests/test_a.py::test_x - assert 1 == 2
"""
PODS = """NAME     READY   STATUS    AGE
web-1    1/1     Running   3d
web-2    0/1     Pending   1m
web-3    1/1     Running   3d
"""
PROSE = """The store keeps text that a tool printed. It can be found again by any of its words, and nothing is lost.

A second paragraph says more about the same thing.
"""
MARKDOWN = "# Guide\n\nSome text with a [link](https://example.org).\n\n```sh\nmake\n```\n"
LOG = "".join(f"2026-03-01 12:00:{n:02d} INFO [worker] request {n} done in {n * 7} ms\n" for n in range(30))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[1, 2, 3]", "json"),
        ('{"a": {"b": [1]}}', "json"),
        ('\ufeff {"a": 1}', "json"),
        ('{"a": 1}\n{"a": 2}\n', "json"),
        ('{"a": 1, "b": [1, 2, {"c": "cut off he', "json"),
        ("[]", "json"),
        ("[INFO] starting\n[INFO] done\n", "output"),
        ("[1] 12345 done\n", "text"),
        ("{ not json at all }\n", "code"),
        ('[[package]]\nname = "x"\nversion = "1"\n', "code"),
        (MARKDOWN, "markdown"),
        ("# A\n## B\n### C\n#### D\ntext only here\n", "markdown"),
        ("Title\n=====\n\nSome *text* and a [link](a.md).\n", "markdown"),
        ("# Title\n\nJust a paragraph of words under one heading.\n", "markdown"),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n\nand a **bold** word, [and](x.md)\n", "markdown"),
        (PYTHON, "code"),
        (SHELL, "code"),
        (YAML, "code"),
        ("#include <stdio.h>\n# define X 1\nint main(void) {\n  return X;\n}\n", "code"),
        (DIFF, "output"),
        (LOG, "output"),
        (PYTEST, "output"),
        ("\x1b[32mok\x1b[0m all of this is green and nothing else is here\n", "output"),
        (PODS, "output"),
        (PROSE, "text"),
        ("One sentence only, without any markup.", "text"),
        ("吾輩は猫である。名前はまだ無い。\nどこで生れたか頓と見当がつかぬ。\n", "text"),
        ("", "text"),
    ],
)
def test_the_shape_of_a_text_tells_its_type(text: str, kind: str) -> None:
    assert detect(text) == kind


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("notes.md", "markdown"),
        ("a/README.MDX", "markdown"),
        ("run.log", "output"),
        ("data.csv", "output"),
        ("x.py", "code"),
        ("Makefile", "code"),
        ("api.yaml", "code"),
    ],
)
def test_a_suffix_decides(path: str, kind: str) -> None:
    assert detect("word\n" * 5, path) == kind


def test_a_suffix_does_not_make_json() -> None:
    assert detect("not json\n", "data.json") != "json"
    assert detect('{"a": 1}', "data.txt") == "json"
    assert detect('{"a": 1}', "notes.md") == "markdown"


def test_braces_alone_are_no_json() -> None:
    assert detect("{{{") != "json"


def test_comments_with_a_shebang_are_never_markdown() -> None:
    text = "#!/usr/bin/env bash\n# One\n\n## Two\n\n[ -f x ] && echo `date`\n"
    assert detect(text) != "markdown"


def test_markup_inside_fences_does_not_count() -> None:
    assert detect("```\n# A\n## B\n[x](http://y)\n```\n") != "markdown"


def test_long_lines_are_looked_at_in_part() -> None:
    assert detect("x" * 5_000_000) in ("text", "output")


@pytest.mark.parametrize(
    "line", ["[00042] Compiling module", "[42] [ERROR] disk full", "[ ] a task", '["a"] is set', "{} ok"]
)
def test_lines_that_begin_with_something_in_brackets_are_no_json(line: str) -> None:
    assert detect(f"{line}\n" * 2000) != "json"


@pytest.mark.parametrize("line", ["[1]", "[[1, 2],", '{"a": 1}', "[]"])
def test_lines_of_json_are_json_however_many(line: str) -> None:
    assert detect(f"{line}\n" * 4000) == "json"
