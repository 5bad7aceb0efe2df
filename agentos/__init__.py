"""Turn a backlog into reviewed designs and tested code, many items at once."""

__version__ = "0.2.0"
