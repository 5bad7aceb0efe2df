"""The commands: parse, one call, an exit code."""
