"""Designs as models write them, good and damaged, with what the rules must say of
each.
"""
