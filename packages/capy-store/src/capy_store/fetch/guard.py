"""Which URLs and addresses may be fetched: http and https, at addresses of the public internet only.

A name counts as what it resolves to, so every spelling of an address (decimal, octal, short, IDNA digits) is judged
by the answer of the resolver, and the connection then goes to that very answer (`transport`). Names that resolve to
several addresses must be public in all of them.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from capy_core.errors import BadInput, Refused

_PORTS = {"http": 80, "https": 443}
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE)
_HOST = re.compile(r"(?=.{1,253}\.?\Z)(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}\.?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SAFE = "%/:=&?~+!$,;'@()*[]|"  # left as they are in a path or query; "%" because it is mostly encoded already

# IANA's special-purpose registries (RFC 6890 and its updates) and the clouds' metadata addresses; the first counts.
_NOT_PUBLIC_V4 = tuple(
    (ipaddress.IPv4Network(network), what)
    for network, what in (
        ("169.254.169.254/32", "cloud metadata"),
        ("100.100.100.200/32", "cloud metadata"),
        ("168.63.129.16/32", "cloud metadata"),  # Azure's, in the middle of public space
        ("127.0.0.0/8", "loopback"),
        ("10.0.0.0/8", "private"),
        ("172.16.0.0/12", "private"),
        ("192.168.0.0/16", "private"),
        ("169.254.0.0/16", "link-local"),
        ("100.64.0.0/10", "carrier-grade NAT"),
        ("0.0.0.0/8", "unspecified"),
        ("192.0.0.0/24", "protocol assignment"),
        ("192.0.2.0/24", "documentation"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("198.18.0.0/15", "benchmarking"),
        ("192.88.99.0/24", "6to4 relay"),
        ("224.0.0.0/4", "multicast"),
        ("255.255.255.255/32", "broadcast"),
        ("240.0.0.0/4", "reserved"),
    )
)
_NOT_PUBLIC_V6 = tuple(
    (ipaddress.IPv6Network(network), what)
    for network, what in (
        ("::1/128", "loopback"),
        ("::/128", "unspecified"),
        ("::/96", "IPv4-compatible"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "site-local"),
        ("fd00:ec2::254/128", "cloud metadata"),
        ("fc00::/7", "unique local"),
        ("ff00::/8", "multicast"),
        ("64:ff9b:1::/48", "local-use NAT64"),
        ("2002::/16", "6to4"),
        ("2001::/32", "Teredo"),
        ("2001::/23", "protocol assignment"),
        ("2001:db8::/32", "documentation"),
        ("3fff::/20", "documentation"),
    )
)
_GLOBAL_V6 = ipaddress.IPv6Network("2000::/3")  # the only block IANA gives out as global unicast
_CARRIES_V4 = tuple(
    (ipaddress.IPv6Network(network), what)
    for network, what in (("::ffff:0:0/96", "IPv4-mapped"), ("64:ff9b::/96", "NAT64"))
)


@dataclass(frozen=True)
class Target:
    """A URL taken apart once; what is checked is what is connected to.

    Args:
        scheme: http or https.
        host: lower-case ASCII name as it is resolved (a trailing dot is kept), or an address without brackets.
        port: 1-65535.
        path: the request target, percent-encoded, with its query.
    """

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """Host and port as in the URL and the Host header: no default port, no trailing dot."""
        host = f"[{self.host}]" if ":" in self.host else self.host.rstrip(".")
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The normalised URL, without fragment."""
        return f"{self.scheme}://{self.authority}{self.path}"


def parse(url: str) -> Target:
    """Take a URL apart.

    Raises:
        BadInput: it is not a URL with a host.
        Refused: another scheme than http and https, a user name or password, or a zone id.
    """
    url = url.strip()
    if _CONTROL.search(url):
        raise BadInput("the URL contains control characters", "write it on one line, percent-encoded")
    _check_scheme(url)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as ex:
        raise BadInput(f"the URL cannot be read ({ex})", "write it as https://host/path") from ex
    if "@" in parts.netloc:
        raise Refused("the URL holds a user name or password", "leave it out: pages behind a login are not fetched")
    if port == 0:
        raise BadInput("the URL names port 0", "leave the port out or correct it")
    path = quote(parts.path or "/", safe=_SAFE)
    query = "?" + quote(parts.query, safe=_SAFE) if parts.query else ""
    scheme = parts.scheme.lower()
    return Target(scheme, _host(parts.netloc, parts.hostname or ""), port or _PORTS[scheme], path + query)


def not_public(address: str) -> str:
    """Why an IP address is not one of the public internet ("loopback", "private (NAT64)", ...), or ""."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return "unreadable"
    if isinstance(ip, ipaddress.IPv4Address):
        return next((what for network, what in _NOT_PUBLIC_V4 if ip in network), "")
    if ip.scope_id:
        return "link-local"
    for network, carrier in _CARRIES_V4:
        if ip in network:
            what = not_public(str(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)))
            return f"{what} ({carrier})" if what else ""
    what = next((what for network, what in _NOT_PUBLIC_V6 if ip in network), "")
    return what or ("" if ip in _GLOBAL_V6 else "unassigned")


def check(target: Target, addresses: list[str], hop: int) -> None:
    """Refuse a target unless all the addresses it resolves to are public.

    Args:
        hop: 0 for the URL that was asked for, n for the n-th redirect.

    Raises:
        Refused: `details` hold `host`, `address`, `address_class` and `hop`.
    """
    for address in addresses:
        what = not_public(address)
        if what:
            where = f"redirect {hop} leads to {target.host}" if hop else target.host
            named = "" if address == target.host else f", which is {address}"
            raise Refused(
                f"{where}{named}: {what} address",
                "only public addresses are fetched; index a page of your own network from a file or a pipe",
                host=target.host,
                address=address,
                address_class=what,
                hop=hop,
            )


def _check_scheme(url: str) -> None:
    match = _SCHEME.match(url)
    scheme, rest = (match[1].lower(), url[match.end() :]) if match else ("", url)
    if scheme in _PORTS and rest.startswith("//"):
        return
    is_host_and_port = "." in scheme or rest[:1].isdigit()
    if scheme in _PORTS or not scheme or (is_host_and_port and not rest.startswith("//")):
        raise BadInput("the URL does not start with http:// or https://", "write it as https://host/path")
    hint = "to index a local file: capy-store index PATH" if scheme == "file" else "use an http or https URL"
    raise Refused(f"only http and https are fetched, not {scheme}:", hint, scheme=scheme)


def _host(netloc: str, host: str) -> str:
    """The host in ASCII, lower case."""
    if not host or "\\" in netloc:
        raise BadInput("the URL has no host that can be read", "write it as https://host/path")
    if netloc.startswith("["):
        return _ipv6(host)
    if not host.isascii():
        import idna

        try:
            host = idna.encode(host, uts46=True).decode("ascii")
        except idna.IDNAError as ex:
            raise BadInput(f"{host!r} is not a host name ({ex})", "check the spelling") from ex
    if not _HOST.fullmatch(host):
        raise BadInput(f"{host[:80]!r} is not a host name", "check the spelling")
    return host


def _ipv6(host: str) -> str:
    if "%" in host:
        raise Refused(f"{host} names a network interface", "only public addresses are fetched", host=host)
    try:
        return str(ipaddress.IPv6Address(host))
    except ValueError as ex:
        raise BadInput(f"[{host}] is not an IPv6 address", "check the spelling") from ex
