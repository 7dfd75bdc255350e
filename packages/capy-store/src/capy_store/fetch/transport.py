"""One GET to a checked address. A name is resolved once; the socket goes to an address of that answer.

Built on http.client and not on requests: what requests adds (redirects, proxies and .netrc from the environment, a
pool that resolves again) is what must not happen here unchecked. docs/adr/0010-fetch.md
"""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass

from capy_core.errors import Refused

from . import guard
from .errors import Unreachable
from .guard import Target
from .network import Network


class Deadline:
    """One moment at which everything ends, however slowly the bytes trickle.

    A socket's own timeout starts anew with every byte, so a timer cuts the watched socket instead.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds
        self._socket: socket.socket | None = None
        self._timer = threading.Timer(seconds, self._cut)
        self._timer.daemon = True

    def __enter__(self) -> Deadline:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def remaining(self) -> float:
        """Seconds left, more than 0.

        Raises:
            Unreachable: none is left.
        """
        left = self._end - time.monotonic()
        if left <= 0:
            raise self.passed()
        return left

    def passed(self) -> Unreachable:
        """The error that says so."""
        return Unreachable(
            f"no whole answer within {self.seconds:g} s", "try again, or allow more time with --timeout SECONDS"
        )

    def watch(self, sock: socket.socket) -> None:
        """Cut this socket at the end, and no other any more."""
        self._socket = sock
        self.remaining()  # the timer may have run just before

    def _cut(self) -> None:
        if self._socket is not None:
            with suppress(OSError):  # closed by the peer or by us
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)  # SSLSocket's own drops its reader's state


@dataclass
class Response:
    """The head of an answer, and the body still to be read (`body.read`)."""

    status: int
    reason: str
    headers: http.client.HTTPMessage
    stream: http.client.HTTPResponse


@contextmanager
def get(
    target: Target, headers: dict[str, str], *, hop: int, deadline: Deadline, network: Network
) -> Iterator[Response]:
    """Send one GET and yield the answer; the connection is closed on the way out.

    Raises:
        Refused: the address is not public, or the certificate is not valid for the name.
        Unreachable: the name does not resolve, the connection fails or breaks, or the deadline passes.
    """
    addresses = _resolve(target, deadline, network)
    guard.check(target, addresses, hop)
    with _explain(target, deadline):
        sock = _connect(target, addresses, deadline, network)
        connection = http.client.HTTPConnection(target.host, target.port)
        try:
            deadline.watch(sock)
            connection.sock = sock
            connection.request("GET", target.path, headers={"Host": target.authority, "Connection": "close", **headers})
            with closing(connection.getresponse()) as answer:
                yield Response(answer.status, answer.reason, answer.msg, answer)
        finally:
            connection.close()
            sock.close()


@contextmanager
def _explain(target: Target, deadline: Deadline) -> Iterator[None]:
    """Turn errors of sockets, TLS and HTTP into ours."""
    import ssl

    try:
        yield
    except ssl.SSLCertVerificationError as ex:
        raise Refused(
            f"the certificate of {target.host} is not valid: {ex.verify_message}",
            "if your network re-signs traffic, set SSL_CERT_FILE to its certificates",
            host=target.host,
        ) from ex
    except (OSError, http.client.HTTPException) as ex:
        deadline.remaining()  # broken because time was up?
        if isinstance(ex, TimeoutError):  # by a hair
            raise deadline.passed() from ex
        reason = str(ex) or type(ex).__name__
        raise Unreachable(f"no whole answer from {target.authority} ({reason})", _hint(), host=target.host) from ex


def _resolve(target: Target, deadline: Deadline, network: Network) -> list[str]:
    """The resolver's answer; it has no timeout of its own, so it runs in a thread that may be left behind."""
    answer: list[list[str] | Exception] = []

    def ask() -> None:
        try:
            answer.append(network.resolve(target.host, target.port))
        except (OSError, ValueError) as ex:
            answer.append(ex)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(deadline.remaining())
    if not answer:
        raise deadline.passed()
    found = answer[0]
    if isinstance(found, Exception) or not found:
        reason = getattr(found, "strerror", None) or "no address"
        raise Unreachable(
            f"the name {target.host} does not resolve ({reason})",
            "check the spelling and the network" + _proxy_note(),
            host=target.host,
        )
    return found


def _connect(target: Target, addresses: list[str], deadline: Deadline, network: Network) -> socket.socket:
    """A connection to the first address that answers, TLS included. Each gets its share of the time that is left."""
    for left in range(len(addresses), 0, -1):
        try:
            sock = network.connect(addresses[-left], target.port, deadline.remaining() / left)
            break
        except OSError:
            if left == 1:
                raise
    sock.settimeout(deadline.remaining())
    if target.scheme == "http":
        return sock
    try:
        return network.trust().wrap_socket(sock, server_hostname=target.host.rstrip("."))
    except BaseException:
        sock.close()
        raise


def _hint() -> str:
    return "check the URL and the network, then try again" + _proxy_note()


def _proxy_note() -> str:
    from urllib.request import getproxies

    return "; proxies are not used: curl URL | capy-store index --label NAME goes through yours" if getproxies() else ""
