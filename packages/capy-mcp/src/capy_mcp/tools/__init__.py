"""One module for each group of tools; `schemas` says what they take."""
