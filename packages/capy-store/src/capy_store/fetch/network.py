"""How names are resolved, sockets opened and certificates trusted. Only a caller in Python can hand in another one:
tests do, to play the internet on loopback; no environment variable or setting reaches these functions.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass


def resolve(host: str, port: int) -> list[str]:
    """All addresses of a host, in the order to try them, without repeats.

    Raises:
        OSError: the name does not resolve (socket.gaierror).
    """
    if f".{host.rstrip('.')}".endswith(".localhost"):
        return ["127.0.0.1"]  # RFC 6761; not every resolver knows "localhost." and "x.localhost"
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def connect(address: str, port: int, timeout: float) -> socket.socket:
    """A TCP connection to an address (never a name).

    Raises:
        OSError: it cannot be reached in time.
    """
    return socket.create_connection((address, port), timeout)


def trust() -> ssl.SSLContext:
    """Certificates of the system (or of $SSL_CERT_FILE) and of the certifi package; names and dates are verified."""
    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())  # some Python builds find no system store
    return context


@dataclass(frozen=True)
class Network:
    """The three functions by which a fetch touches the outside."""

    resolve: Callable[[str, int], list[str]] = resolve
    connect: Callable[[str, int, float], socket.socket] = connect
    trust: Callable[[], ssl.SSLContext] = trust


INTERNET = Network()
