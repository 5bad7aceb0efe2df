"""Calibrate a reviewer: show it designs with one seeded defect each and clean controls,
and score its verdicts. Begin with `asking.py`.
"""
