"""The commands of capy-hook, one module a subject; loaded by name from `capy_hook.cli`."""
