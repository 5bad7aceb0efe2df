"""File approved issues in a tracker, each exactly once."""
