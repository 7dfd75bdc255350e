"""What only fetching can meet; the rest are errors of `capy_core.errors`."""

from __future__ import annotations

from capy_core.errors import NotFound


class Unreachable(NotFound):
    """No whole answer came: the name does not resolve, nobody listens, the connection broke, or time was up."""

    code = "unreachable"
