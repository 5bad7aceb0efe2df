"""The commands: parse arguments, make one call, return an exit code.

Begin with `main`, which has the table of commands and starts the one that was named;
`command` has what all of them share. Most other modules are one command each. Nothing imports this package except
the entry points and `tools`.
"""
