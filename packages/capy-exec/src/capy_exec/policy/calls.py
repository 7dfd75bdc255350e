"""Calls that start programs, run code or open files, in ten languages: what their arguments mean.

How a call is found is syntax.py's business; here it has a name and values. A text that only running can tell has holes.
"""

from __future__ import annotations

from shlex import quote
from typing import NamedTuple, TypeAlias

# A text: its literal pieces, with None for what only running can tell
Text: TypeAlias = tuple[str | None, ...]
Value: TypeAlias = "Text | list[Value] | dict[str, Value] | Splat"
HOLE: Text = (None,)

_SHELL, _SPAWN, _FIRST, _EXEC, _EVAL = "shell", "spawn", "first", "exec", "eval"
_READ, _WRITE, _OPEN, _COPY = "read", "write", "open", "copy"
STARTS = frozenset(
    (_SHELL, _SPAWN, _FIRST, _EXEC, _EVAL, "exec1", "spawn1", "shell1", "deno", "port", "perl_open", "spawn2", "spawn3")
)


class Splat:
    """Any number of words that only running can tell."""


class Call(NamedTuple):
    """One call: the dotted name of what is called, aliases resolved; its arguments; the line it is on, from 1."""

    name: str
    args: list[Value]
    named: dict[str, Value]
    line: int


class Found:
    """What was found in code.

    Attributes:
        shell: command lines, as shell.
        code: code in the same language that it runs from a text.
        files: ("read" or "write", path).
        unreadable: reasons in words, for what may start a program and cannot be read.
    """

    def __init__(self) -> None:
        self.shell: list[str] = []
        self.code: list[str] = []
        self.files: list[tuple[str, str]] = []
        self.unreadable: list[str] = []

    def add(self, call: Call, kind: str) -> None:
        """Take in a call of a kind that the tables below name."""
        values = call.args
        if kind[-1].isdigit():
            kind, values = kind[:-1], values[int(kind[-1]) :]
        if kind == _SHELL:
            self._line(values[0] if values else None, call)
        elif kind in (_SPAWN, _FIRST):
            self._spawn(call, values, only_first=kind == _FIRST)
        elif kind == _EXEC:
            program, *rest = values or [HOLE]
            listed = next((value for value in rest if isinstance(value, list)), rest)
            self._argv([program, *_flat(listed)[1:]])
        elif kind == _EVAL:
            self._eval(values, call)
        elif kind in ("deno", "port", "perl_open"):
            getattr(self, f"_{kind}")(call)
        else:
            self._files(kind, call)

    def _spawn(self, call: Call, values: list[Value], *, only_first: bool) -> None:
        """A text alone is a command line; a list, or several texts, are the words of one command."""
        if only_first:
            values = [call.named["args"]] if "args" in call.named else values[:1]
        values = [value for value in values if not isinstance(value, dict)]
        if "executable" in call.named and isinstance(values[0] if values else None, list):
            self._argv([call.named["executable"], *_flat(values)[1:]])
        if len(values) == 1 and isinstance(values[0], tuple):
            self._line(values[0], call)
        elif values:
            words = _flat(values)
            self._argv(words)
            if "shell" in call.named and words and isinstance(words[0], tuple):
                self._line(words[0], call)

    def _line(self, value: Value | None, call: Call) -> None:
        if not isinstance(value, tuple):
            if isinstance(value, list):
                self._argv(_flat([value]))
            elif value is not None:
                self.shell.append("$argument")
            return
        self.shell.append("".join("$argument" if piece is None else piece for piece in value))
        if None in value and len(value) > 1:  # what is put in may hold a command of its own
            self.unreadable.append(f"line {call.line}: {call.name} of a text that is put together")

    def _argv(self, words: list[Value]) -> None:
        if words:
            self.shell.append(" ".join(map(_word, words)))

    def _eval(self, values: list[Value], call: Call) -> None:
        if not values:
            return
        value = values[0]
        if isinstance(value, tuple) and None not in value:
            self.code.append("".join(piece or "" for piece in value))
        else:
            self.unreadable.append(f"line {call.line}: {call.name} of code that only running can tell")

    def _files(self, kind: str, call: Call) -> None:
        paths = [_known(value) for value in call.args]
        mode = _known(call.named.get("mode", call.args[1] if len(call.args) > 1 else ())) or "r"
        if kind == _OPEN:
            kind = _WRITE if any(char in mode for char in "wax+>") else _READ
        for at, path in enumerate(paths[: 2 if kind == _COPY else 1]):
            if path and path.startswith("|"):  # Ruby runs such a name
                self.shell.append(path[1:])
            elif path:
                self.files.append(((_READ, _WRITE)[at] if kind == _COPY else kind, path))

    def _deno(self, call: Call) -> None:
        options = call.args[1] if len(call.args) > 1 else {}
        args = options.get("args", []) if isinstance(options, dict) else Splat()
        self._argv(_flat([*call.args[:1], args]))

    def _port(self, call: Call) -> None:
        how, *program = _flat(call.args[:1]) or [HOLE]
        if how == (":spawn",):
            self._line(program[0] if program else HOLE, call)
        else:
            self._argv([*program, Splat()] if program else [HOLE])

    def _perl_open(self, call: Call) -> None:
        """`open(F, "cmd |")`, `open(F, "-|", "cmd", ...)`, `open(F, "<", path)`."""
        mode, rest = _known(call.args[1]) if len(call.args) > 1 else "", call.args[2:]
        if mode is None:
            if not rest:
                self.unreadable.append(f"line {call.line}: open of a name that may be a command")
        elif "|" in mode and rest:
            self._spawn(call, rest, only_first=False)
        elif mode.strip().startswith("|") or mode.strip().endswith("|"):
            self.shell.append(mode.strip().strip("|"))
        elif path := (_known(rest[0]) if rest else mode.lstrip("+<> ")):
            self.files.append((_WRITE if ">" in mode or "+" in mode else _READ, path))


def _flat(values: list[Value]) -> list[Value]:
    words: list[Value] = []
    for value in values:
        if isinstance(value, list):
            words += _flat(value)
        elif not isinstance(value, dict):
            words.append(value)
    return words


def _word(value: Value) -> str:
    if isinstance(value, tuple):
        return "".join('"$argument"' if piece is None else quote(piece) for piece in value) or "''"
    return "$argument"


def _known(value: Value) -> str | None:
    if isinstance(value, tuple) and None not in value:
        return "".join(piece or "" for piece in value)
    return None


def _table(**kinds: str) -> dict[str, str]:
    return {name: kind for kind, names in kinds.items() for name in names.split()}


# language -> name -> kind. A name that begins with "." is a method of anything.
TABLES: dict[str, dict[str, str]] = {
    "python": _table(
        shell="os.system os.popen .system subprocess.getoutput subprocess.getstatusoutput pexpect.run "
        "asyncio.create_subprocess_shell",
        first="subprocess.run subprocess.call subprocess.check_call subprocess.check_output subprocess.Popen pty.spawn",
        spawn="asyncio.create_subprocess_exec pexpect.spawn os.startfile",
        shell1=".subprocess_shell",
        spawn1=".subprocess_exec",
        exec="os.execl os.execle os.execlp os.execlpe os.execv os.execve os.execvp os.execvpe os.posix_spawn "
        "os.posix_spawnp",
        exec1="os.spawnl os.spawnle os.spawnlp os.spawnlpe os.spawnv os.spawnve os.spawnvp os.spawnvpe",
        eval="exec eval builtins.exec builtins.eval",
        open="open io.open codecs.open os.open builtins.open .open",
        read=".read_text .read_bytes linecache.getlines runpy.run_path",
        write=".write_text .write_bytes .unlink os.remove os.unlink os.truncate shutil.rmtree",
        copy="shutil.copy shutil.copy2 shutil.copyfile shutil.move os.rename os.replace os.link os.symlink",
    ),
    "javascript": _table(
        shell="child_process.exec child_process.execSync .execSync $` Bun.$` zx.$`",
        spawn="child_process.spawn child_process.spawnSync child_process.execFile child_process.execFileSync "
        "child_process.fork .spawnSync .execFileSync Bun.spawn Bun.spawnSync execa execaSync",
        first="Deno.run",
        deno="Deno.Command",
        eval="eval Function vm.runInThisContext vm.runInNewContext",
        read="fs.readFile fs.readFileSync fs.createReadStream fs.promises.readFile fs/promises.readFile .readFileSync "
        "Deno.readTextFile Deno.readFile Bun.file",
        write="fs.writeFile fs.writeFileSync fs.appendFile fs.appendFileSync fs.createWriteStream fs.rm fs.rmSync "
        "fs.unlink fs.unlinkSync fs.promises.writeFile fs/promises.writeFile .writeFileSync Deno.writeTextFile",
        open="fs.open fs.openSync fs/promises.open",
        copy="fs.copyFile fs.copyFileSync fs.rename fs.renameSync",
    ),
    "ruby": _table(
        spawn="system exec spawn Kernel.system Kernel.exec Kernel.spawn Process.spawn Process.exec PTY.spawn "
        "Open3.capture2 Open3.capture2e Open3.capture3 Open3.popen2 Open3.popen2e Open3.popen3 Open3.pipeline",
        first="IO.popen",
        eval="eval Kernel.eval instance_eval class_eval",
        open="open File.open File.new IO.open Kernel.open",
        read="File.read IO.read File.readlines IO.readlines File.foreach File.binread load",
        write="File.write IO.write File.delete File.unlink FileUtils.rm FileUtils.rm_rf",
        copy="FileUtils.cp FileUtils.mv File.rename",
    ),
    "go": _table(
        spawn="exec.Command",
        spawn1="exec.CommandContext",
        exec="syscall.Exec os.StartProcess syscall.ForkExec unix.Exec",
        read="os.ReadFile os.Open ioutil.ReadFile",
        write="os.WriteFile os.Create os.Remove os.RemoveAll ioutil.WriteFile",
        copy="os.Rename",
    ),
    "rust": _table(
        spawn="Command.new",
        shell="system libc.system",
        read="fs.read_to_string fs.read File.open",
        write="fs.write File.create fs.remove_file fs.remove_dir_all",
        copy="fs.copy fs.rename",
    ),
    "php": _table(
        shell="system exec shell_exec passthru popen",
        first="proc_open",
        spawn="pcntl_exec",
        eval="eval assert",
        open="fopen",
        read="include file_get_contents file readfile parse_ini_file show_source highlight_file",
        write="file_put_contents unlink",
        copy="copy rename",
    ),
    "perl": _table(
        spawn="system exec readpipe",
        spawn2="Open2.open2 open2",
        spawn3="Open3.open3 open3",
        perl_open="open",
        eval="eval",
        write="unlink",
    ),
    "r": _table(
        shell="system shell pipe shell.exec",
        spawn="system2 processx.run exec_wait sys.exec_wait",
        read="readLines readRDS read.csv read.table scan source file readChar readBin",
        write="unlink file.remove",
        copy="file.copy file.rename",
        eval="parse",
    ),
    "elixir": _table(
        spawn="System.cmd MuonTrap.cmd",
        shell="System.shell :os.cmd",
        port="Port.open",
        eval="Code.eval_string",
        read="File.read File.read! File.stream! File.open File.open!",
        write="File.write File.write! File.rm File.rm! File.rm_rf File.rm_rf!",
        copy="File.cp File.cp! File.rename File.rename!",
    ),
}
TABLES["typescript"] = TABLES["javascript"]


def kind_of(name: str, language: str) -> str:
    """What a call of this name does, or ""."""
    table = TABLES[language]
    parts = name.split(".")
    for candidate in (name, ".".join(parts[-2:]), "." + parts[-1] if len(parts) > 1 else ""):
        if candidate in table:
            return table[candidate]
    return ""
