"""Text to chunks: one chunker for each kind of text."""
