"""URL to document, without reaching an address that is not public."""
