"""Which rule speaks of a tool, or of a page: `mcp__server__tool`, `WebFetch(domain:example.com)`."""

from __future__ import annotations

from .globs import text_matches
from .permissions import Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .permissions import Rule, Rules


def judge_tool(name: str, rules: Rules) -> Verdict:
    """What the rules say of a tool as a whole.

    Args:
        name: as the host calls it: "WebFetch", "mcp__github__create_issue". A rule `mcp__github` or `mcp__github__*`
            speaks of all tools of that server. A pattern may stand anywhere in what forbids or asks, but in what
            allows only behind a literal `mcp__server__`.
    """

    def forbids(rule: Rule) -> bool:
        return not rule.spec and (rule.speaks_of(name) or name.startswith(f"{rule.tool}__"))

    def allows(rule: Rule) -> bool:
        literal = rule.tool.partition("*")[0]
        return forbids(rule) and ("*" not in rule.tool or literal.count("__") >= 2)

    return _judged(rules, name, forbids, allows)


def judge_url(url: str, rules: Rules) -> Verdict:
    """What the rules say of fetching a page.

    `domain:x` is the host itself, in any case; `*.x` its subdomains without itself; another `*` is one label.
    """
    from urllib.parse import urlsplit

    try:
        host = (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        host = ""

    def speaks(rule: Rule) -> bool:
        return not rule.spec or _fits_host(rule.spec.partition("domain:")[2].strip(), host)

    return _judged(
        rules,
        url,
        lambda rule: rule.speaks_of("WebFetch") and speaks(rule),
        lambda rule: rule.tool == "WebFetch" and speaks(rule),
    )


def _judged(rules: Rules, what: str, forbids: Callable[[Rule], bool], allows: Callable[[Rule], bool]) -> Verdict:
    for decision, listed in (("deny", rules.deny), ("ask", rules.ask)):
        for rule in listed:
            if forbids(rule):
                return Verdict(decision, f"{rule.text} in {rule.source} speaks of {what}", rule)
    if rules.notes:
        return Verdict("ask", rules.notes[0])
    for rule in rules.allow:
        if allows(rule):
            return Verdict("allow", f"{rule.text} in {rule.source} speaks of {what}", rule)
    return Verdict("allow", "no rule speaks of it")


def _fits_host(pattern: str, host: str) -> bool:
    pattern = pattern.casefold().rstrip(".")
    if not pattern or not host:
        return False
    if pattern.startswith("*."):
        return text_matches(pattern, host)
    wanted, labels = pattern.split("."), host.split(".")
    return len(wanted) == len(labels) and all(map(text_matches, wanted, labels))
