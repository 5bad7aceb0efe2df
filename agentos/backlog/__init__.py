"""Decide what a run does before anything starts; nothing here writes.

`inbox` lists the items and reads their texts, `selection` chooses among them, and
`dependencies` and `overlap` decide which of them wait for others, with the algorithms in
`order`. `preview.preview_run` does all of this for a command: begin there. `triage` finds
items that are not ready. `agentos.run` and `agentos.cli` import this package.
"""
