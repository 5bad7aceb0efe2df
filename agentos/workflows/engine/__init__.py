"""Run one graph for one item and checkpoint its state. Begin with `runner.py`; `flow.py`
defines what a kind provides.
"""
