"""Links to issues and merge requests: a forge's own command reads them better than a fetched page does."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAME = re.compile(r"[A-Za-z0-9._][A-Za-z0-9._-]*")  # also keeps shell syntax and options out of the command
_NUMBER = re.compile(r"[0-9]{1,12}")
_KINDS = {
    "issues": "issue",
    "work_items": "issue",
    "pull": "pull request",
    "pulls": "pull request",
    "pull-requests": "pull request",
    "merge_requests": "merge request",
}


@dataclass(frozen=True)
class ForgeReference:
    """An issue or a pull/merge request.

    Args:
        forge: github, gitlab, bitbucket or gitea (Forgejo and Codeberg too).
        host: with its port, lower case.
        repository: "owner/name"; GitLab's may have more parts.
        kind: "issue", "pull request" or "merge request".
        command: the command that prints it with its comments; "" for Bitbucket, which has no official one.
    """

    forge: str
    host: str
    repository: str
    kind: str
    number: int
    command: str


def forge_url(url: str) -> ForgeReference | None:
    """What issue or merge request a web address shows, or None. No request is made.

    `<owner>/<repository>/<word>/<digits>` with anything behind it, where the word names issues or requests. "issues" is
    a common word, so it counts only on a host whose name tells a forge, or after GitLab's "/-/".
    """
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url.strip())
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not re.fullmatch(r"[a-z0-9.-]+", host):
        return None
    found = _split([part for part in parts.path.split("/") if part])
    if found is None:
        return None
    repository, word, number, dashed = found
    forge = _forge(host, word, dashed)
    if forge is None or (len(repository) != 2 and forge != "gitlab"):
        return None
    if forge == "github":
        host = host.removeprefix("www.")
    address = f"{host}:{port}" if port else host
    name = "/".join(repository)
    kind = _KINDS[word]
    return ForgeReference(forge, address, name, kind, int(number), _command(forge, address, name, kind, number))


def _split(path: list[str]) -> tuple[list[str], str, str, bool] | None:
    """The repository's parts, the word, the number, and whether "-" stood before the word."""
    for place in range(2, len(path) - 1):
        word, number = path[place], path[place + 1]
        if word not in _KINDS or not _NUMBER.fullmatch(number):
            continue
        dashed = path[place - 1] == "-"
        repository = path[: place - 1] if dashed else path[:place]
        if len(repository) == 4 and repository[0] in ("projects", "users") and repository[2] == "repos":
            repository = [repository[1], repository[3]]  # Bitbucket Data Center
        if len(repository) >= 2 and all(_NAME.fullmatch(part) for part in repository):
            return repository, word, number, dashed
        return None
    return None


def _forge(host: str, word: str, dashed: bool) -> str | None:
    if dashed or word == "merge_requests":
        return "gitlab"
    for name in ("github", "gitlab", "bitbucket"):
        if name in host.split(".") or f"{name}-" in host:
            return name
    if word == "pull-requests":
        return "bitbucket"
    if word == "pulls" or re.search(r"git|forgejo|codeberg", host):
        return "github" if word == "pull" else "gitea"
    return "github" if word == "pull" else None


def _command(forge: str, host: str, name: str, kind: str, number: str) -> str:
    if forge == "github":
        repository = name if host == "github.com" else f"{host}/{name}"
        return f"gh {'issue' if kind == 'issue' else 'pr'} view {number} --repo {repository} --comments"
    if forge == "gitlab":
        repository = name if host == "gitlab.com" else f"https://{host}/{name}"
        return f"glab {'issue' if kind == 'issue' else 'mr'} view {number} --repo {repository} --comments"
    if forge == "gitea":
        return f"tea {'issues' if kind == 'issue' else 'pulls'} {number} --repo {name} --comments"
    return ""
