"""Which URLs and addresses may be fetched."""

from __future__ import annotations

import ipaddress
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capy_core.errors import BadInput, CapyError, Refused
from capy_store.fetch import network
from capy_store.fetch.guard import check, not_public, parse


@pytest.mark.parametrize(
    ("url", "normalised"),
    [
        ("HTTP://EXAMPLE.test", "http://example.test/"),
        ("https://example.test:443/a b?q=ü#part", "https://example.test/a%20b?q=%C3%BC"),
        ("http://example.test:8080", "http://example.test:8080/"),
        ("https://example.test./x", "https://example.test/x"),
        ("https://Bücher.test/", "https://xn--bcher-kva.test/"),
        ("https://[2606:4700:0::1111]:8443/x?y=%20", "https://[2606:4700::1111]:8443/x?y=%20"),
        ("  https://example.test/a%2Fb  ", "https://example.test/a%2Fb"),
        ("https://my_host.example.test/", "https://my_host.example.test/"),
    ],
)
def test_a_url_is_normalised(url: str, normalised: str) -> None:
    assert parse(url).url == normalised
    assert parse(normalised).url == normalised


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/hostname",
        "ftp://x.test/",
        "gopher://127.0.0.1:6379/_x",
        "data:text/html,x",
        "javascript:alert(1)",
        "https://user:hunter22@example.test/",
        "https://public.test@127.0.0.1/",
        "http://[fe80::1%25eth0]/",
    ],
)
def test_other_schemes_credentials_and_zones_are_refused(url: str) -> None:
    with pytest.raises(Refused) as caught:
        parse(url)
    assert "hunter22" not in str(caught.value.record())


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.test/page",
        "example.test:8080/page",
        "localhost:8080",
        "https:/example.test",
        "http:example.test",
        "https://",
        "https:///path",
        "https://exa mple.test/",
        "https://example.test:99999/",
        "https://example.test:0/",
        "https://example.test\\other.test/",
        "https://%31%32%37.0.0.1/",
        "https://[::1/",
        "https://[v1.x]/",
        "https://" + "a" * 64 + ".test/",
        "https://example..test/",
        "https://example.test/a\nHost: other",
    ],
)
def test_what_is_no_url_is_bad_input_with_a_hint(url: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse(url)
    assert caught.value.hint


@given(st.text(max_size=60), st.sampled_from(["", "http://", "https://", "http://[", "https://1.1.1.1/"]))
def test_any_text_is_parsed_or_refused(text: str, start: str) -> None:
    try:
        target = parse(start + text)
    except CapyError:
        return
    assert target.scheme in ("http", "https") and target.host.isascii() and 0 < target.port < 65536
    assert target.path.isascii() and not set(target.path + target.authority) & set(" \r\n\t\\")


@pytest.mark.parametrize(
    ("address", "what"),
    [
        ("127.0.0.1", "loopback"),
        ("127.255.255.254", "loopback"),
        ("::1", "loopback"),
        ("10.0.0.1", "private"),
        ("172.16.0.1", "private"),
        ("172.31.255.255", "private"),
        ("192.168.1.1", "private"),
        ("169.254.0.1", "link-local"),
        ("fe80::1", "link-local"),
        ("fe80::1%eth0", "link-local"),
        ("169.254.169.254", "cloud metadata"),
        ("fd00:ec2::254", "cloud metadata"),
        ("100.100.100.200", "cloud metadata"),
        ("168.63.129.16", "cloud metadata"),
        ("100.64.0.1", "carrier-grade NAT"),
        ("0.0.0.0", "unspecified"),
        ("0.1.2.3", "unspecified"),
        ("::", "unspecified"),
        ("192.0.0.192", "protocol assignment"),
        ("192.0.2.1", "documentation"),
        ("198.51.100.1", "documentation"),
        ("203.0.113.1", "documentation"),
        ("2001:db8::1", "documentation"),
        ("3fff::1", "documentation"),
        ("198.18.0.1", "benchmarking"),
        ("198.19.255.255", "benchmarking"),
        ("192.88.99.1", "6to4 relay"),
        ("224.0.0.1", "multicast"),
        ("ff02::1", "multicast"),
        ("255.255.255.255", "broadcast"),
        ("240.0.0.1", "reserved"),
        ("fd12:3456::1", "unique local"),
        ("fec0::1", "site-local"),
        ("::ffff:127.0.0.1", "loopback (IPv4-mapped)"),
        ("::ffff:a9fe:a9fe", "cloud metadata (IPv4-mapped)"),
        ("::127.0.0.1", "IPv4-compatible"),
        ("64:ff9b::7f00:1", "loopback (NAT64)"),
        ("64:ff9b::10.0.0.1", "private (NAT64)"),
        ("64:ff9b:1::8.8.8.8", "local-use NAT64"),
        ("2002:7f00:1::", "6to4"),
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", "Teredo"),
        ("2001:10::1", "protocol assignment"),
        ("4000::1", "unassigned"),
        ("5f00::1", "unassigned"),
        ("not an address", "unreadable"),
    ],
)
def test_addresses_that_are_not_public(address: str, what: str) -> None:
    assert not_public(address) == what


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8",
        "1.1.1.1",
        "172.32.0.1",
        "100.128.0.1",
        "192.0.1.1",
        "2606:4700::1111",
        "64:ff9b::8.8.8.8",
        "::ffff:8.8.8.8",
    ],
)
def test_public_addresses(address: str) -> None:
    assert not_public(address) == ""


@given(st.ip_addresses())
def test_what_python_calls_local_is_never_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    if (
        address.is_private
        or address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_reserved
    ):
        embedded = getattr(address, "ipv4_mapped", None)
        assert not_public(str(address)) or embedded or address in ipaddress.ip_network("64:ff9b::/96")


@pytest.mark.parametrize(
    "address", ["127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0x7f.1", "１２７.0.0.1", "127。0。0。1"]
)
def test_odd_spellings_of_an_address_are_judged_by_what_they_resolve_to(address: str) -> None:
    target = parse(f"http://{address}/")
    try:
        addresses = network.resolve(target.host, target.port)
    except socket.gaierror:
        return  # this system's resolver does not take it for an address, so nothing is connected to
    with pytest.raises(Refused) as caught:
        check(target, addresses, 0)
    assert caught.value.details["address_class"] == "loopback"


def test_localhost_and_its_kin_are_loopback() -> None:
    for host in ("localhost", "localhost.", "LOCALHOST", "app.localhost"):
        target = parse(f"http://{host}/")
        with pytest.raises(Refused) as caught:
            check(target, network.resolve(target.host, 80), 0)
        assert "loopback" in caught.value.message


def test_one_private_address_among_public_ones_refuses_the_name_and_says_where() -> None:
    with pytest.raises(Refused) as caught:
        check(parse("https://mixed.test/"), ["93.184.216.34", "10.0.0.7"], 2)
    assert caught.value.message == "redirect 2 leads to mixed.test, which is 10.0.0.7: private address"
    assert caught.value.details == {"host": "mixed.test", "address": "10.0.0.7", "address_class": "private", "hop": 2}
