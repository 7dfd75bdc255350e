"""Pages asked for by a fetch tool: what to call instead."""

from __future__ import annotations

import os
import sys

from .network import fetch_call, is_local

_FORGE_WORDS = ("/issues/", "/pull/", "/pulls/", "/pull-requests/", "/merge_requests/", "/work_items/")
_GISTS = ("gist.github.com", "gist.githubusercontent.com")
_MAX_URL = 2000


def instead_of_webfetch(url: str) -> str:
    """What replaces a host's own fetch of a page, or "" when nothing does: a local address, no other tool of capy."""
    if not _is_web(url) or is_local(url):  # capy fetches public addresses only
        return ""
    command = forge_command(url)
    if command:
        return command
    store = _installed("capy-store")
    if not store and not _installed("capy-mcp"):
        return ""
    shell = f" Where these are missing, a shell command does the same: {_shell_call(store, url)}." if store else ""
    return (
        "capy blocked this fetch: the page would enter the context as a whole.\n"
        f"Instead: {fetch_call(url)}.{shell} For a small page, WebSearch or a command-line client of the site can do."
    )


def forge_command(url: str) -> str:
    """For an issue, pull or merge request: why it is not fetched, and the command that reads it; else ""."""
    if not any(word in url for word in _FORGE_WORDS) or len(url) > _MAX_URL:
        return ""
    from capy_core.forge import forge_url

    found = forge_url(url)
    if found is None:
        return ""
    how = f"`{found.command}` prints it" if found.command else "the forge's own command-line client or API prints it"
    return (
        f"capy does not fetch {found.kind} #{found.number} of {found.repository} as a page: {how} with its comments in"
        " order, which a search in pieces of the page would lose."
    )


def gist_advice(url: str) -> str:
    """For a gist: which way fits which size; else ""."""
    host = url.partition("://")[2].partition("/")[0].lower()
    if host not in _GISTS:
        return ""
    return "A small gist is read whole by `gh gist view ID`; for a large one capy_fetch_and_index and capy_search fit."


def _is_web(url: str) -> bool:
    return url[:8].lower().startswith(("http://", "https://")) and len(url) <= _MAX_URL


def _installed(tool: str) -> str:
    """How to call one of capy's tools: its name when the PATH finds it, its path beside this interpreter, or ""."""
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        if folder and os.access(os.path.join(folder, tool), os.X_OK):
            return tool
    beside = os.path.join(os.path.dirname(sys.executable), tool)
    return beside if os.access(beside, os.X_OK) else ""


def _shell_call(store: str, url: str) -> str:
    quoted = url.replace("'", "'\\''")
    program = store if " " not in store else f"'{store}'"
    return f"{program} fetch '{quoted}' && {program} search 'what you look for'"
