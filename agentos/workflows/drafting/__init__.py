"""Drafting kinds: load, draft, validate and review, repeated until it is decided. Begin
with `graph.py`; each kind has its own package here.
"""
