"""Sites on loopback for the tests of fetching."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from web import Site


@pytest.fixture
def site() -> Iterator[Site]:
    """A web server on loopback, empty."""
    server = Site()
    yield server
    server.close()


@pytest.fixture
def other() -> Iterator[Site]:
    """A second one, mostly the private server that nothing may reach."""
    server = Site()
    yield server
    server.close()
