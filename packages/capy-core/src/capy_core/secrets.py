"""Secret redaction. A first cut: the rules are being written; the signature below is settled."""

from __future__ import annotations

RULES_VERSION = 0


def redact(text: str) -> str:
    """The text with the values of secrets replaced; key names stay. Idempotent, linear in the text's length."""
    return text
