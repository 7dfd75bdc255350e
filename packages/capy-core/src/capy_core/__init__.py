"""What every capy tool shares. Import the module you need; this package imports nothing by itself."""

__version__ = "0.1.0"
