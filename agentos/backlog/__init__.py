"""Decide what a run does before anything starts; nothing here writes.

`inbox` lists the items and reads their texts, `selection` chooses among them, and
`dependence` and `overlap` put them in order. `preview.preview_run` does all of this for a
command: begin there. `triage` finds items that are not ready. `agentos.run` and
`agentos.cli` import this package.
"""
