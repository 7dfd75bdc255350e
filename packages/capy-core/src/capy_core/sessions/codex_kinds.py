"""The names of Codex CLI's records, by what they mean here. A name that stands nowhere is UNKNOWN, and counted."""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# response_item
CALLS = _names("""
    function_call custom_tool_call local_shell_call web_search_call tool_search_call image_generation_call mcp_tool_call
    tool_call
""")
OUTPUTS = _names("""
    function_call_output custom_tool_call_output local_shell_call_output tool_search_output mcp_tool_call_output
    function_result tool_result
""")
# event_msg: the end of a tool, its result with it
ENDS = _names("""
    exec_command_end patch_apply_end mcp_tool_call_end web_search_end image_generation_end dynamic_tool_call_response
    view_image_tool_call
""")
# items of event_msg/item_completed: the same
ITEM_TOOLS = _names("CommandExecution McpToolCall FileChange Extension WebSearch ImageView ImageGeneration")
# event_msg: bookkeeping
SHOWN = _names("""
    token_count task_started task_complete turn.started turn.completed turn_started turn_complete turn_aborted error
    warning stream_error background_event exec_command_begin exec_command_output_delta patch_apply_begin
    mcp_tool_call_begin web_search_begin image_generation_begin dynamic_tool_call_request exec_approval_request
    apply_patch_approval_request guardian_assessment entered_review_mode exited_review_mode undo_started undo_completed
    thread_goal_updated thread_settings_applied thread_rolled_back session_configured plan_update turn_diff item_started
    collab_agent_spawn_begin collab_agent_interaction_begin collab_agent_interaction_end collab_waiting_begin
    collab_waiting_end collab_close_begin collab_close_end sub_agent_activity account/rateLimits/updated
    context_compacted
""")
# the line itself: bookkeeping
OUTER = _names("world_state inter_agent_communication_metadata state ghost_snapshot")
