"""Faults and attacks against the installed commands.

Each module is one fault: `python -m tests.faults.kill_coordinator --seed 1 --count 200`
prints its figures as one JSON object and ends with status 1 when a pass figure is
missed. The tests beside them run the same code a few times.
"""
