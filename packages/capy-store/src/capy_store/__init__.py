"""The knowledge base: index text, search it, fetch pages. The facade is `capy_store.store.Store`."""

__version__ = "0.1.0"
