"""The subcommands, a module for each subject; cli.py loads them by name."""
