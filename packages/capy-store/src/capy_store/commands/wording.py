"""Small phrases that several commands print for people."""

from __future__ import annotations


def size(count: int) -> str:
    """A number of bytes as people read it: 812 B, 3.4 KB, 12.0 MB."""
    if count < 1000:
        return f"{count} B"
    return f"{count / 1e3:.1f} KB" if count < 1e6 else f"{count / 1e6:.1f} MB"


def plural(count: int, noun: str) -> str:
    """`1 chunk`, `2 chunks`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
