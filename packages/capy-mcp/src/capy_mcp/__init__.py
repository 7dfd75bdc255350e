"""What an agent reads: the replies of capy's tools, each within a budget. The entry point is `capy_mcp.reply`."""

__version__ = "0.1.0"
