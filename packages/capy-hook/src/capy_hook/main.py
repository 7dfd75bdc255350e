"""`capy-hook EVENT [--platform P]`: one JSON object on stdin, the host's answer or nothing on stdout, exit status 0.

A process for each tool call of an agent: what is imported here is paid hundreds of times an hour, so the command line
of people (`capy_hook.cli`) is loaded for them only. Whatever goes wrong, the host is left alone: no output, status 0, a
line in the log.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, NoReturn

    from .event import Event, Verdict

LIMIT_S = 8.0  # from the first byte awaited to the last one written
MAX_BYTES = 64 * 1024 * 1024
_COMMANDS = ("install", "uninstall", "status")  # for people
_IDLE = ("posttooluse", "precompact", "userpromptsubmit", "stop", "subagentstop", "notification")  # Claude Code's
_CHUNK = 1024 * 1024


def main() -> None:
    """Entry point of `capy-hook`."""
    arguments = sys.argv[1:]
    if _is_for_people(arguments):
        from .cli import main as people

        return people()
    _watch(arguments[0])
    try:
        out, err = respond(arguments, _read())
        _write(1, out)
        _write(2, err)
    except BaseException as ex:
        from .log import note

        note(arguments[0], _told(ex))
        _leave(0)
    _leave(2 if err else 0)


def respond(arguments: list[str], data: bytes) -> tuple[bytes, bytes]:
    """The answer to one event: what goes to stdout, and what to stderr where the host reads a refusal there.

    Args:
        arguments: the event's name and options, as on the command line.
        data: the payload, one JSON object.

    Returns:
        `(b"", b"")` for nothing, also for an event without work and for a payload that cannot be read.
    """
    name, platform = _parsed(arguments)
    if name.lower() in _IDLE and platform in ("", "claude") and b"cursor_version" not in data:
        return b"", b""
    adapter = event = None
    try:
        payload = _decoded(data)
        adapter = _adapter(platform or _platform(payload))
        event = adapter.read(payload, name)
        from .answer import answer

        verdict = answer(event)
        return adapter.write(event, verdict), _failure(adapter, event, verdict)
    except Exception as ex:
        from .log import note

        note(name, _told(ex))
        return _nothing(adapter, event, name, platform), b""


def _is_for_people(arguments: list[str]) -> bool:
    if not arguments or arguments[0].startswith("-") or arguments[0] in _COMMANDS:
        return True
    return "--help" in arguments or "-h" in arguments or os.isatty(0)


def _parsed(arguments: list[str]) -> tuple[str, str]:
    """The event's name and the platform ("" = not said); what else stands there is ignored."""
    platform = ""
    for place, word in enumerate(arguments[1:], 1):
        if word == "--platform" and place + 1 < len(arguments):
            platform = arguments[place + 1]
        elif word.startswith("--platform="):
            platform = word[len("--platform=") :]
    return arguments[0], platform.lower()


def _decoded(data: bytes) -> dict[str, Any]:
    from capy_core.barejson import decode

    payload = decode(data)
    if not isinstance(payload, dict):
        raise ValueError("the payload is not a JSON object")
    return payload


def _platform(payload: dict[str, Any]) -> str:
    from .adapters import told

    return told(payload)


def _adapter(platform: str) -> ModuleType:
    from .adapters import MODULES

    if platform not in MODULES:
        raise ValueError("unknown platform")
    name = MODULES[platform]
    __import__(name)
    return sys.modules[name]


def _failure(adapter: ModuleType, event: Event, verdict: Verdict) -> bytes:
    fail = getattr(adapter, "fail", None)
    err: bytes = fail(event, verdict) if fail is not None else b""
    return err


def _nothing(adapter: ModuleType | None, event: Event | None, name: str, platform: str) -> bytes:
    """What the host takes for no answer; some want more than zero bytes."""
    from .event import NONE, Event

    try:
        adapter = adapter or _adapter(platform or "claude")
        out: bytes = adapter.write(event or Event("", name), NONE)
    except Exception:  # the second failure in a row: zero bytes are the best that is left
        return b""
    return out


def _read() -> bytes:
    """Stdin up to its end, or up to the end of one JSON object: some hosts leave the pipe open."""
    data = bytearray()
    while chunk := os.read(0, _CHUNK):
        data += chunk
        if len(data) > MAX_BYTES:
            raise ValueError(f"the payload is larger than {MAX_BYTES} bytes")
        if chunk.rstrip(b" \t\r\n\0").endswith(b"}") and _is_whole(data):
            break
    return bytes(data)


def _is_whole(data: bytearray) -> bool:
    from capy_core.barejson import decode

    try:
        decode(data)
    except (ValueError, RecursionError):
        return False
    return True


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _watch(name: str) -> None:
    """End this process after `LIMIT_S`, whatever it waits for: a pipe, a file on a dead network, a parser."""
    import _thread

    def wait() -> None:
        import time

        time.sleep(LIMIT_S)
        from .log import note

        note(name, f"no answer within {LIMIT_S:g} s")
        _leave(0)

    _thread.start_new_thread(wait, ())


def _told(ex: BaseException) -> str:
    """An error for the log: its class and place, and its message only where that holds nothing of the user's."""
    where = ex.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    place = f" at {os.path.basename(where.tb_frame.f_code.co_filename)}:{where.tb_lineno}" if where else ""
    text = f": {ex.strerror}" if isinstance(ex, OSError) else f": {ex}" if type(ex) is ValueError else ""
    return f"{type(ex).__name__}{place}{text}"


def _leave(status: int) -> NoReturn:
    os._exit(status)  # everything is written: the interpreter's own way out only costs time
