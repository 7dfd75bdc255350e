"""HTML to Markdown: tokens -> open elements (markdown) -> running text (flow, tables) -> blocks -> document."""
