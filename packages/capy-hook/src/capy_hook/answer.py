"""An event in, a verdict out: the user's rules first, then redirects, then advice."""

from __future__ import annotations

from .event import NONE, PRE_TOOL, SESSION_END, SESSION_START, Event, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from capy_core.permissions import Rules
    from capy_core.permissions import Verdict as Judgement

    from .switches import Switches

_STRICTER = ("allow", "ask", "deny")


def answer(event: Event) -> Verdict:
    """The verdict on one event; `NONE` where there is nothing to say.

    A call is refused or asked about where the user's permission rules say so; only where they do not is it redirected
    or commented. No answer allows a command: at most it says nothing, and the host's own rules go on.
    """
    if event.kind == PRE_TOOL and (event.tool in _HELPS or event.tool in _CODE_TOOLS):
        return _before_tool(event)
    if event.kind == SESSION_START:
        return _at_start(event)
    if event.kind == SESSION_END:
        from .guidance import prune

        prune(event.session)
    return NONE


def _before_tool(event: Event) -> Verdict:
    from .switches import load, project_of

    switches = load(project_of(_project(event)))
    if switches.policy and event.tool in _CODE_TOOLS:
        judged = _judged(event)
        if judged.kind != "none":
            return judged
    helps = _HELPS.get(event.tool)
    return helps(event, switches) if helps is not None else NONE


def _at_start(event: Event) -> Verdict:
    from .guidance import prune
    from .switches import load, project_of

    prune()
    switches = load(project_of(_project(event)))
    texts = []
    if switches.guidance:
        from .routing import block

        texts.append(block())
    if switches.policy:
        texts += [f"capy: {note}; commands are asked about until that is corrected" for note in _rules(event).notes[:5]]
    return Verdict("context", "\n".join(texts)) if texts else NONE


def _project(event: Event) -> str:
    return event.project or event.cwd or "."


# The user's rules -------------------------------------------------------------------------------------------------

_CODE_TOOLS = ("Bash", "capy_execute", "capy_execute_file", "capy_batch_execute", "capy_index")


def _judged(event: Event) -> Verdict:
    """The strictest that the rules say of the code and the files in a call."""
    rules = _rules(event)
    if not (rules.deny or rules.ask or rules.notes):
        return NONE
    worst: Judgement | None = None
    for judgement in _judgements(event, rules):
        if worst is None or _STRICTER.index(judgement.decision) > _STRICTER.index(worst.decision):
            worst = judgement
        if worst.decision == "deny":
            break
    if worst is None or worst.decision == "allow":
        return NONE
    by = f" The rule is {worst.rule.text} in {worst.rule.source}." if worst.rule is not None else ""
    shown = f" It is about: {worst.command[:300]}" if worst.command else ""
    return Verdict(worst.decision, f"capy, permission policy ({worst.decision}): {worst.reason}.{by}{shown}")


def _judgements(event: Event, rules: Rules) -> Iterator[Judgement]:
    from os.path import abspath, join

    cwd = abspath(event.cwd or _project(event))
    if event.tool in ("capy_execute_file", "capy_index"):
        path = event.input.get("path")
        if isinstance(path, str) and path:
            from capy_core.pathrules import judge

            yield judge(join(abspath(_project(event)), path), rules, cwd=cwd, access="read")
    for code, language in _codes(event):
        from capy_exec.policy.decide import decide

        yield decide(code, language, rules, cwd=cwd)


def _codes(event: Event) -> Iterator[tuple[str, str]]:
    """The code of a call with its language."""
    given = event.input
    if event.tool == "Bash":
        pairs = [(given.get("command"), "shell")]
    elif event.tool == "capy_batch_execute":
        entries = [_unpacked(entry) for entry in _listed(given.get("commands"))]
        pairs = [(entry.get("command") if isinstance(entry, dict) else entry, "shell") for entry in entries]
    else:
        language = given.get("language")
        pairs = [(given.get("code"), language if isinstance(language, str) else "shell")]
    for code, language in pairs:
        if isinstance(code, str) and code:
            yield code, language


def _listed(value: object) -> list[object]:
    """A list as capy's server takes it: as such, as JSON in a text, or one thing in place of a list."""
    value = _unpacked(value)
    return value if isinstance(value, list) else [value]


def _unpacked(value: object) -> object:
    """What a text holds where a list or an object is wanted; else the value as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")):
        return value
    from capy_core.barejson import decode

    try:
        inner: object = decode(value.encode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return value
    return inner if isinstance(inner, list | dict) else value


def _rules(event: Event) -> Rules:
    from capy_core.permissions import load

    from .switches import project_of

    return load(event.project or project_of(_project(event)))


# Redirects and advice ---------------------------------------------------------------------------------------------


def _help_bash(event: Event, switches: Switches) -> Verdict:
    code = event.input.get("command")
    if isinstance(code, str) and "network" in switches.redirect:
        from .network import may_fetch, refusal

        if may_fetch(code):
            from capy_exec.policy.shell import read

            text = refusal(read(code), code, switches.allow)
            if text:
                return Verdict("deny", text)
    return _tip(event, switches)


def _tip(event: Event, switches: Switches) -> Verdict:
    from .guidance import tip

    text = tip(event.tool, event.session, event.agent) if switches.guidance else ""
    return Verdict("context", text) if text else NONE


def _help_webfetch(event: Event, switches: Switches) -> Verdict:
    url = event.input.get("url")
    if "webfetch" not in switches.redirect or not isinstance(url, str) or not url:
        return NONE
    from .web import instead_of_webfetch

    text = instead_of_webfetch(url)
    return Verdict("deny", text) if text else NONE


def _help_fetch(event: Event, switches: Switches) -> Verdict:
    """capy's own fetching: what a forge's command reads better."""
    url = event.input.get("url")
    if "webfetch" not in switches.redirect or not isinstance(url, str):
        return NONE
    from .web import forge_command, gist_advice

    text = forge_command(url)
    if text:
        return Verdict("deny", text)
    advice = gist_advice(url) if switches.guidance else ""
    return Verdict("context", advice) if advice else NONE


def _help_agent(event: Event, switches: Switches) -> Verdict:
    """The routing block for a sub-agent, which no context of the main session reaches."""
    if "agent" not in switches.redirect or event.input.get("subagent_type") == "Bash":  # it has no tool of capy's
        return NONE
    from .routing import with_block

    arguments = with_block(event.input)
    if arguments is None:
        return NONE
    rules = _rules(event)
    if any(rule.speaks_of(tool) for rule in (*rules.deny, *rules.ask) for tool in ("Agent", "Task")) or rules.notes:
        return NONE  # a rewrite is said together with "allow", and that is the user's to say
    return Verdict("rewrite", "capy added where large outputs can go", arguments)


_HELPS = {
    "Bash": _help_bash,
    "Read": _tip,
    "Grep": _tip,
    "WebFetch": _help_webfetch,
    "Agent": _help_agent,
    "capy_fetch_and_index": _help_fetch,
}
