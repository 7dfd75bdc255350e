"""Query to hits: terms, retrieve, rank, snippet, answer."""
