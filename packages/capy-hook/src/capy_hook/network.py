"""Commands that would print a whole response from the web into the context, and what to call instead.

Decided on the commands of the parsed script: a name in a text, in an argument or in a file that is written is no
command. It saves context and is no barrier, so what cannot be told passes.
"""

from __future__ import annotations

from .fetchers import Fetch, fetch_of
from .inline import calls_out
from .pipes import reaches_context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from capy_exec.policy.shell import Command, Script

# Code without any of these is not parsed for our sake. A command whose name is put together at run time is not seen.
_WORDS = (
    "curl",
    "wget",
    "http",
    "fetch",
    "lynx",
    "w3m",
    "links",
    "xh",
    "axios",
    "urlopen",
    "requests",
    "reqwest",
    "lwp",
)
_ELSEWHERE = ("docker", "podman", "kubectl", "oc", "ssh", "vagrant", "nsenter", "lxc", "docker-compose", "nerdctl")
_LANGUAGES = {"js": "javascript", "node": "javascript", "ts": "typescript", "python3": "python"}
_MAX_SHOWN = 1200  # characters of a command that are repeated


def may_fetch(code: str) -> bool:
    """Whether code names anything that this module knows: else it need not be parsed."""
    lowered = code.lower()
    return any(word in lowered for word in _WORDS)


def refusal(script: Script, code: str, allow: Sequence[str]) -> str:
    """Why a script is not run as it is and what to call instead; "" when nothing in it floods the context.

    Args:
        script: the parsed script.
        code: its text.
        allow: patterns of commands that may print what they like.
    """
    for command in script.commands:
        if _is_left_alone(command, allow):
            continue
        fetch = fetch_of(command.name, command.words[1:], more="xargs" in command.via)
        if fetch is not None and (fetch.prints or fetch.chatty):
            prints, chatty = reaches_context(command, script.commands)
            if fetch.prints and prints:
                return _fetch_text(command, fetch, code)
            if fetch.chatty and chatty:
                return _chatty_text(command, fetch)
        elif command.code is not None and _calls_out(command) and reaches_context(command, script.commands)[0]:
            return _inline_text(command)
    return ""


def fits(pattern: str, text: str) -> bool:
    """Whether a command's text fits a pattern of the form of a permission rule.

    `*` is any run of characters; a trailing ` *` or `:*` also fits the bare words before it.
    """
    if pattern.endswith((" *", ":*")):
        head = pattern[:-2]
        if fits(head, text):
            return True
        pattern = f"{head} *"
    first, *others = pattern.split("*")
    if not others:
        return text == pattern
    if not text.startswith(first):
        return False
    place = len(first)
    for part in others[:-1]:
        found = text.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return len(text) - len(others[-1]) >= place and text.endswith(others[-1])


def _is_left_alone(command: Command, allow: Sequence[str]) -> bool:
    switched_off = any(name == "CAPY_HOOK" and str(value) == "off" for name, value in command.assignments)
    return (
        switched_off
        or any(outer in _ELSEWHERE or outer.startswith("capy-") for outer in (command.name, *command.via))
        or any(fits(pattern, command.text) for pattern in allow)
    )


def _calls_out(command: Command) -> bool:
    if command.code is None:
        return False
    language, code = command.code
    return may_fetch(code) and calls_out(_LANGUAGES.get(language, language), code)


def _fetch_text(command: Command, fetch: Fetch, code: str) -> str:
    instead = [_run_text("shell", code if len(code) <= _MAX_SHOWN else command.text)]
    if fetch.plain and fetch.url and not is_local(fetch.url):
        instead.insert(0, fetch_call(fetch.url))
    return (
        f"capy blocked this command, nothing of it ran: {command.name} would print a whole response into the context.\n"
        f"Instead: {'; or '.join(instead)}.\n"
        "As a shell command it passes when it writes to a file (-o FILE) or through a bounded filter (| head -20,"
        " | jq .field, | grep WORD)."
    )


def _chatty_text(command: Command, fetch: Fetch) -> str:
    return (
        f"capy blocked this command, nothing of it ran: the progress or trace that {command.name} prints grows with the"
        f" transfer. It passes {fetch.chatty}, or with 2>FILE."
    )


def _inline_text(command: Command) -> str:
    language, code = command.code or ("", "")
    return (
        "capy blocked this command, nothing of it ran: its inline code makes an HTTP request, whose response would be"
        f" printed into the context.\nInstead: {_run_text(_LANGUAGES.get(language, language), code)}; for a page,"
        " capy_fetch_and_index(url, source).\n"
        "As a shell command it passes with its output in a file or through a bounded filter (| head -20)."
    )


def _run_text(language: str, code: str) -> str:
    shown = code if len(code) <= _MAX_SHOWN else "<the same code>"
    return f'capy_execute(language: {_quoted(language)}, code: {_quoted(shown)}, intent: "what you look for")'


def fetch_call(url: str) -> str:
    """The calls that fetch a page and find what was wanted in it."""
    return (
        f"capy_fetch_and_index(url: {_quoted(url)}, source: {_quoted(source_of(url))}), then"
        ' capy_search(queries: ["what you look for"])'
    )


def source_of(url: str) -> str:
    """A label for a page: its host and path."""
    return url.partition("://")[2].partition("#")[0].partition("?")[0].rstrip("/")[:100] or url[:100]


def is_local(url: str) -> bool:
    """Whether an address is one that a fetcher of public pages refuses, as far as the text tells."""
    rest = url.partition("://")[2] or url
    host = rest.partition("/")[0].partition("?")[0].rpartition("@")[2].lower()
    if host.startswith("["):
        return True  # IPv6 in figures: most often ::1
    host = host.partition(":")[0]
    private = host.replace(".", "").isdigit() and (
        host.startswith(("127.", "10.", "192.168.", "169.254.", "0."))
        or (host.startswith("172.") and 16 <= int(host.split(".")[1][:3] or 0) < 32)
    )
    return private or "." not in host or host.endswith((".local", ".internal", ".localhost", ".test"))


def _quoted(text: str) -> str:
    from capy_core.barejson import encode

    return encode(text).decode()
