"""Merge finished items on trial: find which of them work together, and which pair
breaks which test. Start reading at `session`.
"""
