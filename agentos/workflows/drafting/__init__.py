"""Drafting workflows: load, draft, validate, review, and again, until it is decided."""
