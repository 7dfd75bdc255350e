"""A question and a large output -> the lines that answer, within a budget of bytes. No database, no index.

What is returned is verbatim, apart from colour codes, overwritten progress, a runner's time stamps and blanks at the
ends of lines. How the lines are found and what each step gains: docs/adr/0013-evidence.md.
"""

from __future__ import annotations

from .choose import budget_for
from .evidence import Evidence, Span, find, render, render_spans

__all__ = ["Evidence", "Span", "budget_for", "find", "render", "render_spans"]
