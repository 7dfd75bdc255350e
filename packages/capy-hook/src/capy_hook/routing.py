"""The routing block: what an agent is told once about where large outputs can go."""

from __future__ import annotations

TAG = "context_window_protection"
_PROMPTS = ("prompt", "request", "objective", "question", "query", "task")

# Facts, not orders: a host may take injected orders for an attack. An agent pays for every word of it, in each session.
_BLOCK = f"""<{TAG}>
What a tool prints stays in the context window. The capy MCP tools keep raw output outside and return what was asked.
<direct_tools>Bash, Read and Grep fit what is read as a whole: git, files to edit, instruction files, outputs below
about 50 lines, short logs whose order matters. Small web pages: gh, WebSearch.</direct_tools>
<capy_tools>
capy_batch_execute(commands, queries): several commands and the questions about their output in one call.
capy_execute(language, code, intent), capy_execute_file(path, language, code): builds, tests, logs, data of hundreds of
lines; what the code prints comes back, with an intent only the matching parts.
capy_fetch_and_index(url, source), then capy_search(queries): web pages, API answers. kind "durable" is for reference
documentation; the default expires after a day.
</capy_tools>
<blocked>curl and wget that print a page, HTTP calls in inline code, and WebFetch are answered with the call that
replaces them. Downloads to a file and bounded filters (| head -20, | jq .field) pass.</blocked>
<output_constraints>
<word_limit>Answers of up to 500 words suit the reader.</word_limit>
<artifact_policy>Code, reports and other artifacts go to files; the answer holds the path and one line about
it.</artifact_policy>
</output_constraints>
<capy_commands>"capy stats" means capy_stats, its output verbatim; "capy doctor" means capy_doctor, its output as a
checklist.</capy_commands>
</{TAG}>"""


def block() -> str:
    """The text, below 400 tokens, as it goes into a session's start, a sub-agent's prompt and an instructions file."""
    return _BLOCK


def with_block(arguments: dict[str, object]) -> dict[str, object] | None:
    """The arguments of a sub-agent's call with the block behind its prompt, all others as they are.

    Returns:
        None when there is nothing to change: no prompt that is a text, or the block is in it already.
    """
    key = next((name for name in _PROMPTS if isinstance(arguments.get(name), str)), "")
    prompt = arguments.get(key)
    if not isinstance(prompt, str) or not prompt.strip() or f"<{TAG}>" in prompt:
        return None
    return {**arguments, key: f"{prompt}\n\n{_BLOCK}"}
