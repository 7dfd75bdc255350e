"""HTTP calls in code that stands in a command: `python -c`, `node -e`, a heredoc into an interpreter."""

from __future__ import annotations

_PYTHON = (
    "requests.get requests.post requests.put requests.patch requests.delete requests.head requests.request"
    " requests.Session httpx.get httpx.post httpx.put httpx.patch httpx.delete httpx.request httpx.stream httpx.Client"
    " httpx.AsyncClient urllib3.PoolManager urllib3.request aiohttp.request .urlopen .HTTPConnection .HTTPSConnection"
    " .ClientSession"
)
_NODE = (
    "fetch http.get https.get http.request https.request axios axios.get axios.post axios.put axios.patch axios.delete"
    " axios.request got got.get got.post got.stream superagent.get superagent.post undici.request XMLHttpRequest"
    " require(http).get require(https).get require(http).request require(https).request require(node:http).get"
    " require(node:https).get require(axios) require(axios).get require(axios).post require(node-fetch) require(got)"
)
# What calls out, by language: dotted names, where they begin a name and are called; with a dot before, as methods too
_CALLS = {
    "python": _PYTHON,
    "javascript": _NODE,
    "typescript": _NODE,
    "ruby": "Net::HTTP.get Net::HTTP.post Net::HTTP.start Net::HTTP.get_response URI.open HTTParty.get"
    " HTTParty.post Faraday.get Faraday.post RestClient.get RestClient.post",
    "perl": "LWP::UserAgent->new HTTP::Tiny->new",
    "php": "curl_init",
    "go": "http.Get http.Post http.NewRequest http.NewRequestWithContext http.Head",
    "r": "httr::GET httr::POST curl::curl_fetch_memory httr2::request GET",
    "elixir": "HTTPoison.get! HTTPoison.get Req.get! Req.get :httpc.request",
    "rust": "reqwest::get reqwest::blocking::get ureq::get",
}
# Functions that read a file or, given an address, the web
_OPENERS = {
    "php": ("file_get_contents", "readfile", "fopen"),
    "r": ("readLines", "read.csv", "fromJSON", "scan", "url"),
    "ruby": ("open",),
    "perl": ("get", "getprint"),
}
# Before these a name is no method of some object
_GLOBALS = ("window.", "globalThis.", "global.", "self.")
_QUOTES = {"javascript": "'\"`", "typescript": "'\"`", "go": "'\"`", "rust": '"'}
_COMMENTS = {"javascript": "//", "typescript": "//", "go": "//", "rust": "//", "php": "//"}


def calls_out(language: str, code: str) -> bool:
    """Whether code calls an HTTP library, as far as the library's usual names tell.

    Texts and comments in the code do not count. A call by another name, from a module on disk or in code put together
    at run time is not seen: the redirect helps, it is no barrier.
    """
    bare, texts = _without_texts(code, _QUOTES.get(language, "'\""), _COMMENTS.get(language, "#"))
    if any(_is_called(bare, name) for name in _CALLS.get(language, "").split()):
        return True
    addressed = any(text.startswith(("http://", "https://")) for text in texts)
    return addressed and any(_is_called(bare, name) for name in _OPENERS.get(language, ()))


def _is_called(code: str, name: str) -> bool:
    """Whether a dotted name stands in code where it begins a name and an argument follows."""
    method, name = name.startswith("."), name.removeprefix(".")
    place = code.find(name)
    while place >= 0:
        before, after = code[place - 1 : place], code[place + len(name) :].lstrip(" \t")[:1]
        inside = (
            before.isalnum()
            or before in ("_", "$")
            or (before == "." and not method and not code[:place].endswith(_GLOBALS))
        )
        if not inside and after in ("(", "'", '"', "`"):
            return True
        place = code.find(name, place + 1)
    return False


def _without_texts(code: str, quotes: str, comment: str) -> tuple[str, list[str]]:
    """The code with its texts emptied and its comments gone, and the texts. `require('x')` becomes `require(x)`."""
    kept: list[str] = []
    texts: list[str] = []
    place = 0
    while place < len(code):
        char = code[place]
        if code.startswith(comment, place) and (comment != "//" or code[place - 1 : place] != ":"):
            place = _end(code, "\n", place) - 1
        elif char in quotes:
            mark = char * 3 if code.startswith(char * 3, place) else char
            end = _closing(code, mark, place + len(mark))
            texts.append(code[place + len(mark) : end - len(mark)])
            kept.append(texts[-1] if "".join(kept[-8:]) == "require(" else mark[0] * 2)
            place = end
            continue
        else:
            kept.append(char)
        place += 1
    return "".join(kept), texts


def _closing(code: str, mark: str, start: int) -> int:
    """The place behind the closing quotation mark, or the end of the code."""
    place = start
    while place < len(code):
        if code[place] == "\\":
            place += 2
        elif code.startswith(mark, place):
            return place + len(mark)
        else:
            place += 1
    return len(code)


def _end(code: str, what: str, start: int) -> int:
    found = code.find(what, start)
    return len(code) if found < 0 else found
