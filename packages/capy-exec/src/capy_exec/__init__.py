"""Run code in 11 languages in a bounded subprocess. The entry point is `capy_exec.run.run_code`."""

__version__ = "0.1.0"
