"""Does a `Bash(...)` rule, or a `prefix_rule` of Codex, fit a simple command: yes, no, or maybe.

A command is held against a rule in several forms: as it is written, under its bare name, with its assignments before
it, and without the options between a program and its subcommand (`git -C /p push`). Options are also compared as sets:
`Bash(rm -rf:*)` fits `rm -r --force x`. Maybe: a word that only running can tell (`git $x`) would make it fit.
"""

from __future__ import annotations

from capy_core.globs import literal, overlap, text_matches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from capy_core.permissions import Rule

    from .shell import Command

NO, MAYBE, YES = 0, 1, 2

# Options that take the next word as their value, which is then no operand
_TAKES_VALUE = {
    "git": {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--attr-source"},
    "docker": {"-H", "--host", "-l", "--log-level", "--config", "-c", "--context"},
    "podman": {"-c", "--connection", "--log-level", "--root", "--runroot", "--url"},
    "kubectl": {"-n", "--namespace", "--context", "--cluster", "--kubeconfig", "--user", "-s", "--server", "--token"},
    "helm": {"-n", "--namespace", "--kube-context", "--kubeconfig"},
    "npm": {"--prefix", "-C", "-w", "--workspace", "--loglevel", "--registry"},
    "pnpm": {"-C", "--dir", "-F", "--filter"},
    "yarn": {"--cwd"},
    "gh": {"-R", "--repo"},
    "aws": {"--profile", "--region", "--output", "--endpoint-url"},
    "cargo": {"--color", "--config", "-C", "-Z"},
    "make": {"-C", "--directory", "-f", "--file", "--makefile", "-I", "-o", "-W"},
    "systemctl": {"-H", "--host", "-M", "--machine"},
}  # fmt: skip
_LETTER_OF = {"recursive": "r", "force": "f"}
_SAME_LETTER = {"rm": {"R": "r"}}
_LONGEST_CLUSTER = 4  # -rfvi; what is longer is one option, as `-delete` of find
_OPENS_EXPANSION = "$`*?[{~<"


class BashRule:
    """A rule of the tool Bash, made ready."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        spec = "" if rule.prefix else rule.spec
        if spec.endswith(":*"):
            spec = f"{spec[:-2].rstrip()} *".lstrip()
        self.fits_all = spec in ("", "*") and not rule.prefix
        self._patterns = [spec, spec[:-2]] if spec.endswith(" *") else [spec]
        self._quoted = '"' in spec or "'" in spec
        self._options = _Options.of_rule(spec) if spec and not rule.prefix else None
        self._firsts = _first_words(rule, spec)
        self.spans_commands = any(char in spec for char in "|;&<>")

    def fits(self, forms: Forms) -> int:
        """NO, MAYBE or YES."""
        if self._firsts and forms.firsts and self._firsts.isdisjoint(forms.firsts):
            return NO
        if self.rule.prefix:
            return max(self._fits_prefix(words) for words in forms.word_lists)
        if self.fits_all:
            return YES
        if any(self.fits_text(text) for text in forms.texts):
            return YES
        if self._options and self._options.within(forms.options, forms.unknown):
            return MAYBE if forms.unknown and not self._options.within(forms.options, unknown=False) else YES
        might = any(
            overlap(mine, its) and not self._misses_option(words)
            for its, words in zip(forms.patterns, forms.word_lists, strict=False)
            for mine in self._patterns
        )
        return MAYBE if might else NO

    def _misses_option(self, words: Sequence[str]) -> bool:
        """True when the rule has an option where the command has an operand, whatever its value."""
        for wanted, word in zip(self._patterns[0].split(), words, strict=False):
            if "*" in wanted or (not getattr(word, "known", True) and not _is_operand(word)):
                return False
            if wanted.startswith("-") and _is_operand(word):
                return True
        return False

    def fits_text(self, text: str) -> bool:
        """True when a text fits; quotes in the rule stand for what they do in a shell."""
        if any(text_matches(pattern, text) for pattern in self._patterns):
            return True
        if not self._quoted:
            return False
        bare = _unquoted(text)
        return any(text_matches(_unquoted(pattern), bare) for pattern in self._patterns)

    def allows(self, command: Command) -> bool:
        """True when it fits a command as it is written: what allows must not be talked into more than it says."""
        if self.rule.prefix:
            return self._fits_prefix(command.words) == YES
        return self.fits_all or self.fits_text(command.text)

    @property
    def is_exact(self) -> bool:
        """True when it names one command and no beginning of commands."""
        return not self.rule.prefix and not self.fits_all and "*" not in self.rule.spec.replace("\\*", "")

    def _fits_prefix(self, words: Sequence[str]) -> int:
        result = YES if len(words) >= len(self.rule.prefix) else NO
        for word, choices in zip(words, self.rule.prefix, strict=False):
            if not getattr(word, "known", True):
                return MAYBE  # it may also stand for several words
            if word not in choices:
                return NO
        return result


class Forms:
    """A simple command, which has a name, in all the forms that a rule may mean.

    Attributes:
        word_lists: the words, from the name on.
        texts: the same as text.
        patterns: the same with `*` for what only running can tell; empty when all is known.
        options: its options and operands.
        firsts: the first words of the forms; empty when only running can tell them.
        unknown: a word of it that only running can tell may be an option, or the beginning of the operands.
    """

    def __init__(self, command: Command) -> None:
        words: list[str] = list(command.words)
        name = _bare_name(command.name)
        self.word_lists: list[list[str]] = [words, [name, *words[1:]]]
        takes_value = _TAKES_VALUE.get(name, set())
        if len(words) > 1 and (words[1][:1] in "-+") and (first := _first_operand(words, takes_value)) < len(words):
            self.word_lists.append([name, *words[first:]])
        name_is_known = getattr(words[0], "known", True)
        self.firsts = {form[0].partition(" ")[0] for form in self.word_lists if name_is_known}
        self.texts = list(dict.fromkeys(" ".join(form) for form in self.word_lists))
        if command.assignments:
            before = " ".join(f"{variable}={value}" for variable, value in command.assignments)
            self.texts.append(f"{before} {' '.join(words)}".strip())
        self.options = _Options.of_words([name, *words[1:]])
        unknown = [word for word in words[1:] if not getattr(word, "known", True)]
        self.unknown = any(word[0] in "$`" and not _is_operand(word) for word in unknown if word)
        self.patterns = [" ".join(map(_as_pattern, form)) for form in self.word_lists] if unknown else []


class _Options:
    """The words of a command or a rule, sorted: name, operands, single letters, long options."""

    def __init__(self, name: str, operands: list[str], letters: set[str], longs: set[str], *, open_end: bool) -> None:
        self.name, self.operands, self.letters, self.longs = name, operands, letters, longs
        self._open_end = open_end

    @classmethod
    def of_words(cls, words: Sequence[str], *, open_end: bool = True) -> _Options:
        name = words[0] if words else ""
        takes_value = _TAKES_VALUE.get(name, set())
        same = _SAME_LETTER.get(name, {})
        operands: list[str] = []
        letters: set[str] = set()
        longs: set[str] = set()
        rest = iter(words[1:])
        for word in rest:
            if word == "--":
                operands += rest
            elif word.startswith("--"):
                long = word[2:].partition("=")[0]
                (letters if long in _LETTER_OF else longs).add(_LETTER_OF.get(long, long))
            elif word.startswith("-") and 1 < len(word) <= _LONGEST_CLUSTER + 1:
                letters |= {same.get(letter, letter) for letter in word[1:]}
            elif word.startswith("-") and len(word) > 1:
                longs.add(word)
            else:
                operands.append(word)
            if word in takes_value:
                next(rest, None)
        return cls(name, operands, letters, longs, open_end=open_end)

    @classmethod
    def of_rule(cls, spec: str) -> _Options | None:
        """The words of a rule that has options; None when there is nothing to compare as a set."""
        open_end = spec.endswith(" *")
        options = cls.of_words(spec.removesuffix(" *").split(), open_end=open_end)
        fixed = "*" not in spec.removesuffix(" *")
        return options if fixed and (options.letters or options.longs) else None

    def within(self, command: _Options, unknown: bool) -> bool:
        """True when a command has all that this rule names; `unknown`: one of its words may be any option."""
        if command.name != self.name:
            return False
        if not unknown and not (self.letters <= command.letters and self.longs <= command.longs):
            return False
        if self._open_end or unknown:
            return command.operands[: len(self.operands)] == self.operands
        return command.operands == self.operands


def bash_rules(rules: Iterable[Rule], *, forbids: bool) -> list[BashRule]:
    """The rules among them that speak of commands."""
    return [BashRule(rule) for rule in rules if (rule.speaks_of("Bash") if forbids else rule.tool == "Bash")]


def _first_words(rule: Rule, spec: str) -> frozenset[str]:
    """The words that a command must begin with for the rule to fit; empty when it may begin otherwise."""
    if rule.prefix:
        return frozenset(rule.prefix[0])
    first = spec.partition(" ")[0]
    return frozenset() if not first or any(char in first for char in "*\"'\\=|;&<>") else frozenset((first,))


def _first_operand(words: Sequence[str], takes_value: Iterable[str]) -> int:
    """Where the options after the name end."""
    place = 1
    while place < len(words) and words[place][:1] in ("-", "+") and words[place] != "--":
        place += 2 if words[place] in takes_value else 1
    return place


def _bare_name(name: str) -> str:
    return name[:-4] if name.lower().endswith(".exe") else name


def _as_pattern(word: str) -> str:
    if getattr(word, "known", True):
        return literal(word)
    end = min((place for char in _OPENS_EXPANSION if (place := word.find(char)) >= 0), default=0)
    return literal(word[:end]) + "*"


def _is_operand(word: str) -> bool:
    """True for an expansion in quotes, and for what xargs and find put in: one name of a file and no option.

    It could begin with a dash; asking at each `rm -f "$tmp"` would teach the user to say yes.
    """
    if getattr(word, "known", True) or not word.startswith(("$", "`", "{}")):
        return False
    return word == "{}" or not (getattr(word, "splits", False) or "@" in word or "*" in word)


def _unquoted(text: str) -> str:
    return text.replace('"', "").replace("'", "")
