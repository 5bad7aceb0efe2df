"""State on disk and the rules every process follows: the lowest layer.

Private files, locks, item records, confined folders, redaction of keys, inherited
variables, and rules about paths and terminal text. Every package may import it; it
imports only the shared vocabulary of `agentos.item`, `agentos.kinds` and
`agentos.errors`. Start reading at `home`, which says where everything is kept, then
`files` and `confinement`.
"""
