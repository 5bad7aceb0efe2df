"""Shelf lends out tools, tents and cake tins."""

__version__ = "1.6"
