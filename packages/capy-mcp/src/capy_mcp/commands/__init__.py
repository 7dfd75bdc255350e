"""The commands of capy, one module a subject; loaded by name from `capy_mcp.commands.group`."""
