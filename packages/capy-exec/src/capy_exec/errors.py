"""What can go wrong before any code runs, beyond the errors that all tools share."""

from __future__ import annotations

from capy_core.errors import CapyError


class NotStarted(CapyError):
    """The code could not be started: no space, no supervisor."""

    code = "not_started"
