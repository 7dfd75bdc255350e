"""A label as a user writes it -> the source that has it."""

from __future__ import annotations

from capy_core.database import Connection
from capy_core.errors import NotFound

from . import queries
from .queries import SourceRow


def source_named(db: Connection, label: str) -> SourceRow:
    """The source of that label, as it was given or as it is stored: redacted, without control characters.

    Raises:
        NotFound: there is none; the hint names the closest label.
    """
    row = queries.source_by_label(db, label)
    if row is not None:
        return row
    from .origin import clean_line

    label = clean_line(label)
    row = queries.source_by_label(db, label)
    if row is None:
        from difflib import get_close_matches

        close = get_close_matches(label, [row.label for row in queries.all_sources(db)], 1, 0.6)
        hint = f"did you mean {close[0]!r}?" if close else "list them: capy-store sources"
        raise NotFound(f"there is no source {label!r}", hint, label=label)
    return row
