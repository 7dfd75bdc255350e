"""A piece of the web on loopback: real HTTP servers, and a network in which their names have public addresses."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from capy_store.fetch import network
from capy_store.fetch.network import Network

Answer = tuple[int, dict[str, str], bytes]
Script = Callable[[BaseHTTPRequestHandler], None]  # writes what it likes to the handler's wfile


class Site:
    """An HTTP server on a free port of 127.0.0.1. `log` holds the path and the headers of each request.

    `pages` maps a path to an answer (status, headers, body), to bare HTML, or to a function that writes the bytes.
    """

    def __init__(self, pages: dict[str, Answer | str | Script] | None = None) -> None:
        self.pages = pages or {}
        self.log: list[tuple[str, dict[str, str]]] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.log.append((self.path, dict(self.headers)))
                site._answer(self)

            def log_message(self, *_: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, *_: object) -> None:
                pass  # the client cut the connection, as some tests want

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self.log]

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        page = self.pages.get(handler.path, (404, {}, b"not here"))
        if callable(page):
            page(handler)
            return
        if isinstance(page, str):
            page = (200, {"Content-Type": "text/html; charset=utf-8"}, page.encode())
        status, headers, body = page
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)


def internet(**hosts: Site) -> Network:
    """A network in which `name.test` has a public address that leads to its site, on any port.

    Every other name and address is resolved and connected to as in earnest.
    """
    addresses = {f"{name}.test": f"93.184.216.{number}" for number, name in enumerate(hosts, 34)}
    ports = dict(zip(addresses.values(), (site.port for site in hosts.values()), strict=True))

    def resolve(host: str, port: int) -> list[str]:
        return [addresses[host]] if host in addresses else network.resolve(host, port)

    def connect(address: str, port: int, timeout: float) -> socket.socket:
        if address in ports:
            return socket.create_connection(("127.0.0.1", ports[address]), timeout)
        return network.connect(address, port, timeout)

    return Network(resolve, connect)
