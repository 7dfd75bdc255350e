"""Code as it is given -> files as a runtime or compiler wants them. Line numbers in messages stay those of the code."""

from __future__ import annotations

import re

from .runtimes import PRELUDES, Language

_GO_STANDARD = """
    bufio bytes context errors flag fmt io log math os reflect regexp runtime slices maps sort strconv strings sync time
    unicode cmp archive/tar archive/zip compress/gzip container/heap container/list crypto/md5 crypto/sha1
    crypto/sha256 crypto/sha512 database/sql encoding/base64 encoding/binary encoding/csv encoding/hex encoding/json
    encoding/xml hash/fnv io/fs io/ioutil log/slog math/big math/bits math/cmplx math/rand net net/http
    net/netip net/url os/exec os/signal os/user path path/filepath runtime/debug sync/atomic testing text/tabwriter
    text/template unicode/utf16 unicode/utf8
"""
# By the name that code calls them by; of two with the same name the one that short code means
_GO_PACKAGES = {path.rpartition("/")[2]: path for path in _GO_STANDARD.split()}

# Patterns as text: compiled when a language needs them, not at every start
_GO_QUOTED = r"""//[^\n]*|/\*(?s:.*?)\*/|"(?:\\.|[^"\\\n])*"|`[^`]*`|'(?:\\.|[^'\\\n])*'"""
_GO_DECLARATION = r"(?m)^(?:import\b|type\s|const\b|func\s+(?:\w|\(\s*\w+\s+\*?\w+(?:\[[^\n]*\])?\s*\)\s*\w))"
_RUST_QUOTED = r"""//[^\n]*|/\*(?s:.*?)\*/|\bb?r(#*)"(?s:.*?)"\1|"(?s:\\.|[^"\\])*"|'(?:\\[^\n']{1,10}|[^'\\\n])'"""
_AWAIT = r"(?m)^(?:(?:export\s+)?(?:const|let|var)\b[^\n]*=\s*await\b|for\s+await\b|await\b)"


def files_for(language: Language, code: str, *, with_file: bool) -> dict[str, str]:
    """The files to write for a piece of code: name -> content.

    Args:
        with_file: FILE_CONTENT and FILE_CONTENT_PATH are to be there.
    """
    code = code.removeprefix("\ufeff")
    if language.name == "go":
        code = _go_program(code)
    elif language.name == "rust":
        code = _rust_program(code)
    elif language.name == "php":
        code = _php_script(code)
    if with_file:
        code = language.file_prefix + code
        if language.file_suffix:
            code += "\n" + _prelude(language.file_suffix)
        if language.file_beside:
            return {language.script: code, language.file_beside: _prelude(language.file_beside)}
    if language.name == "typescript" and re.search(_AWAIT, code):
        return {"script.mts": code}  # tsx takes .ts for a CommonJS module, which cannot wait
    return {language.script: code}


def _prelude(name: str) -> str:
    return (PRELUDES / name).read_text(encoding="utf-8")


def _php_script(code: str) -> str:
    """An open tag in front, unless the code is a template or brings its own."""
    text = re.sub(r"\A#![^\n]*\n", "", code).lstrip()
    return code if text.startswith("<") else f"<?php {code}"


def _rust_program(code: str) -> str:
    if re.search(r"^\s*(?:pub\s+)?(?:async\s+)?fn\s+main\s*[(<]", _blank(_RUST_QUOTED, code), re.MULTILINE):
        return code
    return f"fn main() {{ {code}\n}}\n"


def _go_program(code: str) -> str:
    """A whole program as it is; else a main package around the code, importing what it uses of the standard library."""
    blank = _blank(_GO_QUOTED, code)
    if re.search(r"^\s*package\s+\w", blank, re.MULTILINE):
        return code
    top, body = _go_parts(code, blank)
    own = set(re.findall(r'"([^"\n]+)"', "".join(text for _, text in top if text.startswith("import"))))
    used = set(re.findall(r"(?<![\w.\])])([a-z]\w*)\.[A-Z]", blank))
    declared = set(re.findall(r"\b([a-z]\w*)\s*(?:,\s*\w+\s*)*:=|\bvar\s+([a-z]\w*)", blank))
    named = {name for pair in declared for name in pair}
    imports = sorted({_GO_PACKAGES[name] for name in used - named if name in _GO_PACKAGES} - own)
    # a user's import of another package by the same name wins: "html/template" for template
    imports = [path for path in imports if path.rpartition("/")[2] not in {mine.rpartition("/")[2] for mine in own}]
    head = "package main\n" + "".join(f'import "{path}"\n' for path in imports)
    first = [part for part in top if part[1].startswith("import")]
    parts = [head, *_go_lines(first), *_go_lines([part for part in top if part not in first])]
    if not re.search(r"^func\s+main\s*\(", blank, re.MULTILINE):
        parts += ["func main() {\n", *_go_lines(body), "}\n"]
    else:
        parts += _go_lines(body)
    return "".join(parts)


def _go_parts(code: str, blank: str) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """Split code into what belongs on the top level and what into main: lists of (line number, text)."""
    top, body = [], []
    at = 0
    for match in re.finditer(_GO_DECLARATION, blank):
        if match.start() < at or _depth(blank[at : match.start()]):
            continue  # inside of what was taken, or of a block of the body
        end = _go_end(blank, match.start())
        body.append((at, code[at : match.start()]))
        top.append((match.start(), code[match.start() : end]))
        at = end
    body.append((at, code[at:]))
    return _numbered(code, top), _numbered(code, body)


def _numbered(code: str, parts: list[tuple[int, str]]) -> list[tuple[int, str]]:
    return [(code.count("\n", 0, start) + 1, text) for start, text in parts if text.strip()]


def _go_end(blank: str, start: int) -> int:
    """The end of the line on which all brackets that open after `start` are closed again."""
    depth = 0
    for match in re.compile(r"[{}()\[\]\n]").finditer(blank, start):
        if match[0] == "\n":
            if depth == 0:
                return match.end()
        else:
            depth += 1 if match[0] in "{([" else -1
    return len(blank)


def _depth(text: str) -> int:
    return sum(text.count(char) for char in "{([") - sum(text.count(char) for char in "})]")


def _go_lines(parts: list[tuple[int, str]]) -> list[str]:
    return [f"//line main.go:{line}\n{text}" + ("" if text.endswith("\n") else "\n") for line, text in parts]


def _blank(quoted: str, code: str) -> str:
    """The code with strings and comments made blank: same length, same lines."""
    return re.sub(quoted, lambda match: re.sub(r"[^\n]", " ", match[0]), code)
