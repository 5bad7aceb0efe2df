"""Rehearse the merge of finished items: which of them go together, and which pair breaks which test."""
