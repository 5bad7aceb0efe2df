"""Prompts and templates: the built-in ones of each kind, and a repository's overrides."""
