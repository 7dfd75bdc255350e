"""What all hosts have in common: an event that asks, and a verdict that answers.

Plain classes without annotations evaluated at run time: a hook is a process for each tool call, and `dataclasses` alone
would double its start.
"""

from __future__ import annotations

PRE_TOOL = "pre_tool"
POST_TOOL = "post_tool"
SESSION_START = "session_start"
SESSION_END = "session_end"
PRE_COMPACT = "pre_compact"
PROMPT = "prompt"


class Event:
    """One event of a host, in our words.

    Attributes:
        kind: PRE_TOOL, POST_TOOL, SESSION_START, ... or "" for one that we have no word for.
        name: the event's name as the host wrote it.
        tool: our name of the tool: "Bash", "Read", "Grep", "WebFetch", "Agent", "Write", "Edit", "capy_execute" and its
            kin without the host's prefix, or the host's own name where we have none; "" outside tool events.
        called: the tool's name as the host wrote it.
        input: the tool's arguments as our tools name them ("command", "file_path", "url", "prompt"); a new dict.
        original: the arguments as the host wrote them; a rewrite goes back in this form.
        session: the session's id, "" when the host gives none.
        agent: the sub-agent's id, "" in the main session.
        cwd: the host's working folder.
        project: the project's folder as the host says it, or "".
    """

    __slots__ = ("agent", "called", "cwd", "input", "kind", "name", "original", "project", "session", "tool")

    def __init__(
        self,
        kind: str,
        name: str = "",
        *,
        tool: str = "",
        called: str = "",
        input: dict[str, object] | None = None,
        original: dict[str, object] | None = None,
        session: str = "",
        agent: str = "",
        cwd: str = "",
        project: str = "",
    ) -> None:
        self.kind = kind
        self.name = name
        self.tool = tool
        self.called = called
        self.input = {} if input is None else input
        self.original = self.input if original is None else original
        self.session = session
        self.agent = agent
        self.cwd = cwd
        self.project = project


class Verdict:
    """What we answer. An adapter says it in its host's words, or says less where the host cannot: never more.

    Attributes:
        kind: "none" (no opinion), "context" (the call goes on, the agent reads `text`), "deny" (`text` says why and
            what to do instead), "ask" (the user decides, `text` says why), "rewrite" (the call goes on with `input`).
        text: for the agent, or "".
        input: the whole new arguments of a rewrite, as our tools name them; else None.
    """

    __slots__ = ("input", "kind", "text")

    def __init__(self, kind: str, text: str = "", input: dict[str, object] | None = None) -> None:
        self.kind = kind
        self.text = text
        self.input = input


NONE = Verdict("none")
