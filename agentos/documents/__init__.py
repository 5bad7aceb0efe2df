"""Issues, briefs, designs, reviews and code changes as data.

Modules here parse, check and render text; they read no files and call no model, so
every package but `state` may import them. Begin with `markdown`, which classifies the lines
of a document, and `findings`, which says what is wrong with one; then read `issue`, the
smallest document, and `lld`, a whole design. `verdict` and `changes` read the answers
of models.
"""
