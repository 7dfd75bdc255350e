"""capy_stats, capy_doctor, capy_cleanup."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from capy_core.errors import CapyError

from ..arguments import BadArgument
from ..call import Call, Reply
from ..context import Context
from ..stats import Total

if TYPE_CHECKING:
    from capy_store.retention import Cleanup

_LISTED = 30


def stats(context: Context, _arguments: dict[str, Any], _call: Call) -> Reply:
    """What was kept out of the context, by tool, in this session and in all."""
    session, ever = context.stats.session(), context.stats.all_time()
    minutes = (time.time() - context.stats.started) / 60
    lines = [f"## capy stats ({minutes:.0f} min)", "", _table(session) if session else "No calls in this session yet."]
    total = sum(ever.values(), Total())
    if total.calls:
        lines += ["", f"All sessions of this project: {_sentence(total)}"]
    try:
        with context.store() as store:
            lines += ["", _knowledge(store.stats())]
    except CapyError as ex:
        lines += ["", f"Knowledge base: {ex}; {ex.hint}"]
    return Reply("\n".join(lines))


def doctor(context: Context, _arguments: dict[str, Any], _call: Call) -> Reply:
    """Whether capy works here."""
    from ..doctor import checks, shown

    try:
        key = context.database_key()  # gone from the environment since it was read first
    except CapyError:
        key = None  # the doctor says why
    return Reply(shown(checks(context.project, key=key)))


def cleanup(context: Context, arguments: dict[str, Any], _call: Call) -> Reply:
    """Remove what is old, or one source; a preview unless `dry_run` is false."""
    wanted = [name for name in ("source", "purge_ephemeral", "purge_session") if arguments.get(name)]
    if len(wanted) > 1:
        raise BadArgument(f"`{wanted[0]}` and `{wanted[1]}` are mutually exclusive: give one of them")
    purge = {"purge_ephemeral": "ephemeral", "purge_session": "session"}.get(wanted[0]) if wanted else None
    with context.store() as store:
        done = store.cleanup(dry_run=arguments.get("dry_run", True), label=arguments.get("source"), purge=purge or "")
    return Reply(_cleaned(done))


def _cleaned(done: Cleanup) -> str:
    if not done.evicted:
        return "nothing to remove"
    verb = "would be removed; run again with dry_run: false" if done.dry_run else "removed"
    lines = [f"{len(done.evicted)} sources {verb}"]
    lines += [f"- {item.label} ({item.kind}, {item.reason}, {item.chunks} chunks)" for item in done.evicted[:_LISTED]]
    if len(done.evicted) > _LISTED:
        lines.append(f"- and {len(done.evicted) - _LISTED} more")
    return "\n".join(lines)


def _table(totals: dict[str, Total]) -> str:
    rows = [
        f"| {tool} | {total.calls} | {_size(total.raw)} | {_size(total.returned)} | {_size(total.kept_out)} |"
        for tool, total in sorted(totals.items())
    ]
    head = "| tool | calls | output | to the context | kept out |\n|---|---|---|---|---|"
    return "\n".join([head, *rows, "", _sentence(sum(totals.values(), Total()))])


def _sentence(total: Total) -> str:
    return (
        f"{total.calls} calls: {_size(total.raw)} of output, {_size(total.returned)} of it to the context, "
        f"about {max(0, total.kept_out) // 4:,} tokens kept out (bytes / 4). Output is counted whole; a host "
        "would have cut a very long one by itself (Claude Code's Bash at about 30 KB)."
    )


def _knowledge(facts: dict[str, Any]) -> str:
    return "Knowledge base: " + ", ".join(
        f"{name.replace('_', ' ')} {value}"
        for name, value in facts.items()
        if isinstance(value, int | str) and name != "schema"
    )


def _size(count: int) -> str:
    sign, count = ("-", -count) if count < 0 else ("", count)
    return (
        f"{sign}{count} B"
        if count < 1000
        else f"{sign}{count / 1e3:.1f} KB"
        if count < 1e6
        else f"{sign}{count / 1e6:.1f} MB"
    )
