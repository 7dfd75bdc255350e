"""What kind of text is this? A file's suffix decides where it can; else the shapes of the first lines do.

A type is chosen for what it does to an answer: `output` and `json` are answered in small windows of lines, the others
in whole chunks. So the costly mistake is to take a log for prose, or a script with comments for Markdown.
"""

from __future__ import annotations

import re
from pathlib import PurePath

SAMPLE = 1 << 13
_LINES = 80
_COLUMNS = 160

_SUFFIXES = {
    "markdown": "md markdown mdown mkd mdx mdc qmd rmd",
    "json": "json jsonl ndjson geojson json5 jsonc ipynb webmanifest har",
    "output": "log out err csv tsv diff patch tap trace",
    "code": """
        py pyi js jsx mjs cjs ts tsx mts cts java kt kts scala groovy go rs c h cc cpp cxx hpp hh cs fs vb rb php pl pm
        lua r jl ex exs erl hs ml mli clj swift m mm dart zig nim sh bash zsh fish ps1 bat cmd sql proto thrift graphql
        css scss sass less html htm xml xsl vue svelte yaml yml toml ini cfg conf properties env tf hcl nix cmake mk
        gradle dockerfile makefile lock""",
}
_TYPE_OF = {suffix: kind for kind, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}

# a bracket that closes is followed by JSON: "[17] text" and "[ ] task" are not
_CLOSED = r"[\]}](?=\s*(?:[,\]}]|\n\s*[\[{]|\Z))"
_JSON_START = re.compile(
    rf'[\[{{][\s\[{{]*+(?:"(?:[^"\\]|\\.)*+"\s*(?:[:,]|{_CLOSED})'
    rf"|(?:-?\d[\d.eE+-]*|true|false|null)\s*(?:,|{_CLOSED})|{_CLOSED})"
)
_JSON_KEY = re.compile(r'"[^"\\\n]{1,80}"\s*:')

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*\n(?:.*\n)*?(?: {0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE)
# not the C preprocessor's; the second group: another line of the same level follows at once
_HEADING = re.compile(
    r"^(#{1,6})[ \t]+(?!(?:include|define|if|ifdef|ifndef|else|elif|endif|undef|pragma|error)\b)\S.*$"
    r"(\n\1[ \t]*(?:[^#\n]|$))?",
    re.MULTILINE,
)
_MARKUP = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"\[[^\]\n]+\]\((?:https?:|[./#\w])[^)\n]*\)",  # link
        r"^\|?[ \t]*:?-{3,}:?[ \t]*\|[-| :\t]*$",  # the rule of a table
        r"(?<![\w*])\*\*[^\s*][^*\n]*\*\*(?![\w*])",  # bold
        r"^\S.*\n(?:={4,}|-{4,})[ \t]*\n",  # setext heading
        r"^ {0,3}[-*] (?:\[[ x]\] )?\w.*\n(?: {0,3}[-*] .*\n)+",  # list
        r"(?<![`\w])`[^`\n]+`(?![`\w])",  # code span
        r"\A---\n(?:[\w-]+:.*\n)+---\n",  # front matter
    )
)

_OUTPUT = re.compile(
    "|".join((
        r"^[\[(]?(?:\d{4}[-/]\d\d[-/]\d\d[T ]|\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:|\d{10,}\b)",  # a time
        r"^\[?\+?\d+\.\d+s?\b|^\s*\d{1,3} ?%|^[.FEs]{10,}|^[-=*#_]{10,}",  # durations, progress, dots, rules
        r"^\W{0,3}(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|PASS|PASSED|FAIL|FAILED|SKIP|ok|npm|make)\b",
        r"\b(?:INFO|WARN|ERROR|DEBUG)\b[\]: ]",
        r"^\s+at \S+[(:]|^ +File \".*\", line|^Traceback",  # stack frames
        r"^(?:diff --git|@@ |index [0-9a-f]{7})|^[-+]{3} [ab]/",  # diffs
        r"^\[?\S+:\d+(?::\d+)?[:\]] ?|^\S*\.\w+\(\d+(?:,\d+)?\):",  # compilers and linters
        r"^(?:\$|>|#|%) \w+ -",  # a prompt
        r"(?:[^\s.!?:] {2,}\S.*?){2}|\t\S+\t|^[^,\s]+(?:,[^,]*){3,}$",  # columns
    ))
)  # fmt: skip
_CODE = re.compile(
    "|".join((
        r"[;{}]\s*$|[({\[\\]\s*$",
        r"^\s*(?:#include|import\s|from\s+\S+\s+import|def\s|class\s|function\s|const\s|let\s|var\s|public\s|private\s)",
        r"^\s*(?:static\s|package\s|func\s|fn\s|use\s|pub\s|struct\s|enum\s|interface\s|return\b|elif\s|else\b|end$)",
        r"^\s*(?:if\s*\(|for\s*\(|while\s|@\w+|//|/\*|\*/|--\s|local\s|export\s|echo\s|fi$|done$|esac$|set\s-)",
        r"^\s*(?:SELECT|CREATE|INSERT)\s",
        r"^\s*[\w.\[\]\"'-]+\s*(?:=|:=|\+=|=>)\s*\S",  # an assignment
        r"^\s*-?\s*[\w.-]+:(?:\s+\S{1,40})?$",  # YAML
        r"^\s*<[/!?\w]",  # a tag
        r"^\s*(?:if|for|with|try|while|case)\b.*:$|^\s*\w[\w.]*\(.*\)\s*$",
    ))
)  # fmt: skip
# four plain words in a row, or a run of a script without spaces
_PROSE = re.compile(
    r"(?:(?<![^\W\d_])[^\W\d_]{2,}[,.;:'’-]? (?:[^\W\d_] )?){3}[^\W\d_]|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff]{6}"
)
_CODE_START = re.compile(
    r"\s*(?:@\w|#include|(?:async )?def \w+\(|class \w+[(:{]|import [\w{*]|from \S+ import"
    r"|(?:export|public|private|static) |(?:const|let|var) \w+ =|func \w*\(?|fn \w+|package \w+|use \w+::"
    r"|function \w*\(|<\?php|<!DOCTYPE|<\w+[ >])"
)
_YAML_START = re.compile(r"(?:- )?[\w\"'-]+:(?: \S.*)?$")
_COMMENT = re.compile(r"\s*(?://|/\*|#|;)|\s+\*[ /]")
_SENTENCE = re.compile(r"\W{0,4}[A-Z].* .*[a-z)][.?!:,]$")
_SHEBANG = re.compile(r"\A#!")


def detect(text: str, path: str = "") -> str:
    """One of documents.CONTENT_TYPES for a text, by its beginning.

    Args:
        text: the text or its first block.
        path: a file name or label, "" when there is none.
    """
    sample = text[:SAMPLE]
    by_name = _by_name(path)
    if by_name != "markdown" and is_json(text):
        return "json"
    if by_name and by_name != "json":
        return by_name
    lines = [line for line in _FENCE.sub("", sample).split("\n")[:_LINES] if line.strip()]
    if "\x1b[" in sample:
        return "output"
    shapes = _Shapes(lines)
    if not _SHEBANG.match(sample) and _is_markdown(sample, shapes):
        return "markdown"
    return shapes.verdict()


def _by_name(path: str) -> str:
    name = PurePath(path.rstrip("/")).name.lower()
    suffix = name.rpartition(".")[2]
    return _TYPE_OF.get(suffix, "") if "." in name or suffix in ("dockerfile", "makefile") else ""


def is_json(text: str) -> bool:
    """It starts as JSON does, and it parses, or is too long to tell, or has keys (broken, or several values)."""
    start = text[:SAMPLE].lstrip("\ufeff \t\r\n")
    if not _JSON_START.match(start):
        return False
    if len(text) <= SAMPLE:
        from capy_core.records import loads

        try:
            loads(start)
        except (ValueError, RecursionError):
            return len(_JSON_KEY.findall(start)) >= 2
    return True


class _Shapes:
    """How many of the lines look like output, code, prose."""

    def __init__(self, lines: list[str]) -> None:
        self.total = len(lines) or 1
        self.output = self.code = self.prose = self.comment = 0
        indented = sum(line[0] in " \t" for line in lines)
        self.starts_as_code = bool(lines) and bool(
            _CODE_START.match(lines[0]) or (_YAML_START.match(lines[0]) and indented > 0.5 * self.total)
        )
        for line in lines:
            line = line[:_COLUMNS]
            if _OUTPUT.search(line):
                self.output += 1
            elif _COMMENT.match(line):
                self.comment += 1
            elif _CODE.search(line) and not _SENTENCE.match(line):
                self.code += 1
            elif _PROSE.search(line):
                self.prose += 1

    def is_code(self) -> bool:
        """Enough of the lines are code; comments count once there is some."""
        code = self.code + (self.comment if self.code >= 0.1 * self.total else 0)
        return self.code > self.output and code >= (0.15 if self.starts_as_code else 0.45) * self.total

    def verdict(self) -> str:
        """output, code or text."""
        if self.is_code():
            return "code"
        if self.prose >= 0.4 * self.total and self.output < 0.25 * self.total:
            return "text"
        if self.code >= 0.35 * self.total and self.code > self.output:
            return "code"
        if self.total <= 3 and not self.output:
            return "text"
        return "output" if self.output >= 0.2 * self.total or self.prose < 0.2 * self.total else "text"


def _is_markdown(sample: str, shapes: _Shapes) -> bool:
    """Markup of two sorts, or headings over prose; comments over code are not headings."""
    if shapes.is_code() or shapes.output + shapes.code > 0.5 * shapes.total:
        return False
    plain = _FENCE.sub("", sample)
    headings = _HEADING.findall(plain)
    if sum(bool(again) for _, again in headings) > 0.25 * len(headings):  # a block of comment lines
        headings = []
    levels = {len(mark) for mark, _ in headings}
    sorts = sum(bool(pattern.search(plain)) for pattern in _MARKUP) + (plain != sample)
    if levels:
        return sorts >= 1 or len(levels) >= 2 or (sample.lstrip().startswith("#") and shapes.prose > 0)
    return sorts >= 2 and (plain != sample or bool(_MARKUP[0].search(plain) or _MARKUP[3].search(plain)))
