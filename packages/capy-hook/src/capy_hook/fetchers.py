"""Programs that fetch a page: what of it a call prints, from its words alone."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# What may follow `-o`, `-O` and `>` and is no file
SCREENS = (
    "-",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/tty",
    "/dev/fd/1",
    "/dev/fd/2",
    "/proc/self/fd/1",
    "/proc/self/fd/2",
)


class Fetch:
    """What a call fetches and prints.

    Attributes:
        url: the first address as written, "" when it is not among the words.
        prints: the body goes to stdout.
        chatty: how to silence stderr ("-q"), where progress or traces grow with the transfer; else "".
        plain: nothing but a GET, which a fetcher of pages can repeat.
    """

    __slots__ = ("chatty", "plain", "prints", "url")

    def __init__(self, url: str, *, prints: bool, chatty: str = "", plain: bool = True) -> None:
        self.url = url
        self.prints = prints
        self.chatty = chatty
        self.plain = plain


def fetch_of(name: str, words: Sequence[str], *, more: bool = False) -> Fetch | None:
    """What a command fetches, or None when it fetches nothing or prints a few lines at most.

    Args:
        name: the program's name.
        words: its arguments.
        more: further arguments come at run time (xargs).
    """
    reader = _READERS.get(name)
    return reader(words, more) if reader is not None else None


def _curl(words: Sequence[str], more: bool) -> Fetch | None:
    urls: list[str] = []
    targets = 0
    screen = all_remote = trace = False
    plain = True
    for option, value in _options(words, _CURL_SHORT, _CURL_LONG):
        if option in ("V", "version", "h", "help", "I", "head", "M", "manual"):
            return None
        if option in ("", "url"):
            urls.append(value)
        elif option in ("o", "output"):
            targets += 1
            screen = screen or value in SCREENS
        elif option in ("O", "remote-name"):
            targets += 1
        elif option == "remote-name-all":
            all_remote = True
        elif option in ("v", "verbose") or (option in ("trace", "trace-ascii") and value in SCREENS):
            trace = True
        elif option in ("trace", "trace-ascii", "stderr"):
            trace = False
        elif option in _CURL_NOT_PLAIN:
            plain = False
    if not urls and not more:
        return None
    prints = screen or (not all_remote and targets < len(_addresses(urls, more)))
    return Fetch(_first(urls), prints=prints, chatty="without -v" if trace else "", plain=plain)


def _wget(words: Sequence[str], more: bool) -> Fetch | None:
    urls: list[str] = []
    prints, chatty, plain = False, "with -q", True
    for option, value in _options(words, "aoeiBtOTwQPUlARDIX", _WGET_LONG):
        if option in ("V", "version", "h", "help", "spider"):
            return None
        if option == "":
            urls.append(value)
        elif option in ("i", "input-file"):
            more = True
        elif option in ("O", "output-document"):
            prints = value in SCREENS
        elif option in _WGET_QUIET:
            chatty = ""
        elif option in _WGET_NOT_PLAIN:
            plain = False
    if any(word.startswith("-nv") for word in words):
        chatty = ""
    return Fetch(_first(urls), prints=prints, chatty=chatty, plain=plain) if urls or more else None


def _httpie(words: Sequence[str], more: bool) -> Fetch | None:
    """`http [METHOD] URL [ITEM ...]` and xh, which speaks the same language."""
    rest: list[str] = []
    prints = True
    for option, value in _options(words, "apsoAS", ("auth", "print", "style", "output", "session", "timeout", "proxy")):
        if option in ("h", "headers", "version", "help"):
            return None
        if option == "":
            rest.append(value)
        elif option in ("d", "download") or (option in ("o", "output") and value not in SCREENS):
            prints = False
    if not rest and not more:
        return None
    method = rest[0] if rest and rest[0].isalpha() and rest[0].isupper() else ""
    after = rest[1:] if method else rest
    return Fetch(_first(after), prints=prints, plain=method in ("", "GET") and len(after) == 1)


def _text_browser(words: Sequence[str], more: bool) -> Fetch | None:
    """lynx, w3m, links, elinks: `-dump` and `-source` print."""
    urls = [word for word in words if not word.startswith("-")]
    prints = any(word.lstrip("-").replace("_", "-") in _DUMPS for word in words)
    return Fetch(_first(urls), prints=True) if prints and (urls or more) else None


_DUMPS = ("dump", "source", "dump-source")
_READERS: dict[str, Callable[[Sequence[str], bool], Fetch | None]] = {
    "curl": _curl,
    "wget": _wget,
    "wget2": _wget,
    "http": _httpie,
    "https": _httpie,
    "xh": _httpie,
    "xhs": _httpie,
    "lynx": _text_browser,
    "w3m": _text_browser,
    "links": _text_browser,
    "elinks": _text_browser,
}
_CURL_SHORT = "AbcCdDeEFHKmoPQrtTuUwxXyYz"  # the options of one letter that take a value
_CURL_NOT_PLAIN = {
    "d", "F", "H", "T", "u", "X", "b", "x", "K", "k", "data", "data-raw", "data-binary", "data-urlencode", "data-ascii",
    "json", "form", "form-string", "header", "upload-file", "user", "request", "cookie", "proxy", "unix-socket", "cert",
    "oauth2-bearer", "aws-sigv4", "config", "key", "resolve", "connect-to",
}  # fmt: skip
_CURL_LONG = _CURL_NOT_PLAIN | {
    "output", "url", "trace", "trace-ascii", "stderr", "max-time", "connect-timeout", "retry", "retry-delay", "cacert",
    "retry-max-time", "capath", "write-out", "output-dir", "range", "dump-header", "limit-rate", "interface",
    "user-agent", "referer", "cookie-jar", "max-filesize", "max-redirs", "proto", "proto-redir", "proto-default",
    "ciphers", "tls-max", "dns-servers", "noproxy", "time-cond", "url-query", "rate", "socks5", "socks5-hostname",
    "preproxy", "pass", "cert-type", "key-type", "speed-limit", "speed-time", "continue-at", "proxy-user", "netrc-file",
    "create-file-mode", "keepalive-time", "expect100-timeout", "happy-eyeballs-timeout-ms", "variable", "etag-save",
    "etag-compare", "tls13-ciphers", "curves", "quote", "postquote", "doh-url", "abstract-unix-socket",
}  # fmt: skip
_WGET_NOT_PLAIN = ("header", "post-data", "post-file", "method", "user", "password", "body-data", "body-file")
_WGET_QUIET = ("q", "quiet", "no-verbose", "o", "output-file", "a", "append-output", "b", "background")
_WGET_LONG = {
    "output-document", "output-file", "append-output", "input-file", "tries", "timeout", "header", "user-agent",
    "post-data", "post-file", "body-data", "body-file", "method", "directory-prefix", "level", "accept", "reject",
    "domains", "user", "password", "referer", "limit-rate", "quota", "wait", "base", "execute", "load-cookies",
    "save-cookies", "ca-certificate", "progress", "bind-address", "http-user", "http-password", "waitretry",
    "connect-timeout", "read-timeout", "dns-timeout", "exclude-domains", "certificate", "private-key", "cut-dirs",
}  # fmt: skip


def _options(words: Sequence[str], short: str, long: Sequence[str] | set[str]) -> Iterator[tuple[str, str]]:
    """Each option with its value as getopt reads them, and ("", word) for each other argument.

    Args:
        words: the arguments.
        short: letters of the options that take a value.
        long: names of the long options that take one.
    """
    place = 0
    while place < len(words):
        word = words[place]
        place += 1
        if word == "--":
            yield from (("", rest) for rest in words[place:])
            return
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            if not equals and name in long and place < len(words):
                value = words[place]
                place += 1
            yield name, value
        elif word.startswith("-") and len(word) > 1:
            for at, letter in enumerate(word[1:], 2):
                if letter not in short:
                    yield letter, ""
                    continue
                value = word[at:]
                if not value and place < len(words):
                    value = words[place]
                    place += 1
                yield letter, value
                break
        else:
            yield "", word


def _addresses(urls: list[str], more: bool) -> list[str]:
    """Those of the arguments that are addresses; one that only running can tell may be a list of options."""
    likely = [url for url in urls if "://" in url or getattr(url, "known", True)]
    return likely or urls[:1] or ([""] if more else [])


def _first(urls: list[str]) -> str:
    return next((str(url) for url in urls if getattr(url, "known", True)), "")
