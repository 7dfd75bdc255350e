"""Shell read as shell: bash itself is the judge of what a script runs, the table of what must be seen."""

from __future__ import annotations

import os
import random
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import policy_table
from capy_exec.policy.shell import Command, Script, Word, read
from capy_exec.policy.wrappers import LANGUAGES
from capy_exec.runtimes import ALIASES
from capy_exec.runtimes import LANGUAGES as RUNTIMES


def texts(code: str) -> list[str]:
    return [command.text for command in read(code).commands]


def only(code: str) -> Command:
    commands = read(code).commands
    assert len(commands) == 1, commands
    return commands[0]


def doubts(code: str) -> str:
    script = read(code)
    assert script.unreadable
    return "; ".join(script.unreadable)


SUDO = {want: [code for name, code, answer in policy_table.ROWS if (name, answer) == ("sudo", want)] for want in
        ("deny", "ask", "allow")}  # fmt: skip


def names(script: Script) -> list[str]:
    return [command.name for command in script.commands]


@pytest.mark.parametrize("code", [code for code in SUDO["deny"] if code not in policy_table._HIDDEN_SUDO])
def test_a_denied_row_lists_the_command_or_does_not_parse(code: str) -> None:
    script = read(code)
    assert "sudo" in names(script) or not script.valid


@pytest.mark.parametrize("code", SUDO["allow"])
def test_an_allowed_row_is_read_whole_and_does_not_list_the_command(code: str) -> None:
    script = read(code)
    assert script.valid
    assert not script.unreadable
    assert "sudo" not in names(script)


@pytest.mark.parametrize("code", SUDO["ask"])
def test_a_doubtful_row_says_why(code: str) -> None:
    script = read(code)
    assert script.unreadable
    assert "sudo" not in names(script)


def test_the_table_is_as_large_as_it_claims_and_holds_nothing_twice() -> None:
    assert len({row[:2] for row in policy_table.ROWS}) == len(policy_table.ROWS) > 260
    assert len({row[:3] for row in policy_table.CODE_ROWS}) == len(policy_table.CODE_ROWS) > 60
    assert {row[0] for row in policy_table.ROWS} == set(policy_table.RULE_SETS)
    answers = {row[2] for row in policy_table.ROWS} | {row[3] for row in policy_table.CODE_ROWS}
    assert answers == {"allow", "ask", "deny"}


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("a b  c", ["a", "b", "c"]),
        ("a 'b c' \"d e\" f' 'g", ["a", "b c", "d e", "f g"]),
        ("a '' \"\"", ["a", "", ""]),
        ("a \\  b\\ c \\'", ["a", " ", "b c", "'"]),
        ('a "\\$x \\` \\" \\\\ \\n"', ["a", '$x ` " \\ \\n']),
        ("a $'\\t\\x41\\101\\u00e9\\U0001F600\\'\\q'", ["a", "\tAAé😀'\\q"]),
        ('a $"hi" $ b$', ["a", "hi", "$", "b$"]),
        ("a $\\x \\$x \\$\\x", ["a", "$x", "$x", "$x"]),
        ("a b\\\nc \\\n d\\\\\\\ne", ["a", "bc", "d\\e"]),
        ("a 'b\\\nc' \"d\\\ne\"", ["a", "b\\\nc", "de"]),
        ("a {b,c}d e{f,g{h,i}} {j} {} {k,l\\,m}", ["a", "bd", "cd", "ef", "egh", "egi", "{j}", "{}", "k", "l,m"]),
        (
            "a {1..3} {c..a} {08..10} {1..9..4} x{1..2}y",
            ["a", *["1", "2", "3", "c", "b", "a", "08", "09", "10", "1", "5", "9", "x1y", "x2y"]],
        ),
        ("a '{b,c}' \"{b,c}\" \\{b,c}", ["a", "{b,c}", "{b,c}", "{b,c}"]),
        ("a b#c '#d' #e", ["a", "b#c", "#d"]),
        ("a é 日本語 \\é", ["a", "é", "日本語", "é"]),
        ("export A=1 B='c d'", ["export", "A=1", "B=c d"]),
        ("unset x y", ["unset", "x", "y"]),
    ],
)
def test_words_are_what_the_program_gets(code: str, words: list[str]) -> None:
    command = only(code)
    assert list(command.words) == words
    assert all(word.known for word in command.words)


@pytest.mark.parametrize(
    ("word", "known", "glob", "splits"),
    [
        ("x", True, False, False),
        ("$x", False, False, True),
        ('"$x"', False, False, False),
        ('"a $x b"', False, False, False),
        ("a${x}b", False, False, True),
        ("$((1+1))", False, False, True),
        ("<(x)", False, False, True),
        ("'$x'", True, False, False),
        ("*.py", True, True, False),
        ("'*'", True, False, False),
        ("\\*", True, False, False),
        ("~/x", True, False, False),
        ("{1..99999999}", False, False, True),
    ],
)
def test_a_word_says_what_only_running_can_tell(word: str, known: bool, glob: bool, splits: bool) -> None:
    got = read(f"echo {word}").commands[0].words[1]
    assert (got.known, got.glob, got.splits) == (known, glob, splits)


def test_an_unknown_word_keeps_its_source() -> None:
    assert list(only('echo "a $x b" ${y:-c}d').words) == ["echo", "a $x b", "${y:-c}d"]


@pytest.mark.parametrize(
    ("code", "name"),
    [("/usr/bin/x", "x"), ("./x", "x"), ('"$HOME/bin/x"', "x"), ("'/a b/x'", "x"), ("\\x", "x"), ("~/x", "x")],
)
def test_the_name_has_no_folder_and_no_quotes(code: str, name: str) -> None:
    command = only(code)
    assert command.name == name
    assert not read(code).unreadable


@pytest.mark.parametrize("code", ["$x/y", "$x", '"$x"', "x$y", "/bin/l?", "$HOME/bin/$x"])
def test_a_name_that_cannot_be_told_is_unreadable(code: str) -> None:
    assert "name is only known when it runs" in doubts(code)


def test_commands_come_in_source_order() -> None:
    assert texts("a; b $(c; d) | e && { f; (g); } & h") == ["a", "b $(c; d)", "c", "d", "e", "f", "g", "h"]


def test_a_wrapper_comes_before_what_it_runs() -> None:
    commands = read("A=1 sudo -u root env B=2 nice -n 5 git push > out").commands
    assert [command.name for command in commands] == ["sudo", "env", "nice", "git"]
    assert commands[-1].via == ("sudo", "env", "nice")
    assert commands[-1].assignments == (("A", "1"),)
    assert commands[-1].redirects[0].target == "out"


@pytest.mark.parametrize(
    ("code", "inner"),
    [
        ("timeout -s KILL 5 x -a", "x -a"),
        ("flock -w 5 /l x", "x"),
        ("stdbuf -o0 x", "x"),
        ("sudo -Eu root A=1 x", "x"),
        ("env -iu A -C / B=1 x", "x"),
        ("env -S 'x y' z", "x y z"),
        ("xargs -rn1 -P 4 x", "x {}"),
        ("xargs -I@ x a@b", "x a@b"),
        ("find . -type f -exec x {} +", "x {}"),
        ("ssh -p 22 -o A=b u@h -t x y", "x y"),
        ("su - root -c 'x y'", "x y"),
        ("script -qc 'x y' /dev/null", "x y"),
        ("watch -n1 -d x y", "x y"),
        ("busybox x y", "x y"),
        ("parallel -j4 x {} ::: a b", "x $1"),
        ("bash -O extglob +x -o pipefail -c 'x y' z", "x y"),
        ("trap -- 'x y' INT TERM", "x y"),
        ("exec -a z x y", "x y"),
        ("time -p x", "x"),
        ("coproc C { x y; }", "x y"),
        ("time { x y; }", "x y"),
        ("capy-exec shell -c 'x y'", "x y"),
        ("strace -f -o log x y", "x y"),
        ("at now <<< 'x y'", "x y"),
        ("{ sh; } <<E\nx y\nE\n", "x y"),
        ("(cd /; sh) <<E\nx y\nE\n", "x y"),
        ("while true; do sh; done <<'E'\nx y\nE\n", "x y"),
        ("echo -n 'x y' | sudo bash", "x y"),
        ("printf '%s\\n' 'x y' | env A=1 sh -s", "x y"),
        ("source /dev/stdin <<< 'x y'", "x y"),
    ],
)
def test_what_stands_behind_a_wrapper_is_listed(code: str, inner: str) -> None:
    script = read(code)
    assert inner in [command.text for command in script.commands], script.commands


@pytest.mark.parametrize(
    "code",
    ["command -v x", "type x", "trap - INT", "trap", "alias", "sudo -l", "exec > log", "xargs", "env", "bash x.sh a"],
)
def test_what_runs_nothing_lists_itself_alone(code: str) -> None:
    assert len(read(code).commands) == 1
    assert not read(code).unreadable


@pytest.mark.parametrize(
    ("code", "language", "inner"),
    [
        ("python3 -c 'a' b", "python", "a"),
        ("python3.12 -Iuc 'a'", "python", "a"),
        ("python -W ignore -c a -c b", "python", "a"),
        ("uv_x=1 /usr/bin/python3 -ca", "python", "a"),
        ("node -e 'a'", "javascript", "a"),
        ("node --eval=a", "javascript", "a"),
        ("node -pe a", "javascript", "a"),
        ("deno eval 'a'", "javascript", "a"),
        ("ruby -rjson -e a -e b", "ruby", "a\nb"),
        ("perl -ne 'a' f", "perl", "a"),
        ("perl -i.bak -pe 'a' f", "perl", "a"),
        ("perl -MPOSIX=ceil -E 'a'", "perl", "a"),
        ("php -r 'a'", "php", "a"),
        ("Rscript -e 'a'", "r", "a"),
        ("elixir -e 'a'", "elixir", "a"),
        ("tsx -e 'a'", "typescript", "a"),
        ("capy-exec --format json py -c 'a'", "python", "a"),
        ("python3 <<'E'\na\nE\n", "python", "a\n"),
        ("python3 - x <<E\na\nE\n", "python", "a\n"),
        ("echo a | node", "javascript", "a\n"),
        ("sudo python3 -c a", "python", "a"),
    ],
)
def test_code_for_other_languages_is_handed_on(code: str, language: str, inner: str) -> None:
    assert read(code).commands[-1].code == (language, inner)
    assert not read(code).unreadable


@pytest.mark.parametrize(
    "code", ["python3 x.py", "python3 -m http.server", "python3 -V", "node x.js", "perl x.pl -e a"]
)
def test_a_program_in_a_file_is_no_code(code: str) -> None:
    assert only(code).code is None


def test_capy_execs_names_of_languages_are_all_known() -> None:
    assert {**ALIASES, **{name: name for name in RUNTIMES}} == LANGUAGES


def test_redirections_keep_number_operator_and_target() -> None:
    command = only("x <in 2>>'err log' &>all >&2 4<&- >$y a b")
    found = [(redirect.fd, redirect.op, str(redirect.target)) for redirect in command.redirects]
    assert found == [
        (0, "<", "in"),
        (2, ">>", "err log"),
        (1, "&>", "all"),
        (1, ">&", "2"),
        (4, "<&-", ""),
        (1, ">", "$y"),
    ]
    assert command.text == "x a b"
    assert not command.redirects[-1].target.known


@pytest.mark.parametrize("code", ["> f", "{ a; } > f", "(a) > f", "while a; do a; done > f", "if a; then a; fi > f"])
def test_redirections_without_a_command_are_listed(code: str) -> None:
    bare = next(command for command in read(code).commands if not command.words)
    assert (bare.name, bare.text, bare.redirects[0].target) == ("", "", "f")


@pytest.mark.parametrize(
    ("code", "stdin", "known"),
    [
        ("x <<E\na $y\nE\n", "a $y\n", False),
        ("x <<'E'\na $y\nE\n", "a $y\n", True),
        ("x <<-E\n\ta\n\t\tb\n\tE\n", "a\nb\n", True),
        ("x <<E\na \\$y \\\\ \\` \\q\nE\n", "a $y \\ ` \\q\n", True),
        ("x <<E\n\nE\n", "\n", True),
        ("x <<< 'a b'", "a b\n", True),
        ("x <<< $y", "$y\n", False),
    ],
)
def test_the_text_of_a_heredoc_is_kept(code: str, stdin: str, known: bool) -> None:
    text = only(code).stdin
    assert text == stdin
    assert isinstance(text, Word)
    assert text.known == known


def test_a_pipeline_joins_its_commands() -> None:
    a, b, c, d, e = read("a | { b; c; } |& d; e").commands
    assert (a.pipes_into, b.pipes_into, c.pipes_into, d.pipes_into, e.pipes_into) == (b, d, d, None, None)


def test_a_pipeline_behind_a_heredoc_is_joined_too() -> None:
    a, b, c = read("a <<E | b | c\ntext\nE\n").commands
    assert (a.pipes_into, b.pipes_into, c.pipes_into) == (b, c, None)
    assert a.stdin == "text\n"


def test_a_wrapped_command_pipes_where_its_wrapper_does() -> None:
    sudo, curl, sh = read("sudo curl x | sh").commands
    assert sudo.pipes_into is curl.pipes_into is sh


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("a\nb (", "line 2: not valid shell"),
        ("eval 'a ('", "code inside eval: not valid shell"),
        ('eval "$x"', "the code given to eval is only known when it runs: $x"),
        ("curl x | sh", "what sh reads from its standard input is not known"),
        ("bash <(x)", "a script that another command prints is not known"),
        ("$x y", "the command's name is only known when it runs: $x"),
        ("a\0b", "it holds NUL bytes"),
        ("a\rb", "it holds carriage returns that end no line"),
        ("a \\\r\nb", "it holds carriage returns that end no line"),
        ("a\n" * 600_000, "longer than 1,000,000 characters"),
        ("a\n" * 25_000, "more than 20,000 commands"),
    ],
)
def test_what_cannot_be_read_is_said_in_words(code: str, reason: str) -> None:
    assert reason in read(code).unreadable


def test_code_in_code_has_a_limit() -> None:
    code = "sudo ls"
    for _level in range(5):
        code = "eval " + shlex.quote(code)
    assert "sudo ls" in texts(code)
    assert "levels deep" in doubts("eval " * 60 + "ls")


@pytest.mark.parametrize(
    "code",
    [
        "$(" * 20_000,
        "$(" * 5_000 + "ls" + ")" * 5_000,
        "(" * 20_000 + "ls" + ")" * 20_000,
        "{ " * 20_000,
        '"$(' * 5_000,
        "`" * 20_001,
        "${x:-" * 20_000 + "y" + "}" * 20_000,
        "echo " + "{a," * 5_000,
        "echo " + "{a,b}" * 50,
        "if " * 20_000,
        "<<" * 20_000,
        "a <<E\n" * 2_000,
        "[[ " * 20_000,
        "\\\n" * 50_000,
        "\\" * 50_001,
        "a|" * 20_000 + "b",
        "sudo " * 20_000 + "ls",
        "$x " * 5_000 + "ls",
        "sh -c '" * 200,
        "alias a='a a'; a; alias b=c c=b; b",
        "'" + "a" * 900_000,
        "cat <<'E'\n" + "text $(x) here\n" * 60_000 + "E\n",
    ],
    ids=lambda code: f"{code[:12]!r}",
)
def test_hostile_text_ends_without_an_error(code: str) -> None:
    read(code)


@settings(max_examples=300, deadline=None)
@given(st.text())
def test_any_text_can_be_read(code: str) -> None:
    script = read(code)
    assert script.valid or script.unreadable


@settings(max_examples=300, deadline=None)
@given(st.lists(st.text(st.characters(exclude_characters="\0\r", exclude_categories=["Cs"])), min_size=1, max_size=4))
def test_quoted_words_come_back(arguments: list[str]) -> None:
    script = read("x " + shlex.join(arguments))
    assert [list(command.words[1:]) for command in script.commands] == [arguments]
    assert all(word.known for word in script.commands[0].words)
    assert not script.unreadable


IDIOMS = [
    "python3 - <<'PY' 2>&1 | head -20\nprint(1)\nPY\n",
    "cat <<'EOF' > f.sh; bash f.sh\necho hi\nEOF\n",
    "cat <<'EOF' > f.sh && bash f.sh\necho hi\nEOF\n",
    "cat <<'EOF' > f.sh || bash f.sh\necho hi\nEOF\n",
    "cat <<'EOF' > f.sh & bash f.sh\necho hi\nEOF\n",
    "cat > f.py <<'EOF' && python f.py\nprint(1)\nEOF\n",
    "cat <<A <<B\na\nA\nb\nB\n",
    "cmd <<E &\nx\nE\n",
    "cat <<E\nno end",
    "cat <<é\nx\né\nls",
    "cat <<-E\n\tx\n\tE\nls",
    'cat <<"E O F"\nx\nE O F\nls',
    "cat <<\\EOF\n$x\nEOF\nls",
    'git commit -m "$(cat <<\'EOF\'\nFix: don\'t "x" (y)\n\nMore\nEOF\n)"',
    "git commit -m \"$(cat <<'EOF'\nIt's here\nEOF\n)\" && git push",
    "f() {\ncat <<E\nx\nE\n}\nf",
    "for i in a b; do cat <<E | sort; done\n$i\nE\n",
    "(cat <<E; ls)\nx\nE\n",
    "case $x in a) cat <<E;; b) ls;; esac\nx\nE\n",
    "case $x in a) cat <<E\nx\nE\n;; esac",
    "cat <<< x",
    "(sh) <<< x",
    "{ sh; } <<< 'ls'",
    'while read x; do echo $x; done <<< "$y"',
    "exec {fd}>x",
    "exec 3>&1 4>&2",
    "shopt -s extglob; ls !(a|b)",
    "shopt -s extglob\nls !(a|b) @(x|y).txt",
    "[[ $x =~ ^(a|b)$ ]] && ls",
    "[[ $x =~ ^[0-9]+$ ]] && ls",
    '[[ "$x" =~ \\.py$ ]]',
    "for ((i=0;i<3;i++)); do echo $i; done",
    "for ((;;)); do break; done",
    "select x in a b; do echo $x; done",
    "time -p x",
    "time x | y",
    "coproc cat",
    "coproc P { cat; }",
    "diff <(sort a) <(sort b) > out",
    "tee >(grep x > y) < z",
    "printf $'a\\tb\\'c'",
    "echo ${x//a/b} ${x#*/} ${x%%.*} ${x:1:2} ${x^^} ${!x} ${#x} ${x[@]} ${x:?no}",
    "a=(1 2 'x y'); a+=(z); echo \"${a[@]}\" ${#a[@]} ${a[0]}",
    "declare -A m; m[x]=1; m=([a]=b [c]=d); echo ${m[a]}",
    "if ! cmd; then ls; fi",
    "if ! grep -q x f; then ls; elif [ -f x ]; then ls; else ls; fi",
    "cmd |& tee log",
    "cmd &>file",
    "cmd &>>file",
    "cmd 2>&1 >/dev/null",
    "cmd > f 2>&1 &",
    "mapfile -t a < <(ls)",
    'while IFS= read -r x; do echo "$x"; done < <(ls)',
    "case $x in a) sudo y;; esac",
    'case "$1" in\n  start|stop) ls ;;\n  *) exit 1 ;;\nesac',
    "case $x in (a) ls;; (b|c) ls;& d) ls;;& *) ls; esac",
    "ls # don't do \"this",
    "ls # a `b` $(c\npwd",
    "ls\r\npwd\r\n",
    'echo "a \'b\' \\"c\\" $(echo "d \'e\' $(echo "f")")"',
    "cat <<E \\\n | sort\nx\nE\n",
    "cat <<'E' \\\n > f.txt \\\n && ls\nx\nE\n",
    "python3 - \\\n a b <<'E' \\\n 2>&1\nx\nE\n",
    "set -euo pipefail; ls",
    "x=$(ls | wc -l); echo $((x+1))",
    "((i++)) || true",
    "((i<<2)); echo $((1<<3))",
    "let x=1<<2",
    "echo $[1+2]",
    "until ls; do sleep 1; done",
    "trap 'rm -f x' EXIT",
    "function f { ls; }; f",
    "function f() { ls; }",
    "f() ( ls )",
    "ls *.{py,md} ~/x [a-z]*",
    "find . -name '*.py' -exec grep -l x {} \\;",
    "find . \\( -name a -o -name b \\) -print",
    "echo a\\ b \"c d\" 'e f'",
    "cat <<EOF | ssh host bash\necho $x\nEOF\n",
    "cat <<EOF | while read x; do echo $x; done\na\nEOF\n",
    "cat <<EOF >> f\n$(date) `ls` ${x:-y} \\$z\nEOF\n",
    "psql <<SQL\nselect 'a' from b where c = \"d\";\nSQL\n",
    "psql -c \"select 1\" <<-'SQL' > out 2> err\n\tselect\n\tSQL\n",
    "sudo tee /etc/x <<EOF >/dev/null\nx\nEOF\n",
    "cat <<EOF > a.txt; cat <<EOF > b.txt\na\nEOF\nb\nEOF\n",
    "x=$(cat <<EOF\na ) b ( ' \"\nEOF\n)",
    "x=$(cat <<'EOF' | tr a b\na\nEOF\n)\necho $x",
    "x=`cat <<E\na\nE\n`",
    "bash <<'EOF'\nset -e\nif true; then ls; fi\nEOF\n",
    "node <<'EOF' | jq .\nconsole.log(`${1}`)\nEOF\n",
    "python3 <<'EOF' && echo ok || echo failed\nprint('x')\nEOF\n",
    "if python3 - <<'EOF'; then echo ok; fi\nprint(1)\nEOF\n",
    "if cat <<E | grep -q x\nx\nE\nthen ls; fi",
    "while read l; do echo $l; done <<E\na\nE\n",
    "{ cat; ls; } <<E > out\na\nE\n",
    "! cat <<E | grep x\nx\nE\n",
    "FOO=bar python3 - <<'E' arg1\nx\nE\n",
    "curl -s x -d @- <<'E' | jq -r '.a'\n{\"a\": 1}\nE\n",
    "ls;",
    "ls &",
    "ls && \\\n pwd",
    "ls |\n wc",
    "ls &&\n# c\npwd",
    "ls\n\n\n# x\n\n",
    "# only",
    "[ -f x ] && [ ! -d y ] || test -e z",
    "[[ -f x && ! -d y || $a == b* ]]",
    '[[ $a != "b c" && ( -n $x || -z $y ) ]]',
    '[ "$a" = b ] && ls',
    "[[ $a < $b ]]",
    "echo {1..10} {a,b}{c,d} {01..05..2}",
    "x=${1:-\"a b\"}; y=${2:-$(ls)}; z=${3:-'a'}",
    'echo "${x:-"a"}" "${y//\\//_}" "${z/\'a\'/b}"',
    'echo ${x//\\"/} ${x//[^a-z]/} ${x/#a/b} ${x@Q}',
    "local x=1 y; readonly z=2; export A=b C; declare -r q=1",
    "printf '%s\\n' \"${a[@]/#/x}\" | sort -u",
    "grep -E '^(a|b)$' f | awk '{print $1}' | sed 's/a/b/g'",
    "git log --format='%h %s' @{u}..HEAD",
    "git stash@{0}; git show HEAD^ HEAD~2 a^{tree}",
    "git diff HEAD -- ':!x' ':(exclude)y'",
    "jq '.a[] | select(.b == \"c\")' f",
    "docker run --rm -v \"$PWD:/x\" -e A=b img sh -c 'ls && pwd'",
    "echo a; echo b > c # d",
    "echo =",
    "x == y",
    "a=b=c",
    "[ a == b ]",
    "test a == b",
    "echo a=b",
    "dd if=a of=b",
    "echo $?, $$ $! $# $@ $* $0 $1 ${10}",
    "kill %1",
    "kill -9 $(pgrep x)",
    "ls -la 2>/dev/null",
    "ls 2> >(cat)",
    "cmd 2>&-",
    "cmd <&3 3<&-",
    "cmd >| f",
    "cmd <> f",
    "cmd >&2",
    "cmd 1>&2 2>/dev/null",
    ">f",
    ">f cmd",
    "<f cmd arg",
    "2>&1 cmd",
    "cmd < f | cmd2 > g",
    "cmd<f>g",
    "A=1 B=2 cmd",
    "A=1",
    "A= cmd",
    "A+=x",
    'eval "$(ssh-agent)"',
    "a() { b; }; c() { d; }",
    "( cd x && ls ) && ( cd y; ls )",
    "(ls) | (cat)",
    "((1))",
    "( (ls) )",
    "$(ls)",
    "`ls`",
    'for f in *.txt; do mv "$f" "${f%.txt}.md"; done',
    "for f; do echo $f; done",
    "for f\ndo echo $f; done",
    "for f in a \\\n b; do ls; done",
    "while :; do ls; done &",
    "while true; do ls; break; done | head",
    "if [ 1 ]; then ls; fi | cat > f 2>&1",
    "{ ls; pwd; } 2>&1 | tee f",
    "{ ls; } && { pwd; }",
    "{ ls\n}",
    "echo }",
    "echo {",
    "echo { a }",
    "echo {}",
    "echo ]",
    "echo [",
    "echo !",
    "echo if then fi",
    "echo time",
    "echo do done",
    "! ls",
    "! ! ls",
    "echo a!b",
    'echo "!"',
    "echo 'a'\\''b'",
    'echo "a"\'b\'c$d"e"',
    'echo "`ls`"',
    'echo "$(ls "a" \'b\')"',
    'echo "\\`"',
    "echo \\\n  a",
    "echo a\\\nb",
    "echo $((a ? b : c)) $((a[1] + ${b}))",
    "echo $(( $(ls | wc -l) + 1 ))",
    "echo $(($x*2))",
    "x=$((x<<1))",
    "(( x = y > 3 ? 1 : 2, z <<= 2 ))",
    "if (( a > b )); then ls; fi",
    "while ((i<3)); do ((i++)); done",
    'echo "$(( 1 << 2 ))"',
    "echo $(( 16#ff ))",
    "a[x]=1; echo ${a[x]}",
    "unset 'a[x]'",
    "echo é 日本語 '…' \"—\"",
    "echo 'é' > ü",
    "cat <<'E'\né — 日本\nE\n",
    'npm run build 2>&1 | tail -5; echo "exit: ${PIPESTATUS[0]}"',
    'export PATH="$HOME/bin:$PATH"',
    "source x; . y",
    '[ -n "${x+set}" ]',
    "echo ${x:+y} ${x-} ${x=}",
    "cat << 'EOF' > f\nx\nEOF\n",
    "cat << EOF\nx\nEOF\nls",
    "cat <<EOF>f\nx\nEOF\n",
    "cat <<EOF|cat\nx\nEOF\n",
    "cat 0<<EOF\nx\nEOF\n",
    "cat 3<<EOF <&3\nx\nEOF\n",
    "cat <<'EOF'\nEOF\n",
    "cat <<EOF\n\nEOF\n",
    "cat <<EOF\n\n\na\n\nEOF\n\n\nls",
    "cat <<'E1' <<'E2' | cat\na\nE1\nb\nE2\n",
    "cat <<EOF # comment\nx\nEOF\n",
    "cat <<EOF; # it's\nx\nEOF\n",
    "cat <<''\nx\n\nls",
    'cat <<E"O"F\nx\nEOF\n',
    "cat <<$X\na\n$X\n",
    "cat <<EOF-1\nx\nEOF-1\n",
    "cat <<_EOF_\nx\n_EOF_\n",
    "cat <<123\nx\n123\n",
    "cat <<!\nx\n!\n",
    "cat <<E.O\nx\nE.O\n",
    "cat <<----\nx\n---\n",
    "cat <<E\nE \n E\nE\n",
    "cat <<E\nx\\\nE\nE\n",
    "cat <<'E'\nx\\\nE\n",
    "cat <<E\n$(cat <<F\nx\nF\n)\nE\n",
    "cat <<E\n$(ls\n)\n${x:-$(pwd)}\nE\n",
    "cat <<E && {\nx\nE\nls\n}",
    "cat <<E | {\nx\nE\ncat\n}",
    "cat <<E |\nx\nE\ncat",
    "cat <<E &&\nx\nE\ncat",
    "f <<E || exit 1\nx\nE\nls",
    "cat <<E | python3 -c 'import sys; print(sys.stdin.read())' \"a\nb\" \nx\nE\n",
    'cat <<E "a\nb"\nx\nE\n',
    "cat <<E $(ls\n)\nx\nE\n",
    "cat <(cat <<E\nx\nE\n)",
    "x=(a $(cat <<E\nb\nE\n) c)",
    "echo ${x:-$(cat <<E\nb\nE\n)}",
    "ls {1..10}",
    'echo `a` `b` "`c` `d`"',
    "if python3 - <<'E'; then ls; fi\nx\nE\n",
]


@pytest.mark.parametrize("code", IDIOMS)
def test_an_everyday_idiom_is_valid(code: str) -> None:
    assert read(code).valid, read(code).unreadable


def test_bash_accepts_the_everyday_idioms() -> None:
    for code in IDIOMS:
        done = subprocess.run(["/bin/bash", "-O", "extglob", "-n", "-c", code], capture_output=True, text=True)
        assert not done.returncode, (code, done.stderr)


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("python3 - <<'P' 2>&1 | head -20\nprint(1)\nP\n", ["python3 -", "head -20"]),
        ("cat <<'E' > f.sh; bash f.sh\nx\nE\n", ["cat", "bash f.sh"]),
        ("cat <<'E' && a || b & c\nx\nE\nd", ["cat", "a", "b", "c", "d"]),
        ("cat <<A <<B; c\n$(a)\nA\n$(b)\nB\nd", ["cat", "a", "b", "c", "d"]),
        ("cat <<E\n$(a)", ["cat", "a"]),
        ("cat <<é\n$(a)\né\nb", ["cat", "a", "b"]),
        ("cat <<E\\\nF\nx\nEF\na", ["cat", "a"]),
        ("cat <<E\nx\\\nE\nE\na", ["cat", "a"]),
        ("cat <<E\nE \nE\\\n\na", ["cat", "a"]),
        ("cat <<-E\n\t$(a)\n\t\tE\nb", ["cat", "a", "b"]),
        ('cat <<E "a\n"\nx\nE\nb', ["cat a\n", "b"]),
        ("cat <<E $(a\n)\nx\nE\nb", ["cat $(a\n)", "a", "b"]),
        ("cat <<E\n$(a <<F\n`b`\nF\n)\nE\nc", ["cat", "a", "b", "c"]),
        ("x=$(a <<E\n'\nE)\nb", ["a", "b"]),
        ("x=`a <<E\n'\nE\n`\nb", ["a", "b"]),
        ("case $x in a) cat <<E;; b) c;; esac\n'\nE\nd", ["cat", "c", "d"]),
        ("a # <<E\nb\nE", ["a", "b", "E"]),
        ("a '<<E'\nb\nE", ["a <<E", "b", "E"]),
        ("((x<<1))\na\n1", ["a", "1"]),
        ("a `b` `c`", ["a `b` `c`", "b", "c"]),
        ('a "`b` `c`"', ["a `b` `c`", "b", "c"]),
        ("a ``b", ["a ``b"]),
        ("{fd}>f a; exec {fd}<<E\nx\nE\n", ["a", "exec"]),
        ("time a=1 b", ["time a=1 b", "b"]),
        ("ls !(a|b) c@(d)", ["ls !(a|b) c@(d)"]),
        ("(sh) <<< 'a'", ["sh", "a"]),
        ("ls {1..3}", ["ls 1 2 3"]),
    ],
)
def test_code_around_heredocs_and_the_like_is_found(code: str, found: list[str]) -> None:
    script = read(code)
    assert [command.text for command in script.commands] == found
    assert not script.unreadable


@pytest.mark.parametrize(
    "code",
    [
        "a[1 <<2]=3\nb\n2]=3\nc",
        "((a <<E) )\nx\nE\nb",
        'a "$(b <<E)"\nx\nE\nc',
        "!(a)",
        "a <<\\\n-E\nx\nE\nb",
        "a <<$(b)\nx\nE\nb",
        "a <<E `b",
        "# <<E\n'",
        'a "\1" <<E\nx\nE\n',
    ],
)
def test_what_may_be_code_or_text_is_not_valid(code: str) -> None:
    assert not read(code).valid


def test_reasons_name_the_line_of_the_code_as_it_was() -> None:
    assert read("a <<E | b\n1\n2\n$(c\n)\nE\nd\ne (").unreadable == ("line 8: not valid shell",)
    assert read("a <<E\nE\nb\nc[<<E").unreadable == ("line 4: not valid shell",)


def test_an_argument_with_a_heredoc_keeps_its_source() -> None:
    code = "$(cat <<'E' | b\n$x\nE\n)"
    assert only_argument(f'a "{code}"') == code


def only_argument(code: str) -> str:
    return read(code).commands[0].words[1]


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("a | eval <f 'b c'", ["a", "eval b c", "b c"]),
        ("a && env <f b >g c", ["a", "env b c", "b c"]),
        ("! a <f b", ["a b"]),
        ("a && sh <<E\nb\nE\n", ["a", "sh", "b"]),
        ("a | { b; } >f", ["a", "", "b"]),
        ("<<E | eval <<'F' 'b c'\nE\nF\n", ["eval b c", "b c"]),
    ],
)
def test_redirections_belong_to_the_last_command(code: str, found: list[str]) -> None:
    assert texts(code) == found


def test_heredocs_feed_the_descriptors_they_name() -> None:
    assert only("a 3<<A <<B\n1\nA\n2\nB\n").stdin == "2\n"
    assert not only("a 3<<A <<B\n1\nA\n2\nB\n").stdin.known
    assert only("a <<A <<B\n1\nA\n2\nB\n").stdin == "2\n"
    assert only("a <>f").redirects[0].op == "<>"


TOKENS = [
    "c1", "c2", "c3", "$x", "${x:-c4}", "$(c5)", "`c6`", "'", "\"", "\\", "\n", " ", " ", ";", "&&", "&", "(", ")",
    "{ ", "; }", "#", "<<E\n", "\nE\n", "<<-E\n\t", "<<'E'\n", ">f", "<f", "2>&1", "$((", "))", "if ", "then ",
    "fi", "\nfi\n", "do ", "done", "while c7; do ", "for i in a; do ", "case a in a) ", "esac", ";;", "! ", "a=",
    "a=(", "$'", "\\n", "\t", "\\\n", "{c1,c2}", "*", "~", "f() { ", "<(c1)", "${", "}", "eval ", "<<<", "coproc ",
    "time ", "\"$(c3)\"", "\"`c4`\"", "[[ ", " ]]", "\\\\", "$\"", "exec ", "command ", "trap ", "'c1'", "\"c2\"",
    "c\\\n3", "'a\\\nb'", "EO\\\nF", "<<EOF\n", "\nEOF\n", "``", "\\`", "`c1 \\`c2\\``",
    "$(case x in x) c1;; esac)", "((i=0;i<2;i++))", "\n\\c1 ", "\\ ", "\\#", "||", "|", "{a,b} ", "== ", "\n==\n",
    "`c8`", "$\"c9\"", "<<E ", "<<'E' ", "<<-E ", "<<\\E ", "<<F ", "<<E;", "<<E&&", "<<E|", "\nE\n", "\nE\n", "\nF\n",
    "\nE)", "$(c1 <<E\nx\nE\n)", "$(c2 <<'E'\n'\nE\n)", "\"$(c3 <<E\n\"\nE\n)\"", "`c1 <<E\nx\nE\n`",
    "sh <<E\nc4\nE\n", "sh <<<c6 ", "<<<$x ", "((x<<1))", "c1[", "@(a|b)", "!(c1)", "<>f", "{fd}>f ", "3<<E ",
    "# '", "for x do ", "| sh ", "|&", "<<é\n", "\né\n", "<\\\n<E ", "<<\\\nE ", "c1 <<E | sh\nc2\nE\n",
]  # fmt: skip


def test_bash_runs_no_command_that_was_not_listed(tmp_path: Path) -> None:
    """Random scripts, run by bash without a PATH: every program that it looks for must have been seen before."""
    rng = random.Random(20)
    log = tmp_path / "looked-for"
    note = 'command_not_found_handle() { printf "%s\\0" "$1" >>"$LOG"; }\n'
    ran = 0
    for turn in range(1200):
        code = "".join(rng.choice(TOKENS) + rng.choice(("", " ")) for _ in range(rng.choice((2, 3, 4, 6, 9))))
        script = read(code)
        if script.unreadable:
            continue
        folder = tmp_path / str(turn)
        folder.mkdir()
        log.write_bytes(b"")
        subprocess.run(
            ["/bin/bash", "--norc", "-c", note + code],
            cwd=folder,
            env={"PATH": "/nonexistent", "LOG": str(log), "HOME": str(folder)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=20,
        )
        looked_for = {name.rpartition("/")[2] for name in os.fsdecode(log.read_bytes()).split("\0") if name}
        ran += bool(looked_for)
        assert looked_for <= set(names(script)), code
    assert ran > 100


def test_few_scripts_that_bash_accepts_are_not_valid() -> None:
    """What is left: braces or `!` as a command, `==` at an end, `<<` where text and code cannot be told apart."""
    rng = random.Random(21)
    accepted = refused = 0
    for _turn in range(1200):
        code = "".join(rng.choice(TOKENS) + rng.choice(("", " ")) for _ in range(rng.choice((2, 3, 4))))
        done = subprocess.run(["/bin/bash", "--norc", "-n", "-c", code], capture_output=True, timeout=20)
        if not done.returncode and b"error" not in done.stderr:
            accepted += 1
            refused += not read(code).valid
    assert accepted > 300
    assert refused < accepted * 0.15


def test_reading_imports_little() -> None:
    code = (
        "import sys\nbefore = set(sys.modules)\nfrom capy_exec.policy.shell import read\n"
        "print(*sorted(set(sys.modules) - before))\nread('git status | head')\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported, after = (set(line.split()) for line in done.stdout.splitlines())
    heavy = {"dataclasses", "pathlib", "typing", "json", "importlib.resources", "tree_sitter", "click", "orjson"}
    assert not imported & (heavy | {"re", "enum"})
    assert not after & heavy


@pytest.mark.parametrize("code", ["<<s\n\\", "<<s\n$x", "<<~s\n\\", "<<s\n" + "$x a\n" * 300_000])
def test_perl_heredocs_without_an_end_come_back(code: str) -> None:
    parse = (
        "import sys\nfrom capy_exec.policy.grammars import parse\nparse('tree_sitter_perl', sys.stdin.buffer.read())\n"
    )
    done = subprocess.run([sys.executable, "-c", parse], input=code.encode(), capture_output=True, timeout=30)
    assert not done.returncode, done.stderr
