"""Hooks: one event of an AI tool in, one answer out. The entry point is `capy_hook.main.main`."""

__version__ = "0.1.0"
