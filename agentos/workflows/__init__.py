"""The kinds of work and the engine that runs them.

`drafting` and `implementation` hold the graphs of the kinds, `engine` runs one graph for
one item, `parallel` runs many items at once, `prompts` renders prompts, and
`calibration` measures reviewers. The packages `workers`, `backlog`, `run` and `cli`
import this one; it imports none of them. Begin with `engine/runner.py`, then `drafting/graph.py`.
"""
