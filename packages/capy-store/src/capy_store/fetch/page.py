"""URL to page: redirects, status and limits. Knows nothing of the store."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from capy_core.errors import BadInput, Busy, CapyError, NotFound, Refused

from .. import __version__
from . import body, guard, transport
from .convert import Content, convert, media_type, refuse_binary
from .guard import Target
from .network import INTERNET, Network
from .transport import Deadline, Response

if TYPE_CHECKING:
    from capy_core.config import FetchConfig

_REDIRECTS = (301, 302, 303, 307, 308)
_HEADERS = {
    "User-Agent": f"capy-store/{__version__}",
    # Many documentation sites answer with Markdown when asked to
    "Accept": "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, application/json;q=0.9, */*;q=0.5",
    "Accept-Encoding": body.ACCEPTED,
}


@dataclass(frozen=True)
class Page:
    """A page as it was fetched and converted.

    Args:
        url: as asked for, normalised, without fragment.
        final_url: after redirects.
        status_code: of the last answer (200-299).
        media_type: from its Content-Type, without parameters; "" when it had none.
        charset: how the bytes were read (Python's name).
        content_type: for the store's chunker: markdown, json, code, text, or "" to let it find out.
        title: what the page calls itself, or "".
        text: Markdown for HTML, else the text as it came.
        bytes: size of the body, decompressed.
        notes: what a reader should know, one sentence each.
        etag, last_modified: the headers of these names, or "".
    """

    url: str
    final_url: str
    status_code: int
    media_type: str
    charset: str
    content_type: str
    title: str
    text: str = field(repr=False)
    bytes: int
    notes: tuple[str, ...] = ()
    etag: str = ""
    last_modified: str = ""


@dataclass(frozen=True)
class Known:
    """A page that is at hand from before, so that a site may say "not modified" instead of sending it again.

    Args:
        final_url: where it came from in the end; the marks below are its server's.
        etag, last_modified: the headers of these names, or "".
    """

    final_url: str
    etag: str = ""
    last_modified: str = ""


def check_url(url: str) -> str:
    """The URL as `Page.url` will have it, if it may be fetched as far as its text tells. No request is made.

    Raises:
        BadInput, Refused: see `fetch_page`.
    """
    return _target(url).url


def fetch_page(
    url: str,
    config: FetchConfig,
    *,
    timeout_s: float | None = None,
    known: Known | None = None,
    network: Network = INTERNET,
) -> Page | None:
    """Fetch a page and convert it to text.

    Args:
        url: http or https.
        config: limits.
        timeout_s: for the whole request, in place of `config.timeout_s`.
        known: what is at hand.
        network: only tests hand in another one.

    Returns:
        The page, or None when the site says that `known` is still right.

    Raises:
        BadInput: not a URL, or a body that is empty, binary or damaged, or a status without a better class below.
        TooLarge: more than `config.max_bytes` after decompression.
        Refused: scheme, address or kind of URL that is not fetched; a wrong certificate; status 401, 403, 407, 451.
        NotFound: status 404 or 410. Unreachable (a NotFound): no whole answer in time.
        Busy: status 429 or 503.
    """
    asked = target = _target(url)
    with Deadline(timeout_s or config.timeout_s) as deadline:
        for hop in range(config.max_redirects + 1):
            headers = _HEADERS | _conditions(known, target)
            with transport.get(target, headers, hop=hop, deadline=deadline, network=network) as response:
                if response.status == 304 and len(headers) > len(_HEADERS):
                    return None
                location = response.headers.get("Location", "") if response.status in _REDIRECTS else ""
                if not location:
                    return _page(asked, target, response, config, deadline)
            target = _target(_joined(target, location))
    raise BadInput(f"more than {config.max_redirects} redirects, the last to {target.url}", "check the URL")


def _target(url: str) -> Target:
    from capy_core.forge import forge_url

    target = guard.parse(url)
    reference = forge_url(target.url)
    if reference:
        what = f"{reference.kind} {reference.number} of {reference.repository}"
        run = f"run: {reference.command}" if reference.command else "read it with the site's own API"
        raise Refused(f"{target.url} is {what}: the page does not hold all of it", run, url=target.url)
    return target


def _conditions(known: Known | None, target: Target) -> dict[str, str]:
    if known is None or known.final_url != target.url:
        return {}
    pairs = {"If-None-Match": known.etag, "If-Modified-Since": known.last_modified}
    return {name: value for name, value in pairs.items() if value}


def _page(asked: Target, target: Target, response: Response, config: FetchConfig, deadline: Deadline) -> Page:
    _check_status(response, target)
    header = response.headers.get("Content-Type", "")
    refuse_binary(media_type(header)[0])
    data = body.read(response, config.max_bytes)
    deadline.remaining()  # a body without length that was cut looks whole
    content: Content = convert(data, header, target.url)
    return Page(
        url=asked.url,
        final_url=target.url,
        status_code=response.status,
        media_type=media_type(header)[0],
        charset=content.charset,
        content_type=content.content_type,
        title=content.title,
        text=content.text,
        bytes=len(data),
        notes=content.notes,
        etag=_short(response.headers.get("ETag", "")),
        last_modified=_short(response.headers.get("Last-Modified", "")),
    )


def _check_status(response: Response, target: Target) -> None:
    status = response.status
    if 200 <= status < 300 and status not in (204, 205, 206):
        return
    kind: type[CapyError] = BadInput
    hint = "check the URL in a browser"
    if status in (404, 410):
        kind = NotFound
    elif status in (401, 403, 407, 451):
        kind, hint = Refused, "the site does not show this page to everybody; index a saved copy of it"
    elif status in (429, 503):
        kind, hint = Busy, f"try again {_retry_after(response)}"
    elif status >= 500:
        hint = "the site fails; try again later"
    reason = " ".join(response.reason.split())[:80]
    raise kind(f"{target.url} answers {status} {reason}".rstrip(), hint, status_code=status, url=target.url)


def _retry_after(response: Response) -> str:
    seconds = response.headers.get("Retry-After", "").strip()
    return f"after {seconds} s" if seconds.isdecimal() and len(seconds) < 7 else "later"


def _short(header: str) -> str:
    """A header that is worth keeping: printable ASCII, not a page long."""
    return header if len(header) <= 200 and header.isascii() and header.isprintable() else ""


def _joined(target: Target, location: str) -> str:
    """Where a Location header leads. http.client reads headers as Latin-1; servers send UTF-8."""
    with suppress(UnicodeError):
        location = location.encode("latin-1").decode("utf-8")
    try:
        return urljoin(target.url, location)
    except ValueError as ex:
        raise BadInput(f"{target.url} redirects to what is no URL ({ex})", "check the URL in a browser") from ex
