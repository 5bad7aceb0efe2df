"""Measurements against what a user would pick instead; each module answers one
question.
"""
