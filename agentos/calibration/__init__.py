"""Measure a reviewer: designs with one seeded defect each and clean controls, and what it says about them."""
