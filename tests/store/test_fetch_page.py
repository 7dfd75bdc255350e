"""Fetching: redirects, addresses, limits and status, against real servers on loopback."""

from __future__ import annotations

import gzip
import socket
import ssl
import subprocess
import sys
import time
import zlib
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
import zstandard

from capy_core.config import FetchConfig
from capy_core.errors import BadInput, Busy, CapyError, NotFound, Refused, TooLarge
from capy_store import __version__
from capy_store.fetch import network
from capy_store.fetch.errors import Unreachable
from capy_store.fetch.network import Network
from capy_store.fetch.page import Known, Page, fetch_page
from web import Site, internet

CONFIG = FetchConfig(timeout_s=10)
PAGE = "<title>Needles</title><main><h1>Needles</h1><p>One needle in the haystack.</p></main>"


def fetch(url: str, config: FetchConfig = CONFIG, **sites: Site) -> Page:
    page = fetch_page(url, config, network=internet(**sites))
    assert page is not None
    return page


def redirect(to: str, status: int = 302) -> tuple[int, dict[str, str], bytes]:
    return status, {"Location": to}, b"<p>moved</p>"


def test_a_page_becomes_markdown_with_its_facts(site: Site) -> None:
    site.pages["/doc?x=1"] = PAGE
    page = fetch("http://docs.test/doc?x=1#part", docs=site)
    assert page.text == "# Needles\n\nOne needle in the haystack."
    assert (page.url, page.final_url, page.status_code) == (
        "http://docs.test/doc?x=1",
        "http://docs.test/doc?x=1",
        200,
    )
    assert (page.title, page.content_type, page.media_type, page.charset) == (
        "Needles",
        "markdown",
        "text/html",
        "utf-8",
    )
    assert page.bytes == len(PAGE) and page.notes == ()


def test_the_request_names_the_host_and_us_and_nothing_of_the_user(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("~/.netrc").expanduser().write_text("machine docs.test login me password hunter22\n", encoding="utf-8")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9/")
    site.pages["/"] = PAGE
    fetch("http://docs.test:8080/", docs=site)
    (_, headers) = site.log[0]
    assert headers["Host"] == "docs.test:8080"
    assert headers["User-Agent"] == f"capy-store/{__version__}"
    assert set(headers) == {"Host", "Connection", "User-Agent", "Accept", "Accept-Encoding"}


# Addresses (faults B32, B34, B35)


@pytest.mark.parametrize(
    ("location", "address_class"),
    [
        ("http://127.0.0.1:{port}/secret", "loopback"),
        ("//127.0.0.1:{port}/", "loopback"),
        ("http://localhost:{port}/secret", "loopback"),
        ("http://[::1]:{port}/", "loopback"),
        ("http://[::ffff:127.0.0.1]:{port}/", "loopback (IPv4-mapped)"),
        ("http://2130706433:{port}/", "loopback"),
        ("http://0:{port}/", "unspecified"),
        ("http://169.254.169.254/latest/meta-data/", "cloud metadata"),
    ],
)
def test_a_redirect_to_a_private_address_is_refused_and_nothing_reaches_it(
    site: Site, other: Site, location: str, address_class: str
) -> None:
    other.pages["/secret"] = "<p>secret</p>"
    site.pages["/"] = redirect(location.format(port=other.port))
    with pytest.raises(Refused) as caught:
        fetch("http://public.test/", public=site)
    assert caught.value.details["address_class"] == address_class
    assert caught.value.details["hop"] == 1
    assert site.paths == ["/"] and other.log == []


def test_a_chain_is_refused_at_the_hop_that_leaves_the_public_net(site: Site, other: Site) -> None:
    site.pages = {
        "/": redirect("/one", 301),
        "/one": redirect("http://second.test/two", 307),
        "/two": redirect("../three?x=ü", 308),
        "/three?x=%C3%BC": redirect(f"http://127.0.0.1:{other.port}/secret", 303),
    }
    with pytest.raises(Refused) as caught:
        fetch("http://public.test/", public=site, second=site)
    assert caught.value.message.startswith("redirect 4 leads to 127.0.0.1: loopback")
    assert len(site.log) == 4 and other.log == []


def test_a_private_address_is_refused_before_anything_is_sent(site: Site) -> None:
    with pytest.raises(Refused):
        fetch_page(f"http://127.0.0.1:{site.port}/", CONFIG)
    assert site.log == []


def test_the_connection_goes_to_the_address_that_was_checked(site: Site, other: Site) -> None:
    answers = [["93.184.216.34"], ["127.0.0.1"]]
    connected: list[str] = []

    def connect(address: str, port: int, timeout: float) -> socket.socket:
        connected.append(address)
        target = site if address == "93.184.216.34" else other
        return socket.create_connection(("127.0.0.1", target.port), timeout)

    site.pages["/"] = redirect("/again")
    with pytest.raises(Refused) as caught:
        fetch_page("http://rebind.test/", CONFIG, network=Network(lambda host, port: answers.pop(0), connect))
    assert caught.value.details["hop"] == 1  # each hop resolves once, and is judged by that one answer
    assert connected == ["93.184.216.34"] and site.paths == ["/"] and other.log == []


def test_a_name_with_one_private_address_is_refused(site: Site) -> None:
    both = Network(lambda host, port: ["93.184.216.34", "127.0.0.1"], internet(public=site).connect)
    with pytest.raises(Refused):
        fetch_page("http://mixed.test/", CONFIG, network=both)
    assert site.log == []


def test_the_next_address_is_tried_when_one_does_not_answer(site: Site) -> None:
    site.pages["/"] = PAGE

    def connect(address: str, port: int, timeout: float) -> socket.socket:
        if address == "93.184.216.99":
            raise ConnectionRefusedError("nobody there")
        return socket.create_connection(("127.0.0.1", site.port), timeout)

    two = Network(lambda host, port: ["93.184.216.99", "93.184.216.34"], connect)
    page = fetch_page("http://docs.test/", CONFIG, network=two)
    assert page is not None and page.title == "Needles"


@pytest.mark.parametrize("location", ["file:///etc/hostname", "gopher://public.test/", "data:text/html,x"])
def test_a_redirect_to_another_scheme_is_refused(site: Site, location: str) -> None:
    site.pages["/"] = redirect(location)
    with pytest.raises(Refused, match="only http and https"):
        fetch("http://public.test/", public=site)


@pytest.mark.parametrize(
    "location", ["http://[bad", "http://public.test:99999/", "http://", "http://user:pw@public.test/"]
)
def test_a_redirect_to_what_is_no_url_is_an_error(site: Site, location: str) -> None:
    site.pages["/"] = redirect(location)
    with pytest.raises((BadInput, Refused)):
        fetch("http://public.test/", public=site)


def test_redirects_end_at_the_limit(site: Site) -> None:
    site.pages["/"] = redirect("/")
    with pytest.raises(BadInput, match="more than 3 redirects"):
        fetch("http://public.test/", FetchConfig(max_redirects=3), public=site)
    assert len(site.log) == 4


def test_an_issue_is_refused_with_the_command_that_reads_it_also_after_a_redirect(site: Site) -> None:
    with pytest.raises(Refused) as caught:
        fetch("https://github.com/octo/spoon/issues/7#comment", public=site)
    assert "gh issue view 7 --repo octo/spoon" in caught.value.hint
    site.pages["/"] = redirect("https://github.com/octo/spoon/pull/8")
    with pytest.raises(Refused, match="pull request 8"):
        fetch("http://public.test/", public=site)


def test_a_meta_refresh_is_not_followed_but_told(site: Site, other: Site) -> None:
    refresh = f'<meta http-equiv="Refresh" content="0; URL=http://127.0.0.1:{other.port}/secret">'
    site.pages = {"/bare": refresh, "/text": refresh + "<p>Moved away</p>"}
    with pytest.raises(BadInput, match=r"refresh to http://127\.0\.0\.1"):
        fetch("http://public.test/bare", public=site)
    page = fetch("http://public.test/text", public=site)
    assert page.text == "Moved away" and "was not followed" in page.notes[0]
    assert other.log == [] and site.paths == ["/bare", "/text"]  # no robots.txt either


def test_a_name_that_does_not_resolve_says_so() -> None:
    def nothing(host: str, port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    with pytest.raises(Unreachable, match=r"the name nowhere\.test does not resolve \(Name or service not known\)"):
        fetch_page("http://nowhere.test/", CONFIG, network=Network(nothing))


def test_a_port_where_nobody_listens_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.test:3128/")
    free = socket.create_server(("127.0.0.1", 0))
    port = free.getsockname()[1]
    free.close()
    closed = Network(lambda host, _: ["93.184.216.34"], lambda a, p, t: network.connect("127.0.0.1", port, t))
    with pytest.raises(Unreachable, match=r"no whole answer from closed\.test") as caught:
        fetch_page("http://closed.test/", CONFIG, network=closed)
    assert "proxies are not used" in caught.value.hint


# Limits (fault B37)


def chunks(write_forever: bytes, pause: float = 0):  # type: ignore[no-untyped-def]
    def script(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            handler.wfile.write(b"%x\r\n%b\r\n" % (len(write_forever), write_forever))
            time.sleep(pause)

    return script


def raw(answer: bytes, finished: list[bytes] | None = None):  # type: ignore[no-untyped-def]
    """Write the bytes, those after a tilde one at a time; `finished` gets the answer when all were taken."""

    def script(handler: BaseHTTPRequestHandler) -> None:
        at_once, _, slowly = answer.partition(b"~")
        handler.wfile.write(at_once)
        for place in range(len(slowly)):
            handler.wfile.write(slowly[place : place + 1])
            time.sleep(0.02)
        if finished is not None:
            finished.append(answer)

    return script


def test_a_stream_without_end_stops_at_the_limit(site: Site) -> None:
    site.pages["/"] = chunks(b"x" * 5000)
    with pytest.raises(TooLarge) as caught:
        fetch("http://public.test/", FetchConfig(max_bytes=100_000), public=site)
    assert caught.value.details == {"limit": 100_000} and "fetch.max_bytes" in caught.value.hint


@pytest.mark.parametrize(
    "answer",
    [
        b"~HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nslow from the start",
        b"HTTP/1.1 200 OK\r\nX-Slow: ~" + b"x" * 1000,
        b"HTTP/1.1 100 Continue\r\n\r\n~" + b"HTTP/1.1 100 Continue\r\n\r\n" * 40,
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\n\r\n~" + b"x" * 1000,
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n~" + b"x" * 1000,
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n~" + gzip.compress(bytes(range(256)) * 4, mtime=0),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n~" + b"0" * 1000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n~" + b"x" * 1000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n~" + b"a: b\r\n" * 200,
    ],
    ids=["all", "header", "continue", "body", "body without length", "gzip", "chunk size", "chunk", "trailer"],
)
def test_an_answer_that_trickles_stops_at_the_deadline(site: Site, answer: bytes) -> None:
    finished: list[bytes] = []
    site.pages["/"] = raw(answer, finished)
    with pytest.raises(Unreachable, match=r"no whole answer within 0\.5 s"):
        fetch_page("http://public.test/", CONFIG, timeout_s=0.5, network=internet(public=site))
    assert finished == []  # it was cut, not waited for


def test_a_server_or_resolver_that_says_nothing_stops_at_the_deadline(site: Site) -> None:
    silent = socket.create_server(("127.0.0.1", 0))

    def connect(address: str, port: int, timeout: float) -> socket.socket:
        return socket.create_connection(silent.getsockname(), timeout)

    def never(host: str, port: int) -> list[str]:
        time.sleep(5)
        return ["93.184.216.34"]

    with silent:
        for scheme in ("http", "https"):
            with pytest.raises(Unreachable, match=r"within 0\.3 s"):
                fetch_page(
                    f"{scheme}://public.test/",
                    CONFIG,
                    timeout_s=0.3,
                    network=Network(lambda host, port: ["93.184.216.34"], connect),
                )
    with pytest.raises(Unreachable, match=r"within 0\.3 s"):
        fetch_page("http://public.test/", CONFIG, timeout_s=0.3, network=Network(never))


def test_a_bomb_stops_early_in_little_memory(site: Site) -> None:
    """Each inflates to 1 GB; a child process shows what one fetch costs at most."""
    for path, window in (("gzip", 31), ("deflate", 15), ("raw", -15)):
        pack = zlib.compressobj(9, zlib.DEFLATED, window)
        start, again = (pack.compress(bytes(1 << 20)) + pack.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
        coding = "gzip" if path == "gzip" else "deflate"
        site.pages[f"/{path}"] = (200, {"Content-Encoding": coding, "Content-Type": "text/plain"}, start + again * 1023)
    frames = zstandard.compress(bytes(1 << 20)) * 1024
    site.pages["/zstd"] = (200, {"Content-Encoding": "zstd", "Content-Type": "text/plain"}, frames)
    script = f"""
import resource, sys
sys.path.insert(0, {str(Path(__file__).parent.parent)!r})
from capy_core.config import FetchConfig
from capy_core.errors import TooLarge
from capy_store.fetch.network import Network
from capy_store.fetch.page import fetch_page
import socket
net = Network(lambda h, p: ["93.184.216.34"], lambda a, p, t: socket.create_connection(("127.0.0.1", {site.port}), t))
for path in ("gzip", "deflate", "raw", "zstd"):
    try:
        fetch_page("http://bomb.test/" + path, FetchConfig(), network=net)
    except TooLarge:
        print(path)
try:  # a process begins with its parent's ru_maxrss, but with a VmHWM of its own
    print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
except FileNotFoundError:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    *names, peak = done.stdout.split()
    assert names == ["gzip", "deflate", "raw", "zstd"]
    kilobytes = int(peak) // (1024 if sys.platform == "darwin" else 1)
    assert kilobytes < 100 * 1024


def test_the_size_counts_after_decompression_and_exactly_the_limit_passes(site: Site) -> None:
    body = gzip.compress(b"word " * 2000)
    site.pages["/"] = (200, {"Content-Encoding": "gzip", "Content-Type": "text/plain"}, body)
    assert fetch("http://public.test/", FetchConfig(max_bytes=10_000), public=site).bytes == 10_000
    with pytest.raises(TooLarge):
        fetch("http://public.test/", FetchConfig(max_bytes=9_999), public=site)


def test_an_announced_size_above_the_limit_is_refused_without_reading(site: Site) -> None:
    site.pages["/"] = raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 99999999\r\n\r\nx")
    with pytest.raises(TooLarge):
        fetch("http://public.test/", public=site)


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", gzip.compress(b"one ", mtime=0) + gzip.compress(b"two", mtime=0)),
        ("x-gzip", gzip.compress(b"one two", mtime=0) + b"\0\0\0"),
        ("deflate", zlib.compress(b"one two")),
        ("deflate", zlib.compress(b"one two")[2:-4]),
        ("zstd", zstandard.compress(b"one ") + zstandard.compress(b"two")),
        ("IDENTITY", b"one two"),
    ],
)
def test_compressed_pages_are_read(site: Site, coding: str, body: bytes) -> None:
    site.pages["/"] = (200, {"Content-Encoding": coding, "Content-Type": "text/plain"}, body)
    assert fetch("http://public.test/", public=site).text == "one two"


@pytest.mark.parametrize("coding", ["gzip", "deflate", "zstd"])
def test_a_compressed_page_that_is_cut_short_or_damaged_is_an_error(site: Site, coding: str) -> None:
    pack = {"gzip": gzip.compress, "deflate": zlib.compress, "zstd": zstandard.compress}[coding]
    whole = pack(bytes(range(256)) * 50)
    for body in (whole[:-9], b"\0" * 100, whole[:20] + b"\xff" * 50):
        site.pages["/"] = (200, {"Content-Encoding": coding, "Content-Type": "text/plain"}, body)
        with pytest.raises((Unreachable, BadInput), match=r"ended within compressed|is damaged"):
            fetch("http://public.test/", public=site)


def test_a_coding_nobody_asked_for_is_an_error(site: Site) -> None:
    for coding in ("br", "gzip, gzip"):
        site.pages["/"] = (200, {"Content-Encoding": coding, "Content-Type": "text/plain"}, b"x")
        with pytest.raises(BadInput, match="not asked for"):
            fetch("http://public.test/", public=site)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\n\r\nonly this",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nonly this\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nonly this",
        b"",
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
    ],
    ids=["length", "chunks", "chunk", "nothing", "not http", "many headers", "long header"],
)
def test_a_broken_answer_is_no_page(site: Site, answer: bytes) -> None:
    site.pages["/"] = raw(answer)
    with pytest.raises(Unreachable, match=r"no whole answer from public\.test"):
        fetch("http://public.test/", public=site)


# Status


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (404, NotFound),
        (410, NotFound),
        (401, Refused),
        (403, Refused),
        (451, Refused),
        (429, Busy),
        (503, Busy),
        (400, BadInput),
        (500, BadInput),
        (502, BadInput),
        (204, BadInput),
        (206, BadInput),
        (304, BadInput),
        (300, BadInput),
    ],
)
def test_a_status_that_is_no_page_is_an_error_with_the_status(site: Site, status: int, error: type[CapyError]) -> None:
    site.pages["/"] = (
        status,
        {"Retry-After": "7", "Content-Type": "text/html"},
        b"<p>needle</p>" if status != 204 else b"",
    )
    with pytest.raises(error, match=f"http://public.test/ answers {status}") as caught:
        fetch("http://public.test/", public=site)
    assert caught.value.details["status_code"] == status and caught.value.hint
    assert ("after 7 s" in caught.value.hint) == (error is Busy)


def test_the_body_of_an_error_is_not_read(site: Site) -> None:
    site.pages["/"] = chunks(b"x" * 5000)
    error_without_end = site.pages["/"]

    def script(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 500 Oh\r\nTransfer-Encoding: chunked\r\n\r\n")
        error_without_end(handler)

    site.pages["/"] = script
    with pytest.raises(BadInput, match="answers 500 Oh"):
        fetch("http://public.test/", public=site)


def test_an_unchanged_page_is_not_sent_again(site: Site) -> None:
    known = Known("http://public.test/new", etag='"v1"', last_modified="Mon, 02 Nov 2026 10:00:00 GMT")
    site.pages = {"/": redirect("/new"), "/new": (304, {}, b"")}
    assert fetch_page("http://public.test/", CONFIG, known=known, network=internet(public=site)) is None
    first, second = (headers for _, headers in site.log)
    assert "If-None-Match" not in first and "If-Modified-Since" not in first
    assert second["If-None-Match"] == '"v1"' and second["If-Modified-Since"] == known.last_modified


# TLS


@pytest.fixture
def secure(site: Site) -> Site:
    """A site with a certificate for public.test, signed by itself."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(__file__).with_name("public.test.pem"))
    site.server.socket = context.wrap_socket(site.server.socket, server_side=True)
    return site


def trusting(site: Site, host: str) -> Network:
    plain = internet(**{host: site})
    return Network(
        plain.resolve,
        plain.connect,
        lambda: ssl.create_default_context(cafile=str(Path(__file__).with_name("public.test.pem"))),
    )


def test_https_verifies_the_name_although_it_connects_to_an_address(secure: Site) -> None:
    secure.pages["/"] = PAGE
    page = fetch_page("https://public.test/", CONFIG, network=trusting(secure, "public"))
    assert page is not None and page.final_url == "https://public.test/"
    assert secure.log[0][1]["Host"] == "public.test"
    with pytest.raises(Refused, match=r"certificate of other\.test is not valid: .*mismatch"):
        fetch_page("https://other.test/", CONFIG, network=trusting(secure, "other"))


def test_a_certificate_nobody_vouches_for_is_refused(secure: Site) -> None:
    with pytest.raises(Refused, match=r"certificate of public\.test is not valid"):
        fetch("https://public.test/", public=secure)
    assert secure.log == []


def test_an_encrypted_body_that_trickles_stops_at_the_deadline(secure: Site) -> None:
    finished: list[bytes] = []
    secure.pages["/"] = raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n~" + b"x" * 1000, finished)
    with pytest.raises(Unreachable, match=r"no whole answer within 0\.5 s"):
        fetch_page("https://public.test/", CONFIG, timeout_s=0.5, network=trusting(secure, "public"))
    assert finished == []
