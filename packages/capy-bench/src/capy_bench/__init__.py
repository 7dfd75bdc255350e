"""Measure what capy claims: retrieval quality, context reduction, speed."""

__version__ = "0.1.0"
