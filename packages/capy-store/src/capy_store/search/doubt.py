"""Whether what a store holds of a question is enough to answer it. A wrong answer costs its reader more than none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .lanes import idf

if TYPE_CHECKING:
    from .terms import Query

_COMMON = 50  # a word is common when more than one in so many chunks holds it,
_FEW = 4  # and more chunks than these do
_SHARE = 0.25  # of the question's weight: a common word that has less of it does not carry the question alone
_PAIRS = 3  # one in so many pairs of characters must be met


def is_carried(query: Query, counts: Mapping[str, int], chunks: int) -> bool:
    """True when the terms of a question that are in the index, as they were written, are enough to answer it.

    Two words are, and a single one that is rare or a good part of the question: `many` alone does not carry `how many
    zebras were vaccinated`. In scripts without spaces a third of the pairs is: a single one may stand across two words.

    Args:
        counts: every word, part and pair of the question -> how many of `chunks` chunks hold it.
    """
    words = [counts[term] for term in (*query.words, *query.parts)]
    known = [count for count in words if count]
    met = sum(1 for pair in query.pairs if counts[pair])
    if len(known) > 1 or (met and _PAIRS * met >= len(query.pairs)):
        return True
    if not known:
        return False
    is_common = known[0] > max(_FEW, chunks / _COMMON)
    return not is_common or idf(known[0], chunks) >= _SHARE * sum(idf(count, chunks) for count in words)
