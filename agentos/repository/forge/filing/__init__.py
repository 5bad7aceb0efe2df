"""File an approved issue on GitHub exactly once."""
